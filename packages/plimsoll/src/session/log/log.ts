/**
 * The log of one session in memory: a tree of messages without their bytes, and the branches that
 * point into it. Nodes are only ever added. The store has the same and the bytes.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { Queue } from "../../bounds/queue.ts";
import { restored } from "../../budget/calibrate.ts";
import type { Edit } from "../../message/edit.ts";
import type { Relation } from "../../message/event.ts";
import type { Role } from "../../message/message.ts";
import { chainRoot, nextChain } from "../../store/chain.ts";
import type {
  BranchRecord,
  NodeRecord,
  SessionRecord,
  SessionSnapshot,
  Write,
} from "../../store/store.ts";
import {
  afterNote,
  afterSessionNote,
  type BranchMemory,
  type BranchNote,
  blankBranch,
  blankSession,
  type SessionMemory,
  type SessionNote,
} from "./memory.ts";
import type { View } from "./view.ts";

export interface SessionLog extends MessageTree, KnownAnswers, EditList, SaveState {
  record: SessionRecord;
  readonly branches: Map<string, BranchState>;
  /** How many have it in their hands, and have not marked a branch as theirs yet. */
  users: number;
  /** Only `rememberInSession` replaces it. */
  memory: SessionMemory;
  isMemoryChanged: boolean;
}

/** Everything that was said, without its bytes. */
export interface MessageTree {
  readonly nodes: Map<number, NodeRecord>;
  nextSeq: number;
  readonly seqByChain: Map<string, number>;
  /** How many messages stand before the one with this loose chain: the same on every path through it. */
  readonly indexByChain: Map<string, number>;
  /** By number: the system messages before the conversation, each with its place among them, counted from one. */
  readonly leading: Map<number, number>;
  /** How many messages were said first on each branch, without lookups. */
  readonly countOn: Map<string, number>;
  /** What expansions of this session need, by number: kept since it was sent, or loaded when it was asked for. */
  readonly inner: Map<number, Uint8Array>;
}

/** By what an answer is known when its client sends it back. */
export interface KnownAnswers {
  /** The newest message up to which this was said. */
  readonly seqByTalk: Map<string, number>;
  /** The turn in which Plimsoll recorded an answer, by what was said up to it: its client may send it back in other bytes. */
  readonly turnByTalk: Map<string, string>;
  /** Numbers of the answers right below a message, and of what says them again there; below none: 0. */
  readonly answersBelow: Map<number, number[]>;
  /** Answers of which another spelling is kept, or on its way to the store. */
  readonly worded: Set<number>;
  /** By number: what an answer says, and what it says as its client sent it back; of those that an earlier process recorded, once they are recalled. */
  readonly words: Map<number, readonly string[]>;
  /** What answers have said, one by one, and which said it last; of those that an earlier process recorded, once they are recalled. */
  readonly answerByMark: BoundedMap<string, MarkedAnswer>;
  /** By number: messages that say again, in another place, what was said before. */
  readonly echoes: Map<number, Echo>;
  /** Answers that an earlier process recorded are known by what they say. Absent: nobody has asked yet. */
  recalled?: Promise<void>;
}

export interface EditList {
  /** In their order. Only what is stored, or was stored and not yet read back, is in here. */
  readonly edits: Edit[];
  /** The highest number that an edit was ever given, also one that may still come to be stored. */
  lastEdit: number;
  /** Who edits, one after the other. */
  readonly editing: Queue;
}

/** What the store has, and what it does not have yet. */
export interface SaveState {
  /** Hash of heads that are already stored, and names of the blocks that they are made of. */
  readonly heads: Set<string>;
  readonly blocks: BoundedMap<string, true>;
  /** Not yet committed: the next commit of any turn of this session takes all of it, in order. */
  unsaved: Promise<Write>[];
  /** Commits of one session follow each other. */
  readonly commits: Queue;
  isSaving: boolean;
  /** The store has gone another way: this log is no longer the session's. */
  isAbandoned: boolean;
}

