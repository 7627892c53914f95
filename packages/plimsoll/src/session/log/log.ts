/**
 * The log of one session in memory: a tree of messages without their bytes, and the branches that point into it. Nodes are
 * only ever added. The store has the same tree, with the bytes.
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
  /** Number of callers that are using this log and have not yet marked a branch as busy. */
  users: number;
  /** Only `rememberInSession` may replace this value. */
  memory: SessionMemory;
  isMemoryChanged: boolean;
}

/** Every message of the session, without its bytes. */
export interface MessageTree {
  readonly nodes: Map<number, NodeRecord>;
  nextSeq: number;
  readonly seqByChain: Map<string, number>;
  /** By loose chain of a message: the number of messages before it, which is the same on every path through the message. */
  readonly indexByChain: Map<string, number>;
  /** By number of a leading system message: its position among the leading messages, counted from one. */
  readonly leading: Map<number, number>;
  /** By branch: the number of messages that were first sent on that branch, without inner rounds. */
  readonly countOn: Map<string, number>;
  /**
   * By message number: bytes of the messages of inner rounds that expansions need. They are kept after sending, or loaded when
   * needed.
   */
  readonly inner: Map<number, Uint8Array>;
}

/** Data by which the log recognises an answer that its client sends back. */
export interface KnownAnswers {
  /** By talk (see `Link.talk`): the number of the newest message with that talk. */
  readonly seqByTalk: Map<string, number>;
  /** By talk: the turn of the recorded answer with that talk. The client may send that answer back with different bytes. */
  readonly turnByTalk: Map<string, string>;
  /** By number of a message (0 is the root): the numbers of the answers directly below it, and of echoes of answers there. */
  readonly answersBelow: Map<number, number[]>;
  /** Numbers of the answers whose client spelling is stored or is about to be stored. */
  readonly worded: Set<number>;
  /**
   * By number of an answer: hashes of its words, as the model gave it and as its client sent it back. Answers of an earlier
   * process are missing until `recallAnswers` has run.
   */
  readonly words: Map<number, readonly string[]>;
  /** By mark: the last answer that has this mark. Answers of an earlier process are missing until `recallAnswers` has run. */
  readonly answerByMark: BoundedMap<string, MarkedAnswer>;
  /** By message number: the echo in that message, if the message repeats something from another place. */
  readonly echoes: Map<number, Echo>;
  /** Resolves when the answers of an earlier process are known. Undefined until `recallAnswers` is called for the first time. */
  recalled?: Promise<void>;
}

export interface EditList {
  /** The edits, ordered by number. `commitEdits` adds an edit after it is stored; `appendEdit` adds it at once. */
  readonly edits: Edit[];
  /** The highest number ever given to an edit, including edits that are not stored but may still be stored later. */
  lastEdit: number;
  /** The queue in which tasks that edit the session run one after the other. */
  readonly editing: Queue;
}

/** Which parts of a session are stored, and which are not stored yet. */
export interface SaveState {
  /** Hashes of the preambles that are already stored. `blocks` contains the ids of the blocks that make up these preambles. */
  readonly heads: Set<string>;
  readonly blocks: BoundedMap<string, true>;
  /** Writes that are not committed yet. The next commit of any turn of this session includes all of them, in order. */
  unsaved: Promise<Write>[];
  /** The queue in which the commits of this session run one after the other. */
  readonly commits: Queue;
  isSaving: boolean;
  /** True if the log no longer matches the store, so Plimsoll has abandoned it. The session is then read from the store again. */
  isAbandoned: boolean;
}

export interface BranchState {
  record: BranchRecord;
  /** Only `remember` may replace this value. */
  memory: BranchMemory;
  /** The last folded view. `viewOf` uses it again as long as no edit is added and the path only grows. */
  view?: KnownView;
  /** Whether Plimsoll may ask a model for a summary. False after it has asked, until the next compaction. */
  isSummaryWanted: boolean;
  /** Number of summaries that models are writing now. The branch stays in memory until they are done. */
  summariesUnderWay: number;
  /** Number of turns on this branch that have begun and not ended. */
  inFlight: number;
  /** Whether the branch's tip or memory has changed since the branch was last stored. */
  isChanged: boolean;
}

export interface KnownView {
  readonly view: View;
  readonly edits: number;
  readonly length: number;
  /** The last message on this path that is the anchor of an edit. */
  readonly deepest: { readonly index: number; readonly chain: string };
  /** The greatest index of an anchor on any path. Infinite if the path of an anchor is not known. */
  readonly farthest: number;
}

/** Hashes that identify an answer, even if its client spells it differently or sends it back in pieces. */
export interface Marks {
  /** One hash for each call, including its arguments. */
  readonly calls: readonly string[];
  /** One hash for each text that is long enough to identify the answer. */
  readonly texts: readonly string[];
  readonly shortTexts: readonly string[];
  readonly allTexts: string;
  /** Hash of everything in the answer except its reasoning. */
  readonly words: string;
  /** Set if the server only numbers its calls (`call_0`, `call_1` …). Other answers may then have the same call ids. */
  readonly isNumbered?: true;
}

