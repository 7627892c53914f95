/**
 * The log of one session in memory: a tree of messages without their bytes, and the branches that
 * point into it. Nodes are only ever added. The store has the same and the bytes.
 */

import type { Relation } from "../message/event.ts";
import type { Role } from "../message/message.ts";
import type {
  BranchRecord,
  NodeRecord,
  SessionRecord,
  SessionSnapshot,
  Write,
} from "../store/store.ts";
import { shortHash } from "./ids.ts";

export interface SessionLog {
  record: SessionRecord;
  readonly nodes: Map<number, NodeRecord>;
  readonly seqByChain: Map<string, number>;
  readonly branches: Map<string, BranchState>;
  nextSeq: number;
  /** Hash of heads that are already stored. */
  readonly heads: Set<string>;
  /** Not yet committed: the next commit of any turn of this session takes all of it, in order. */
  unsaved: Promise<Write>[];
  /** Commits of one session follow each other. */
  lastCommit: Promise<unknown>;
  isSaving: boolean;
  /** The store has gone another way: this log is no longer the session's. */
  isAbandoned: boolean;
}

export interface BranchState {
  record: BranchRecord;
  /** Turns that have begun on this branch and not ended. */
  inFlight: number;
  /** Moved since it was last stored. */
  isChanged: boolean;
}

/** One message of a request, as far as its place in the tree depends on it. */
export interface LogMessage {
  readonly role: Role;
  readonly identity: string;
  /** Identity with digits masked: only of system messages. */
  readonly looseIdentity?: string;
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly certainty: NodeRecord["certainty"];
}

/**
 * Running hashes over the identities of a conversation: equal at the same place = equal up to there.
 * In the loose one, leading system messages count by their masked identity.
 */
export interface Link {
  readonly chain: string;
  readonly looseChain: string;
  /** Only system messages so far. */
  readonly isLeading: boolean;
}

export function emptyLog(record: SessionRecord): SessionLog {
  return {
    record,
    nodes: new Map(),
    seqByChain: new Map(),
    branches: new Map(),
    nextSeq: 1,
    heads: new Set(),
    unsaved: [],
    lastCommit: Promise.resolve(),
    isSaving: false,
    isAbandoned: false,
  };
}

export function restoreLog(snapshot: SessionSnapshot): SessionLog {
  const log = emptyLog(snapshot.session);
  for (const node of snapshot.nodes) addNode(log, node);
  for (const record of snapshot.branches)
    log.branches.set(record.id, { record, inFlight: 0, isChanged: false });
  return log;
}

function addNode(log: SessionLog, node: NodeRecord): void {
  log.nodes.set(node.seq, node);
  log.seqByChain.set(node.chain, node.seq);
  if (node.seq >= log.nextSeq) log.nextSeq = node.seq + 1;
}

export function rootLink(wire: string): Link {
  const chain = shortHash(`plimsoll chain of ${wire}`);
  return { chain, looseChain: chain, isLeading: true };
}

export function extendLink(link: Link, message: LogMessage): Link {
  const isLeading = link.isLeading && message.role === "system";
  const looseIdentity = (isLeading ? message.looseIdentity : undefined) ?? message.identity;
  const chain = shortHash(link.chain + message.identity);
  const isSame = link.looseChain === link.chain && looseIdentity === message.identity;
  return {
    chain,
    looseChain: isSame ? chain : shortHash(link.looseChain + looseIdentity),
    isLeading,
  };
}

/** Links of all messages, of which the first are known. */
export function extendLinks(
  wire: string,
  known: readonly Link[],
  messages: readonly LogMessage[],
): readonly Link[] {
  const links = [...known];
  let link = known.at(-1) ?? rootLink(wire);
  for (const message of messages.slice(known.length)) {
    link = extendLink(link, message);
    links.push(link);
  }
  return links;
}

/** How many leading messages of the request the log knows, and the last of them. */
export function findCommon(
  log: SessionLog,
  links: readonly Link[],
): { readonly common: number; readonly seq: number | null } {
  for (let index = links.length - 1; index >= 0; index--) {
    const seq = log.seqByChain.get(links[index]?.chain ?? "");
    if (seq !== undefined) return { common: index + 1, seq };
  }
  return { common: 0, seq: null };
}

/** From the root to a message. */
export function pathTo(
  log: { readonly nodes: ReadonlyMap<number, NodeRecord> },
  seq: number | null,
): readonly NodeRecord[] {
  const path: NodeRecord[] = [];
  let at = seq;
  while (at !== null) {
    const node = log.nodes.get(at);
    if (node === undefined) break;
    path.push(node);
    at = node.parent;
  }
  return path.reverse();
}

/** The same, in what a store has of a session. */
export function pathInSnapshot(
  { nodes }: SessionSnapshot,
  seq: number | null,
): readonly NodeRecord[] {
  return pathTo({ nodes: new Map(nodes.map((node) => [node.seq, node])) }, seq);
}

export interface NewNode {
  readonly message: LogMessage;
  readonly link: Link;
  readonly parent: number | null;
  readonly source: NodeRecord["source"];
  readonly turn: string;
  readonly isComplete: boolean;
  readonly at: number;
}

/** Adds a message, or finds it: one parent never has two children of the same identity. */
export function appendNode(
  log: SessionLog,
  added: NewNode,
): { readonly node: NodeRecord; readonly isNew: boolean } {
  const known = log.nodes.get(log.seqByChain.get(added.link.chain) ?? -1);
  if (known !== undefined) return { node: known, isNew: false };
  const { message, link } = added;
  const node: NodeRecord = {
    seq: log.nextSeq,
    parent: added.parent,
    role: message.role,
    source: added.source,
    turn: added.turn,
    identity: message.identity,
    chain: link.chain,
    ...(link.looseChain === link.chain ? {} : { looseChain: link.looseChain }),
    hash: message.hash,
    bytes: message.bytes,
    tokens: message.tokens,
    certainty: message.certainty,
    isComplete: added.isComplete,
    at: added.at,
  };
  addNode(log, node);
  return { node, isNew: true };
}

export interface NewBranch {
  readonly id: string;
  readonly agent?: string;
  readonly relation: Relation;
  readonly forkSeq: number | null;
  readonly at: number;
}

export function startBranch(log: SessionLog, branch: NewBranch): BranchState {
  const state: BranchState = {
    record: {
      id: branch.id,
      ...(branch.agent === undefined ? {} : { agent: branch.agent }),
      relation: branch.relation,
      forkSeq: branch.forkSeq,
      tipSeq: branch.forkSeq,
      createdAt: branch.at,
    },
    inFlight: 0,
    isChanged: true,
  };
  log.branches.set(branch.id, state);
  return state;
}

export function moveTip(branch: BranchState, tipSeq: number | null): void {
  branch.record = { ...branch.record, tipSeq };
  branch.isChanged = true;
}