export interface BranchState {
  record: BranchRecord;
  /** Only `remember` replaces it. */
  memory: BranchMemory;
  /** The view as it was last folded: it holds as long as edits and path only grow. */
  view?: KnownView;
  /** No model was asked yet for a summary for the next compaction. */
  isSummaryWanted: boolean;
  /** Models that write one just now: the branch is theirs to note it on. */
  summariesUnderWay: number;
  /** Turns that have begun on this branch and not ended. */
  inFlight: number;
  /** Moved, or with another memory, since it was last stored. */
  isChanged: boolean;
}

export interface KnownView {
  readonly view: View;
  readonly edits: number;
  readonly length: number;
  /** The deepest message that any edit on this path names, and where it stands. */
  readonly deepest: { readonly index: number; readonly chain: string };
}

/** What an answer is known by when its client spells it otherwise, or sends it back in pieces: each as a hash. */
export interface Marks {
  /** With their arguments. */
  readonly calls: readonly string[];
  /** Long enough to prove something. */
  readonly texts: readonly string[];
  readonly shortTexts: readonly string[];
  readonly allTexts: string;
  /** All that it says, but for reasoning. */
  readonly words: string;
  /** A server counts up the ids of its calls: other answers may have them, too. */
  readonly isNumbered?: true;
}

/** One message of a request, as far as its place in the tree depends on it. */
export interface LogMessage {
  readonly role: Role;
  readonly identity: string;
  /** As earlier versions took it, where they took different messages for the same. */
  readonly oldIdentity?: string;
  /** What it says, without what clients drop and change from turn to turn; null: nothing. Absent: as its identity. */
  readonly essence?: string | null;
  /** Identity with digits masked: only of system messages. */
  readonly looseIdentity?: string;
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly certainty: NodeRecord["certainty"];
  /** Images and documents in it, where there are any. */
  readonly media?: number;
  /** Nobody could count its tokens. */
  readonly isGuess?: true;
  /** It stands for others that the provider or the client has taken out. */
  readonly isCompaction?: true;
  /** It brings tools, and says nothing. */
  readonly isTools?: true;
  /** It is no more than the name of another message. */
  readonly names?: string;
  /** What the model says in it, one by one. */
  readonly marks?: Marks;
}

/**
 * Running hashes over the identities of a conversation: equal at the same place = equal up to there.
 * In the loose one, leading system messages count by their masked identity.
 */
export interface Link {
  readonly chain: string;
  readonly looseChain: string;
  /** Only over what was said: messages count by their essence, and leading system messages not at all. */
  readonly talk: string;
  /** Only system messages so far. */
  readonly isLeading: boolean;
}

/** What a message says again, and whether it says all of it. */
export interface Echo {
  readonly of: number;
  readonly isWhole: boolean;
}

export interface MarkedAnswer {
  readonly seq: number;
  /** How many calls it has; without calls, how many texts. */
  readonly size: number;
}

/** A session of this many answers has long forgotten the first ones. */
const maxMarks = 20_000;
/** A session that changes its head with every turn would fill the list: what was stored before is not stored twice anyway. */
const maxKnownBlocks = 20_000;

export function emptyLog(record: SessionRecord): SessionLog {
  return {
    record,
    nodes: new Map(),
    seqByChain: new Map(),
    seqByTalk: new Map(),
    turnByTalk: new Map(),
    answersBelow: new Map(),
    answerByMark: new BoundedMap({ entries: maxMarks }),
    echoes: new Map(),
    worded: new Set(),
    words: new Map(),
    indexByChain: new Map(),
    inner: new Map(),
    edits: [],
    lastEdit: 0,
    users: 0,
    memory: blankSession,
    isMemoryChanged: false,
    branches: new Map(),
    nextSeq: 1,
    leading: new Map(),
    countOn: new Map(),
    heads: new Set(),
    blocks: new BoundedMap({ entries: maxKnownBlocks }),
    unsaved: [],
    commits: new Queue(),
    editing: new Queue(),
    isSaving: false,
    isAbandoned: false,
  };
}