/** Facts about one message of a request. */
export interface LogMessage {
  readonly role: Role;
  readonly identity: string;
  /**
   * The identity as earlier versions of Plimsoll computed it, if it differs. Those versions gave some different messages the same
   * identity.
   */
  readonly oldIdentity?: string;
  /**
   * Hash of the content, without the details that clients drop or change from turn to turn. Null if the message contains only
   * such details. Absent if the hash equals the identity.
   */
  readonly essence?: string | null;
  /** The identity, computed with all digits masked. Only system messages have it. */
  readonly looseIdentity?: string;
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly certainty: NodeRecord["certainty"];
  /** Number of images and documents in the message. Absent if there are none. */
  readonly media?: number;
  /** Set if the tokens of the message could not be counted. `tokens` is then a guess. */
  readonly isGuess?: true;
  /** Set if the message replaces earlier messages that the provider or the client has removed. */
  readonly isCompaction?: true;
  /** Set if the message adds tools and contains nothing else. */
  readonly isTools?: true;
  /** The provider's id of another message, if this message only refers to that one. */
  readonly names?: string;
  /** Hashes by which an answer is recognised. Only answers have them. */
  readonly marks?: Marks;
}

/**
 * Running hashes over the identities of a conversation. If two conversations have the same hash at the same place, they are equal
 * up to that place. For `looseChain`, leading system messages are hashed with masked digits.
 */
export interface Link {
  readonly chain: string;
  readonly looseChain: string;
  /** Running hash over the essence of each message, without leading system messages. */
  readonly talk: string;
  /** Whether all messages up to this one are system messages. */
  readonly isLeading: boolean;
}

/** The message that an echo repeats, and whether the echo repeats all of that message. */
export interface Echo {
  readonly of: number;
  readonly isWhole: boolean;
}

export interface MarkedAnswer {
  readonly seq: number;
  /** Number of the answer's calls, or of its texts if it has no calls. */
  readonly size: number;
}

/** Maximum number of marks to remember. In a session with more marks, the oldest answers no longer matter. */
const maxMarks = 20_000;
/**
 * Maximum number of known blocks. Without this limit, a session that changes its preamble every turn would fill the memory.
 * Forgetting a block is harmless, because the store never stores a block twice.
 */
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

/** Makes the memory of a branch that an earlier version of Plimsoll stored. That version stored only the debt. */
function oldBranchMemory({ counters }: BranchRecord): BranchMemory {
  const { debtUsd } = counters ?? {};
  return debtUsd === undefined ? blankBranch : { ...blankBranch, debtUsd };
}

function oldMemory({ branches }: SessionSnapshot): SessionMemory {
  const known = branches.flatMap(({ counters }) => counters?.calibration ?? []);
  const calibrations = known.map((stored) => [stored.target, restored(stored)] as const);
  return { ...blankSession, calibrations: Object.fromEntries(calibrations) };
}

/** Keeps the log in memory while the work runs, because there must never be two logs of one session in memory. */
export async function whileInUse<T>(log: SessionLog, work: () => Promise<T>): Promise<T> {
  log.users++;
  try {
    return await work();
  } finally {
    log.users--;
  }
}

/** Records an event on a branch, for later turns. The new memory is stored with the session's next commit. */
export function remember(branch: BranchState, note: BranchNote): void {
  const memory = afterNote(branch.memory, note);
  if (memory === branch.memory) return;
  branch.memory = memory;
  branch.isChanged = true;
}

/** The task on which the branch works, if its client or its caller named one. */
export function taskOf({
  log,
  branch,
}: {
  readonly log: SessionLog;
  readonly branch: BranchState;
}): string | undefined {
  return branch.memory.task ?? log.memory.task;
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

/** The name by which edits refer to a message. It stays the same if only the date in the system prompt changes. */
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

/** The `Link.talk` of each message, as earlier versions of Plimsoll computed it, from the identities alone. */
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

/** Links of the messages of a path in the log, from the root on. */
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

/** Links of all messages. `known` contains the links of the first messages, which are not computed again. */
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

/** Number of messages at the start of the request that the log already has, and the last of these messages. */
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

/** The path from the root to a message. If `count` is given, only the last `count` messages of the path. */
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

/** The messages after `from` on the path to message `seq`, or the whole path if `from` is not on it. */
export function pathBehind(
  log: Pick<SessionLog, "nodes">,
  seq: number | null,
  from: number | null,
): readonly NodeRecord[] {
  const path = pathTo(log, seq);
  return path.slice(path.findIndex((node) => node.seq === from) + 1);
}

/** The path to a message in a snapshot that was read from the store. */
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

/** Adds a message. If the parent already has a child with the same identity, returns that child instead. */
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
