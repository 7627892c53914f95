/**
 * History that the provider keeps. Instead of sending an earlier answer or message again, a client may send only its id. Plimsoll
 * then reads the message from its log, to count and edit it. The client's bytes stay as they are.
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

/** The messages of the whole conversation: first the messages that the provider keeps, then the messages of the request. */
export interface WholeConversation {
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
  /** Number of messages that are not in the request. */
  readonly serverSideCount: number;
  /** The log's records of messages that the request leaves out or refers to by id. The key is the index in `messages`. */
  readonly nodes: ReadonlyMap<number, NodeRecord>;
  /** The session that contains these messages. Undefined if there are none, or if Plimsoll does not know one of them. */
  readonly log?: SessionLog;
  /**
   * True if the request refers to a message that Plimsoll does not know. Plimsoll then cannot tell what the model will see, and
   * must not edit anything.
   */
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
  own: OwnMessages,
): Promise<WholeConversation> {
  const { tenant, request, messages, links } = own;
  const plain = { messages, links, serverSideCount: 0, nodes: new Map(), isUnknown: false };
  const hasNames =
    request.continues !== undefined || messages.some(({ names }) => names !== undefined);
  if (!hasNames) return plain;
  const find: Find = (name) => findNode(world, tenant, name);
  const history = await findHistory(find, request.continues);
  const named = history && (await findNamed(find, messages));
  return history === undefined || named === undefined
    ? { ...plain, isUnknown: true }
    : joined(own, history, named);
}

interface Found {
  readonly log: SessionLog;
  readonly node: NodeRecord;
}

/** Finds a message by the provider's id. Returns undefined if this tenant has no message with that id. */
type Find = (name: string) => Promise<Found | undefined>;

async function findNode(
  { sessions, references }: World,
  tenant: string,
  name: string,
): Promise<Found | undefined> {
  const reference = await references.find(tenant, name);
  const log = reference && (await sessions.byId(reference.session));
  const node = log?.nodes.get(reference?.seq ?? -1);
  return log === undefined || node === undefined || log.record.tenant !== tenant
    ? undefined
    : { log, node };
}

interface ServerSideHistory {
  readonly path: readonly NodeRecord[];
  readonly log?: SessionLog;
}

/**
 * The messages up to the answer that the request continues. An empty list if it continues no answer, and undefined if Plimsoll
 * does not know the answer.
 */
async function findHistory(
  find: Find,
  continues: string | undefined,
): Promise<ServerSideHistory | undefined> {
  if (continues === undefined) return { path: [] };
  const found = await find(continues);
  return found && { path: pathTo(found.log, found.node.seq), log: found.log };
}

/**
 * The messages that the request refers to by id, keyed by their index in the request. Undefined if Plimsoll does not know one of
 * them.
 */
async function findNamed(
  find: Find,
  messages: readonly LogMessage[],
): Promise<ReadonlyMap<number, Found> | undefined> {
  const named = new Map<number, Found>();
  for (const [index, { names }] of messages.entries()) {
    if (names === undefined) continue;
    const found = await find(names);
    if (found === undefined) return undefined;
    named.set(index, found);
  }
  return named;
}

/**
 * Puts the messages that the provider keeps before the messages of the request. Where the request contains only the id of a
 * message, inserts that message.
 */
function joined(
  { wire, messages }: OwnMessages,
  { path, log: historyLog }: ServerSideHistory,
  named: ReadonlyMap<number, Found>,
): WholeConversation {
  const nodes = new Map(path.map((node, index) => [index, node]));
  for (const [index, { node }] of named) nodes.set(path.length + index, node);
  const own = messages.map((message, index) => {
    const found = named.get(index);
    return found === undefined ? message : messageOf(found.node);
  });
  const all = [...path.map(messageOf), ...own];
  const log = historyLog ?? named.values().next().value?.log;
  return {
    messages: all,
    links: extendLinks(wire, linksOfPath(wire, path), all),
    serverSideCount: path.length,
    nodes,
    ...(log === undefined ? {} : { log }),
    isUnknown: false,
  };
}

function messageOf(node: NodeRecord): LogMessage {
  const { role, identity, hash, bytes, tokens, certainty } = node;
  return { role, identity, hash, bytes, tokens, certainty };
}
