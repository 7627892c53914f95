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
  /** Number of callers that use this log and have not yet marked a branch as busy. */
  users: number;
  /** Only `rememberInSession` replaces it. */
  memory: SessionMemory;
  isMemoryChanged: boolean;
}

/** Every message of the session, without its bytes. */
export interface MessageTree {
  readonly nodes: Map<number, NodeRecord>;
  nextSeq: number;
  readonly seqByChain: Map<string, number>;
  /** By loose chain of a message: the number of messages before it. The number is the same on every path through the message. */
  readonly indexByChain: Map<string, number>;
  /** By number of a leading system message: its position among the leading messages, counted from one. */
  readonly leading: Map<number, number>;
  /** Number of messages that were first said on each branch, without inner rounds. */
  readonly countOn: Map<string, number>;
  /** By number: messages of inner rounds that expansions need. Kept after they were sent, or loaded when needed. */
  readonly inner: Map<number, Uint8Array>;
}

/** How the log recognises an answer that its client sends back. */
export interface KnownAnswers {
  /** By talk: the newest message with that talk (`Link.talk`). */
  readonly seqByTalk: Map<string, number>;
  /** By talk: the turn of the recorded answer with that talk. Its client may send the answer back in other bytes. */
  readonly turnByTalk: Map<string, string>;
  /** By number of a message (0: the root): the answers right below it, and the echoes of answers there. */
  readonly answersBelow: Map<number, number[]>;
  /** Answers whose client spelling is stored, or on its way to the store. */
  readonly worded: Set<number>;
  /**
   * By number: hashes of the words of an answer, as the model gave it and as its client sent it back. Answers of an earlier
   * process are here only after `recallAnswers`.
   */
  readonly words: Map<number, readonly string[]>;
  /** By mark: the last answer that has it. Answers of an earlier process are here only after `recallAnswers`. */
  readonly answerByMark: BoundedMap<string, MarkedAnswer>;
  /** By number: messages that repeat, in another place, something that was said before. */
  readonly echoes: Map<number, Echo>;
  /** Set by `recallAnswers`: resolves when the answers of an earlier process are known. Absent: nobody has asked yet. */
  recalled?: Promise<void>;
}

export interface EditList {
  /** Ordered by number. `commitEdits` adds an edit once it is stored, `appendEdit` adds it at once. */
  readonly edits: Edit[];
  /** The highest number ever given to an edit, including edits that may still be stored later. */
  lastEdit: number;
  /** Runs edits one after the other. */
  readonly editing: Queue;
}

/** The stored and the unsaved parts of a session. */
export interface SaveState {
  /** Hashes of the preambles that are already stored. `blocks` has the names of the blocks that they consist of. */
  readonly heads: Set<string>;
  readonly blocks: BoundedMap<string, true>;
  /** Writes that are not committed yet. The next commit of any turn of this session includes all of them, in order. */
  unsaved: Promise<Write>[];
  /** Commits of one session run one after the other. */
  readonly commits: Queue;
  isSaving: boolean;
  /** This log was given up because it no longer matches the store. The session is read from the store again. */
  isAbandoned: boolean;
}

export interface BranchState {
  record: BranchRecord;
  /** Only `remember` replaces it. */
  memory: BranchMemory;
  /** The view as it was last folded. `viewOf` uses it again while no edit is added and the path only grows. */
  view?: KnownView;
  /** Whether a model may be asked for a summary. False after one was asked, until the next compaction. */
  isSummaryWanted: boolean;
  /** Number of models that are writing a summary now. The branch stays in memory until they are done. */
  summariesUnderWay: number;
  /** Number of turns on this branch that have begun and not ended. */
  inFlight: number;
  /** Its tip or its memory has changed since it was last stored. */
  isChanged: boolean;
}

export interface KnownView {
  readonly view: View;
  readonly edits: number;
  readonly length: number;
  /** The last message on this path at which an edit is anchored. */
  readonly deepest: { readonly index: number; readonly chain: string };
}