export function restoreLog(snapshot: SessionSnapshot): SessionLog {
  const log = emptyLog(snapshot.session);
  for (const node of snapshot.nodes) addNode(log, node);
  for (const record of snapshot.branches) {
    const memory = snapshot.memories.get(record.id) as BranchMemory | undefined;
    log.branches.set(record.id, {
      record,
      memory: memory ?? oldBranchMemory(record),
      inFlight: 0,
      isSummaryWanted: true,
      summariesUnderWay: 0,
      isChanged: false,
    });
  }
  log.memory = (snapshot.memories.get("") as SessionMemory | undefined) ?? oldMemory(snapshot);
  log.edits.push(...snapshot.edits);
  return log;
}

/** Earlier versions kept no more of a branch than this. */
function oldBranchMemory({ counters }: BranchRecord): BranchMemory {
  const { debtUsd } = counters ?? {};
  return debtUsd === undefined ? blankBranch : { ...blankBranch, debtUsd };
}

function oldMemory({ branches }: SessionSnapshot): SessionMemory {
  const known = branches.flatMap(({ counters }) => counters?.calibration ?? []);
  const calibrations = known.map((stored) => [stored.target, restored(stored)] as const);
  return { ...blankSession, calibrations: Object.fromEntries(calibrations) };
}

/** Meanwhile it stays in memory: there is one log of a session at a time. */
export async function whileInUse<T>(log: SessionLog, work: () => Promise<T>): Promise<T> {
  log.users++;
  try {
    return await work();
  } finally {
    log.users--;
  }
}

/** What happened on a branch, for its later turns: stored with the session's next commit. */
export function remember(branch: BranchState, note: BranchNote): void {
  const memory = afterNote(branch.memory, note);
  if (memory === branch.memory) return;
  branch.memory = memory;
  branch.isChanged = true;
}

export function rememberInSession(log: SessionLog, note: SessionNote): void {
  const memory = afterSessionNote(log.memory, note);
  if (memory === log.memory) return;
  log.memory = memory;
  log.isMemoryChanged = true;
}

function addNode(log: SessionLog, node: NodeRecord): void {
  log.nodes.set(node.seq, node);
  log.seqByChain.set(node.chain, node.seq);
  if (node.talk !== undefined) {
    log.seqByTalk.set(node.talk, node.seq);
    if (node.source === "answer") log.turnByTalk.set(node.talk, node.turn);
  }
  noteAnswer(log, node);
  const parent = node.parent === null ? undefined : log.nodes.get(node.parent);
  const before = parent === undefined ? -1 : (log.indexByChain.get(looseChainOf(parent)) ?? -1);
  log.indexByChain.set(looseChainOf(node), before + 1);
  const leading = parent === undefined ? 0 : log.leading.get(parent.seq);
  if (node.role === "system" && leading !== undefined) log.leading.set(node.seq, leading + 1);
  if (node.branch !== undefined && node.source !== "inner")
    log.countOn.set(node.branch, (log.countOn.get(node.branch) ?? 0) + 1);
  if (node.seq >= log.nextSeq) log.nextSeq = node.seq + 1;
}

function noteAnswer({ answersBelow }: SessionLog, node: NodeRecord): void {
  const { parent, seq, source, role } = node;
  const isEcho = source === "echo" && role === "assistant";
  if (source !== "answer" && !isEcho) return;
  answersBelow.set(parent ?? 0, [...(answersBelow.get(parent ?? 0) ?? []), seq]);
}

/** The name of a message in edits: a date in the system prompt that moves on does not make it another one. */
export function looseChainOf({ chain, looseChain = chain }: NodeRecord): string {
  return looseChain;
}

export function rootLink(wire: string): Link {
  const chain = chainRoot(wire);
  return { chain, looseChain: chain, talk: chain, isLeading: true };
}

