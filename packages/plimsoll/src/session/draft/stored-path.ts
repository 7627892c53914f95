/** Reads the messages of a branch from the store, to look at a conversation while no request is under way. */

import type { NodeRecord, Store, TurnRecord } from "../../store/store.ts";
import type { LogMessage, SessionLog } from "../log/log.ts";
import { type Path, pathOfNodes } from "../log/path.ts";
import { storedLeadingMessages } from "../measure/preamble.ts";
import { encodeMessage } from "./encode.ts";

export interface StoredMessages {
  readonly log: SessionLog;
  readonly branch: string;
  readonly nodes: readonly NodeRecord[];
  /** Message bodies, by message number. */
  readonly bodies: ReadonlyMap<number, Uint8Array>;
}

/** Loads message bodies by message number. Leading system messages are taken from the client's last request. */
export async function storedBodies(
  store: Pick<Store, "bodies" | "head">,
  session: string,
  nodes: readonly NodeRecord[],
  lastTurn: TurnRecord | undefined,
): Promise<ReadonlyMap<number, Uint8Array>> {
  const seqs = nodes.map(({ seq }) => seq);
  const bodies = new Map(await store.bodies(session, seqs));
  const head = lastTurn?.head && (await store.head(session, lastTurn.head));
  for (const [index, message] of storedLeadingMessages(head || undefined).entries())
    bodies.set(nodes[index]?.seq ?? -1, encodeMessage(message));
  return bodies;
}

/**
 * The path of stored messages. Their cache marks are ignored, because they come from the first request, and clients move marks
 * every turn.
 */
export function storedPath(
  { log, branch, nodes, bodies }: StoredMessages,
  learned?: readonly LogMessage[],
): Path {
  return { ...pathOfNodes(log, nodes, bodies, learned), branch, mayCarryMark: () => false };
}