/** Hashes that identify an answer, even if its client spells it differently or sends it back in pieces. */
export interface Marks {
  /** One for each call, with its arguments. */
  readonly calls: readonly string[];
  /** One for each text that is long enough to prove something. */
  readonly texts: readonly string[];
  readonly shortTexts: readonly string[];
  readonly allTexts: string;
  /** Everything that the answer says, except reasoning. */
  readonly words: string;
  /** The server counts up the ids of its calls, so other answers may have the same ids. */
  readonly isNumbered?: true;
}

/** Facts about one message of a request. */
export interface LogMessage {
  readonly role: Role;
  readonly identity: string;
  /** The identity in earlier versions of Plimsoll, if it differs. They gave some different messages the same identity. */
  readonly oldIdentity?: string;
  /**
   * Hash of the content, without the details that clients drop or change from turn to turn. Null: there is no other content.
   * Absent: equal to the identity.
   */
  readonly essence?: string | null;
  /** Identity with masked digits. Only system messages have it. */
  readonly looseIdentity?: string;
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly certainty: NodeRecord["certainty"];
  /** Number of images and documents in it, if there are any. */
  readonly media?: number;
  /** Its tokens could not be counted, so `tokens` is a guess. */
  readonly isGuess?: true;
  /** It replaces earlier messages that the provider or the client has taken out. */
  readonly isCompaction?: true;
  /** It only adds tools, and contains nothing else. */
  readonly isTools?: true;
  /** The provider's id of another message, if this message only refers to that one. */
  readonly names?: string;
  /** Only answers have marks. */
  readonly marks?: Marks;
}

/**
 * Running hashes over the identities of a conversation. If two are equal at the same place, both conversations are equal up to
 * there. In `looseChain`, leading system messages count by their masked identity.
 */
export interface Link {
  readonly chain: string;
  readonly looseChain: string;
  /** Covers only the conversation: messages count by their essence, and leading system messages do not count. */
  readonly talk: string;
  /** Whether there were only system messages up to here. */
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

/** Maximum number of marks. In a session that has more, the first answers no longer matter. */
const maxMarks = 20_000;
/**
 * Maximum number of known blocks. A session that changes its preamble with every turn would fill the list. Forgetting a block
 * is harmless, because the store does not store it twice.
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

/** The memory of a branch that an earlier version of Plimsoll stored. That version kept only the debt. */
function oldBranchMemory({ counters }: BranchRecord): BranchMemory {
  const { debtUsd } = counters ?? {};
  return debtUsd === undefined ? blankBranch : { ...blankBranch, debtUsd };
}

function oldMemory({ branches }: SessionSnapshot): SessionMemory {
  const known = branches.flatMap(({ counters }) => counters?.calibration ?? []);
  const calibrations = known.map((stored) => [stored.target, restored(stored)] as const);
  return { ...blankSession, calibrations: Object.fromEntries(calibrations) };
}

/** Keeps the log in memory during the work, because there must be only one log of a session at a time. */
export async function whileInUse<T>(log: SessionLog, work: () => Promise<T>): Promise<T> {
  log.users++;
  try {
    return await work();
  } finally {
    log.users--;
  }
}

/** Records what happened on a branch, for its later turns. It is stored with the session's next commit. */
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

/** The name of a message in edits. A new date in the system prompt does not change it. */
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

/** `Link.talk` of each message as earlier versions computed it, from the identities alone. */
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

/** Links of a path in the log, from the root on. */
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

/** Links of all messages. `known` contains the links of the first messages. */
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

/** The path from the root to a message. With `count`, only its last `count` messages. */
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

/** The messages after `from` on the path to message `seq`. If `from` is not on that path, the whole path. */
export function pathBehind(
  log: Pick<SessionLog, "nodes">,
  seq: number | null,
  from: number | null,
): readonly NodeRecord[] {
  const path = pathTo(log, seq);
  return path.slice(path.findIndex((node) => node.seq === from) + 1);
}

/** The path to a message, in a snapshot from the store. */
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

/** Adds a message, or returns the known one: one parent never has two children of the same identity. */
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
