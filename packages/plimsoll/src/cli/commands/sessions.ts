/** `plimsoll sessions` and `plimsoll log`: the recorded sessions and their messages. */

import type { Flags } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject } from "../../message/json.ts";
import { messageText } from "../../message/message.ts";
import { createNames } from "../../session/inspect/session-rows.ts";
import { pathInSnapshot } from "../../session/log/log.ts";
import { storedSize } from "../../session/measure/window-size.ts";
import type {
  MessageRecord,
  NodeRecord,
  SessionSnapshot,
  SessionSummary,
} from "../../store/store.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { wholePercent } from "../../watch/figures.ts";
import { agentOf, folderName } from "../../watch/row-state.ts";
import { wires } from "../../wire/wires.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { oneLine, table, utc } from "../console/terminal.ts";

export async function runSessions(
  flags: Flags & { readonly limit: number; readonly json?: boolean },
): Promise<void> {
  await withStore(flags, async (store) => {
    const namesOf = createNames(store);
    const rows = await Promise.all(
      (await store.sessions({ limit: flags.limit })).map(async (session): Promise<SessionLine> => {
        const [lastTurn] = await store.turns(session.id, 1);
        const tokens = storedSize(await store.memories(session.id), lastTurn);
        return {
          ...session,
          ...(await namesOf(session)),
          ...(lastTurn === undefined ? {} : { model: lastTurn.model, limit: lastTurn.limit }),
          ...(tokens === undefined ? {} : { tokens }),
        };
      }),
    );
    console.log(flags.json === true ? harmlessJson({ items: rows }) : sessionTable(rows));
  });
}

interface SessionLine extends SessionSummary {
  readonly model?: string;
  /** Tokens in the window now, and the limit of the last turn. */
  readonly tokens?: number;
  readonly limit?: number;
}

function sessionTable(rows: readonly SessionLine[]): string {
  const fill = ({ tokens, limit = 0 }: SessionLine): string =>
    tokens === undefined || limit === 0 ? "" : `${wholePercent(tokens / limit)} %`;
  return table([
    ["session", "title", "agent", "model", "fill", "turns", "last turn (UTC)"],
    ...rows.map((row) => [
      row.id,
      oneLine([folderName(row.folder), row.title ?? ""].filter(Boolean).join(": "), 48),
      oneLine(agentOf(row), 20),
      oneLine(row.model ?? "", 28),
      fill(row),
      row.turns,
      utc(row.updatedAt),
    ]),
  ]);
}

const page = 500;

interface LogFlags extends Flags {
  readonly full?: boolean;
  readonly json?: boolean;
  /** The only branch to show. Shows the messages on the path to its tip, and all messages that were recorded on it. */
  readonly branch?: string;
}

export async function runLog(id: string | undefined, flags: LogFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const session = await chooseSession(store, id);
    const snapshot = await store.snapshot(session);
    const isOnBranch = snapshot === undefined ? () => true : onBranch(snapshot, flags.branch);
    // If a client sent parts of an answer back at another place, these parts are not shown as separate messages.
    const isShown = (message: MessageRecord): boolean =>
      isOnBranch(message) && (flags.json === true || message.source !== "echo");
    const printing: Printing = {
      ...flags,
      wire: snapshot?.session.wire ?? "",
      hasBranches: (snapshot?.branches.length ?? 0) > 1,
    };
    await withProgress("Printing messages", { isStreaming: true }, async (progress) => {
      let printed = 0;
      for (let after = 0; ; ) {
        const messages = await store.messages(session, { after, limit: page });
        for (const message of messages.filter(isShown))
          console.log(renderMessage(message, printing));
        printed += messages.length;
        progress.step(printed);
        if (messages.length < page) return;
        after = messages.at(-1)?.seq ?? after;
      }
    });
  });
}

/**
 * Returns a function that tells whether a message belongs to a branch. Messages that the branch shares with its parent branch
 * belong to it.
 */
function onBranch(
  snapshot: SessionSnapshot,
  wanted: string | undefined,
): (node: NodeRecord) => boolean {
  if (wanted === undefined) return () => true;
  const branch = snapshot.branches.find((one) => one.id === wanted);
  if (branch === undefined)
    throw new PlimsollError(
      "USAGE",
      `There is no branch ${wanted} in this session. Its branches are ${snapshot.branches.map((one) => one.id).join(", ")}.`,
    );
  const path = new Set(pathInSnapshot(snapshot, branch.tipSeq).map(({ seq }) => seq));
  return (node) => path.has(node.seq) || node.branch === wanted;
}

interface Printing extends Pick<LogFlags, "full" | "json"> {
  readonly wire: string;
  /** True if the session has several branches. Each line then names its branch. */
  readonly hasBranches: boolean;
}

const branchWidth = 27;

function renderMessage(
  { body, ...node }: MessageRecord,
  { wire, hasBranches, json, full }: Printing,
): string {
  const message: unknown = JSON.parse(new TextDecoder().decode(body));
  if (json === true) return harmlessJson({ ...node, message });
  const inner = node.source === "inner" ? " (lookup)" : "";
  const mark = node.isComplete ? inner : " (incomplete)";
  const branch = hasBranches ? `${(node.branch ?? "").padEnd(branchWidth)} ` : "";
  const head = `${`#${node.seq}`.padStart(6)}  ${branch}${node.role.padEnd(9)} ${String(node.tokens).padStart(7)} tokens${mark}`;
  const text = isObject(message) ? readable(message, wire) : "";
  return full === true ? `${head}\n${harmless(text)}\n` : `${head}  ${oneLine(text, 80)}`;
}

function readable(message: JsonObject, wireName: string): string {
  const wire = Object.values(wires).find(({ name }) => name === wireName);
  return (wire && messageText(wire.messages.decode(message))) || JSON.stringify(message);
}
