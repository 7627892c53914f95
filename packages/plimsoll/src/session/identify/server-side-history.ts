/**
 * History that the provider holds: a request may name an earlier answer, or single messages, instead of carrying
 * them. What the log knows of them is put in their place, for counting and for edits; the client's bytes stay.
 */

import type { NodeRecord } from "../../store/store.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import {
  extendLinks,
  type Link,
  type LogMessage,
  linksOfPath,
  pathTo,
  type SessionLog,
} from "../log/log.ts";
import type { SessionCache } from "./find-session.ts";
import type { References } from "./provider-ids.ts";

/** Messages of the whole conversation: first those that the provider holds, then those of the request. */
export interface WholeConversation {
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
  /** How many of them are not in the request. */
  readonly heldCount: number;
  /** For messages that are not in the request, or only by name: where they are. */
  readonly nodes: ReadonlyMap<number, NodeRecord>;
  /** The session that the names lead to. */
  readonly log?: SessionLog;
  /** A name leads nowhere: nobody knows what the model will see, so nothing may be edited. */
  readonly isUnknown: boolean;
}

interface World {
  readonly sessions: SessionCache;
  readonly references: References;
}

export interface OwnMessages {
  readonly tenant: string;
  readonly wire: string;
  readonly request: WireRequest;
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
}

export async function wholeConversation(
  world: World,
  { tenant, wire, request, messages, links }: OwnMessages,
): Promise<WholeConversation> {
  const hasNames =
    request.continues !== undefined || messages.some(({ names }) => names !== undefined);
  const plain = { messages, links, heldCount: 0, nodes: new Map(), isUnknown: false };
  if (!hasNames) return plain;
  const held =
    request.continues === undefined ? undefined : await findNode(world, tenant, request.continues);
  if (request.continues !== undefined && held === undefined) return { ...plain, isUnknown: true };
  const path = held === undefined ? [] : pathTo(held.log, held.node.seq);
  const nodes = new Map(path.map((node, index) => [index, node]));
  const own: LogMessage[] = [];
  let log = held?.log;
  for (const message of messages) {
    if (message.names === undefined) {
      own.push(message);
      continue;
    }
    const found = await findNode(world, tenant, message.names);
    if (found === undefined) return { ...plain, isUnknown: true };
    nodes.set(path.length + own.length, found.node);
    log ??= found.log;
    own.push(messageOf(found.node));
  }
  const all = [...path.map(messageOf), ...own];
  return {
    messages: all,
    links: extendLinks(wire, linksOfPath(wire, path), all),
    heldCount: path.length,
    nodes,
    ...(log === undefined ? {} : { log }),
    isUnknown: false,
  };
}

async function findNode(
  { sessions, references }: World,
  tenant: string,
  name: string,
): Promise<{ readonly log: SessionLog; readonly node: NodeRecord } | undefined> {
  const reference = await references.find(tenant, name);
  const log = reference && (await sessions.byId(reference.session));
  const node = log?.nodes.get(reference?.seq ?? -1);
  return log === undefined || node === undefined || log.record.tenant !== tenant
    ? undefined
    : { log, node };
}

function messageOf(node: NodeRecord): LogMessage {
  const { role, identity, hash, bytes, tokens, certainty } = node;
  return { role, identity, hash, bytes, tokens, certainty };
}