type Identified = Pick<LogMessage, "role" | "identity" | "looseIdentity" | "essence">;

export function extendLink(link: Link, message: Identified): Link {
  const isLeading = link.isLeading && message.role === "system";
  const looseIdentity = (isLeading ? message.looseIdentity : undefined) ?? message.identity;
  const chain = nextChain(link.chain, message.identity);
  const isSame = link.looseChain === link.chain && looseIdentity === message.identity;
  return {
    chain,
    looseChain: isSame ? chain : nextChain(link.looseChain, looseIdentity),
    talk: isLeading ? link.talk : talkAfter(link, message),
    isLeading,
  };
}

function talkAfter({ talk }: Link, { identity, essence = identity }: Identified): string {
  return essence === null ? talk : nextChain(talk, essence);
}

/** The same, as earlier versions would have it: by identity alone. */
export function oldTalksOf(wire: string, messages: readonly LogMessage[]): readonly string[] {
  const talks: string[] = [];
  let [talk, isLeading] = [chainRoot(wire), true];
  for (const { role, identity, oldIdentity = identity } of messages) {
    isLeading &&= role === "system";
    if (!isLeading) talk = nextChain(talk, oldIdentity);
    talks.push(talk);
  }
  return talks;
}

/** Links of messages that are in the log, from the root on. */
export function linksOfPath(wire: string, path: readonly NodeRecord[]): readonly Link[] {
  const links: Link[] = [];
  let link = rootLink(wire);
  for (const node of path) {
    const { chain, role, talk = link.talk } = node;
    const isLeading = link.isLeading && role === "system";
    link = { chain, looseChain: looseChainOf(node), talk, isLeading };
    links.push(link);
  }
  return links;
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

/** From the root to a message; with `count`, only so many before its end. */
export function pathTo(
  log: { readonly nodes: ReadonlyMap<number, NodeRecord> },
  seq: number | null,
  count: number = Number.POSITIVE_INFINITY,
): readonly NodeRecord[] {
  const path: NodeRecord[] = [];
  let at = seq;
  while (at !== null && path.length < count) {
    const node = log.nodes.get(at);
    if (node === undefined) break;
    path.push(node);
    at = node.parent;
  }
  return path.reverse();
}

/** From behind a message to another; from the root on where the first is none of those before it. */
export function pathBehind(
  log: Pick<SessionLog, "nodes">,
  seq: number | null,
  from: number | null,
): readonly NodeRecord[] {
  const path = pathTo(log, seq);
  return path.slice(path.findIndex((node) => node.seq === from) + 1);
}

/** The path to a message, in what a store has of a session. */
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
  readonly branch: string;
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
  const isConversation = added.source !== "inner" && !link.isLeading && message.essence !== null;
  const node: NodeRecord = {
    seq: log.nextSeq,
    parent: added.parent,
    role: message.role,
    source: added.source,
    turn: added.turn,
    branch: added.branch,
    ...(isConversation ? { talk: link.talk } : {}),
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
  readonly left?: string;
  readonly forkSeq: number | null;
  readonly at: number;
}

export function startBranch(log: SessionLog, branch: NewBranch): BranchState {
  const state: BranchState = {
    record: {
      id: branch.id,
      ...(branch.agent === undefined ? {} : { agent: branch.agent }),
      relation: branch.relation,
      ...(branch.left === undefined ? {} : { left: branch.left }),
      forkSeq: branch.forkSeq,
      tipSeq: branch.forkSeq,
      createdAt: branch.at,
    },
    memory: blankBranch,
    inFlight: 0,
    isSummaryWanted: true,
    summariesUnderWay: 0,
    isChanged: true,
  };
  log.branches.set(branch.id, state);
  return state;
}

export function moveTip(branch: BranchState, tipSeq: number | null): void {
  branch.record = { ...branch.record, tipSeq };
  branch.isChanged = true;
}
