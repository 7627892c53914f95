/** A path through the log, to which edits are applied. The messages come from a request, a library session or the store. */

import type { Edit, EditAction } from "../../message/edit.ts";
import type { BranchRecord, NodeRecord } from "../../store/store.ts";
import { lineageOf } from "./lineage.ts";
import {
  type BranchState,
  type Link,
  type LogMessage,
  looseChainOf,
  pathTo,
  type SessionLog,
} from "./log.ts";
import { foldView, type IndexOf, type Range, type View, wholeView } from "./view.ts";

export interface Path extends Conversation {
  /**
   * The branch of the path. Only edits of this branch, and of the branches that it came from, are active. If absent, edits of all
   * branches are active.
   */
  readonly branch?: string;
  /** The content of a message, even if the request contains only the name of the message. */
  contentAt(index: number): Uint8Array;
  /** Contract: callers must await this before they ask for any bytes. */
  load(): Promise<void>;
  /** A message of an inner round, by its number. Undefined until it is loaded. */
  innerAt(seq: number): Uint8Array | undefined;
  /** The name by which edits refer to a message. */
  chainAt(index: number): string | undefined;
  seqAt(index: number): number | undefined;
  /** Tokens, bytes and media of a range of messages. */
  sumOf(range: Range): Sum;
}

export interface Sum {
  readonly tokens: number;
  readonly bytes: number;
  readonly media: number;
}

export type PathMessage = Pick<LogMessage, "tokens" | "bytes" | "media">;

export interface PathSource {
  readonly log: SessionLog;
  readonly branch?: string | undefined;
  readonly links: readonly Link[];
  readonly messages: readonly PathMessage[];
  readonly bytesAt: (index: number) => Uint8Array;
  readonly keys?: Conversation["keys"];
  readonly contentAt?: Path["contentAt"];
  readonly load?: Path["load"];
  readonly mayCarryMark?: Conversation["mayCarryMark"];
  /**
   * For each message, the sum of all messages before it. If given, the sum of a range need not be added up message by message.
   */
  readonly sumsBefore?: readonly Sum[];
}

export function pathOf(source: PathSource): Path {
  const { log, links, messages, bytesAt } = source;
  return {
    ...(source.branch === undefined ? {} : { branch: source.branch }),
    length: messages.length,
    bytesAt,
    ...(source.keys === undefined ? {} : { keys: source.keys }),
    contentAt: source.contentAt ?? bytesAt,
    load: source.load ?? loaded,
    innerAt: (seq) => log.inner.get(seq),
    mayCarryMark: source.mayCarryMark ?? (() => false),
    chainAt: (index) => links[index]?.looseChain,
    seqAt: (index) => log.seqByChain.get(links[index]?.chain ?? ""),
    sumOf: (range) => {
      const to = source.sumsBefore?.[range.last + 1];
      const from = source.sumsBefore?.[range.first];
      return to === undefined || from === undefined ? addUp(messages, range) : subtract(to, from);
    },
  };
}

async function loaded(): Promise<void> {
  // Nothing to load, because all bytes are already in memory.
}

function addUp(messages: readonly PathMessage[], { first, last }: Range): Sum {
  let sum: Sum = nothing;
  for (let index = first; index <= last; index++) {
    const message = messages[index];
    if (message !== undefined) sum = addMessage(sum, message);
  }
  return sum;
}

export const nothing: Sum = { tokens: 0, bytes: 0, media: 0 };

export function addMessage(sum: Sum, { tokens, bytes, media = 0 }: PathMessage): Sum {
  return { tokens: sum.tokens + tokens, bytes: sum.bytes + bytes, media: sum.media + media };
}

function subtract(from: Sum, what: Sum): Sum {
  return {
    tokens: from.tokens - what.tokens,
    bytes: from.bytes - what.bytes,
    media: from.media - what.media,
  };
}

export function pathOfNodes(
  log: Pick<SessionLog, "inner">,
  nodes: readonly NodeRecord[],
  bodies: ReadonlyMap<number, Uint8Array> = new Map(),
  messages: readonly PathMessage[] = nodes,
): Path {
  const bytesAt = (index: number): Uint8Array =>
    bodies.get(nodes[index]?.seq ?? -1) ?? new Uint8Array();
  return {
    length: nodes.length,
    bytesAt,
    contentAt: bytesAt,
    load: loaded,
    innerAt: (seq) => log.inner.get(seq),
    mayCarryMark: () => true,
    chainAt: (index) => {
      const node = nodes[index];
      return node && looseChainOf(node);
    },
    seqAt: (index) => nodes[index]?.seq,
    sumOf: (range) => addUp(messages, range),
  };
}

export function pathOfBranch(
  log: Pick<SessionLog, "inner" | "nodes">,
  { id, tipSeq }: BranchRecord,
): Path {
  return { ...pathOfNodes(log, pathTo(log, tipSeq)), branch: id };
}

type Indexed = Pick<SessionLog, "indexByChain"> &
  Partial<Pick<SessionLog, "nodes" | "echoes" | "branches">>;

/**
 * Finds the index of a message by its chain. The index is the same on every path through the message, so one lookup in a map is
 * enough.
 */
export function indexOn(path: Path, log: Indexed): IndexOf {
  const indexOf = (chain: string): number | undefined => {
    const index = log.indexByChain.get(chain);
    return index !== undefined && path.chainAt(index) === chain ? index : undefined;
  };
  const { nodes, echoes } = log;
  const isOwn = ownOn(path, log);
  if (nodes === undefined || echoes === undefined || echoes.size === 0)
    return Object.assign(indexOf, isOwn);
  return Object.assign(indexOf, { ...isOwn, piecesOf: piecesOn(path, { nodes, echoes }) });
}

/**
 * Tells which branches have active edits on this path. A sub-agent has its own limit, so when messages are removed for the
 * sub-agent, other agents that share these messages still see them.
 */
function ownOn({ branch }: Path, { nodes, branches }: Indexed): Pick<IndexOf, "isOwn"> {
  // Shortcut for the usual case, a session with only one branch.
  if (branch === undefined || nodes === undefined || (branches?.size ?? 0) < 2) return {};
  const lineage = lineageOf({ nodes, branches: branches ?? new Map() }, branch);
  return { isOwn: (other) => lineage.has(other) };
}

type Echoing = Pick<SessionLog, "nodes" | "echoes">;

/** Finds an answer that its client now sends in another place, or in pieces in several places. */
function piecesOn(path: Path, log: Echoing): NonNullable<IndexOf["piecesOf"]> {
  const placesBySeq = placesOn(path, log);
  const answers = [...log.nodes.values()].filter(({ source }) => source === "answer");
  const byChain = new Map(answers.map((node) => [looseChainOf(node), node]));
  return (first, last) => {
    const answer: NodeRecord[] = [];
    let node = byChain.get(last);
    for (; node !== undefined && looseChainOf(node) !== first; node = parentOf(log, node))
      answer.unshift(node);
    if (node === undefined) return undefined;
    const places = [node, ...answer].map(({ seq }) => placesBySeq.get(seq) ?? []);
    const indexes = places.flat().map(({ index }) => index);
    if (indexes.length === 0) return undefined;
    const range = { first: Math.min(...indexes), last: Math.max(...indexes) };
    const isWhole = places.every(
      ([place, ...others], at) =>
        place?.isWhole === true && others.length === 0 && place.index === range.first + at,
    );
    return { ...range, isWhole };
  };
}

function parentOf({ nodes }: Echoing, { parent }: NodeRecord): NodeRecord | undefined {
  return parent === null ? undefined : nodes.get(parent);
}

interface PlaceHere {
  readonly index: number;
  readonly isWhole: boolean;
}

/** By message number: the places on this path of the message itself and of its echoes. */
function placesOn(path: Path, { echoes }: Echoing): ReadonlyMap<number, readonly PlaceHere[]> {
  const placesBySeq = new Map<number, PlaceHere[]>();
  for (let index = 0; index < path.length; index++) {
    const own = path.seqAt(index) ?? -1;
    const { of: seq, isWhole } = echoes.get(own) ?? { of: own, isWhole: true };
    placesBySeq.set(seq, [...(placesBySeq.get(seq) ?? []), { index, isWhole }]);
  }
  return placesBySeq;
}

/**
 * The view of a path. The view is folded again only if an edit was added, or if this path does not continue the path of the last
 * view.
 */
export function viewOf(log: SessionLog, branch: BranchState, path: Path): View {
  if (log.edits.length === 0) return wholeView;
  const { view: known } = branch;
  const isKnown =
    known !== undefined &&
    known.edits === log.edits.length &&
    known.length <= path.length &&
    branch.memory.rewritten === undefined &&
    path.chainAt(known.deepest.index) === known.deepest.chain &&
    (known.farthest < known.length || !hasWaiting(log, known.length, path.length));
  if (isKnown) return known.view;
  const indexOf = indexOn(path, log);
  const view = foldView(indexOf, log.edits);
  branch.view = {
    view,
    edits: log.edits.length,
    length: path.length,
    deepest: deepestOf(log, indexOf),
    farthest: farthestIn(log),
  };
  return view;
}

/** The view of a path with edits that the log does not have yet. */
export function viewWith(log: SessionLog, path: Path, edits: readonly Edit[]): View {
  return foldView(indexOn(path, log), [...log.edits, ...edits]);
}

/** Whether an edit is anchored beyond the old end of the path. The path may have grown up to that anchor by now. */
function hasWaiting(log: SessionLog, before: number, now: number): boolean {
  if (before === now) return false;
  return log.edits.some(({ anchor }) => (log.indexByChain.get(anchor) ?? 0) >= before);
}

/** The greatest index at which an edit is anchored, on any path. */
function farthestIn({ edits, indexByChain }: SessionLog): number {
  return edits.reduce(
    (farthest, { anchor }) =>
      Math.max(farthest, indexByChain.get(anchor) ?? Number.POSITIVE_INFINITY),
    -1,
  );
}

function deepestOf(log: SessionLog, indexOf: IndexOf): { index: number; chain: string } {
  let deepest = { index: -1, chain: "" };
  for (const { anchor } of log.edits) {
    const index = indexOf(anchor);
    if (index !== undefined && index > deepest.index) deepest = { index, chain: anchor };
  }
  return deepest;
}

/**
 * The anchor of an edit that touches no message. It is the last message that came from the client and that the client does not
 * rewrite with every request. An answer is not used, because some clients never send it back.
 */
export function anchorOf(log: SessionLog, path: Path, branch: BranchState): string {
  const end = stableLength(path, branch);
  for (let index = end - 1; index >= 0; index--) {
    const node = log.nodes.get(path.seqAt(index) ?? -1);
    if (node !== undefined && node.source !== "answer") return looseChainOf(node);
  }
  return path.chainAt(end - 1) ?? "";
}

/**
 * If a client has rewritten at most this many messages, it probably does so with every request, and the user has not gone back.
 */
const longestRewritten = 8;

/** Number of messages that the client will send again unchanged. */
export function stableLength(
  { length }: Pick<Path, "length">,
  { memory: { rewritten } }: Pick<BranchState, "memory">,
): number {
  if (rewritten === undefined || rewritten.count > longestRewritten) return length;
  return Math.max(1, rewritten.from, length - longestRewritten);
}

/**
 * Anchors the edits of one compaction at the last message that any of them touches, so that either all of them are active or none
 * is. If an edit reverts another edit that has a later anchor, it gets that later anchor, so that both are active together.
 */
export function anchoredTogether(
  {
    log,
    path,
    branch,
  }: { readonly log: SessionLog; readonly path: Path; readonly branch: BranchState },
  edits: readonly Edit[],
): readonly Edit[] {
  const indexOf = indexOn(path, log);
  const bySeq = new Map(log.edits.map((edit) => [edit.seq, edit]));
  const revertedAt = edits.map(({ action }) => {
    const reverted = action.kind === "revert" ? bySeq.get(action.edit) : undefined;
    return reverted === undefined ? -1 : (placeOf(reverted, indexOf) ?? -1);
  });
  const touched = edits.flatMap(({ action }) => lastTouched(action) ?? []);
  const touchedAt = touched.map((chain) => indexOf(chain) ?? -1);
  const deepest = Math.max(-1, ...(touched.length > 0 ? touchedAt : revertedAt));
  const last = path.chainAt(deepest) ?? anchorOf(log, path, branch);
  return edits.map((edit, index) => {
    const further = Math.max(deepest, revertedAt[index] ?? -1);
    return { ...edit, anchor: path.chainAt(further) ?? last };
  });
}

/** The index on the path at which an edit is anchored. */
function placeOf({ anchor, action }: Edit, indexOf: IndexOf): number | undefined {
  const pieces =
    action.kind === "expand" ? indexOf.piecesOf?.(action.first, action.last) : undefined;
  return indexOf(anchor) ?? pieces?.last;
}

/** The chain of the last message that an edit names. Undefined if it names no message. */
export function lastTouched(action: EditAction): string | undefined {
  switch (action.kind) {
    case "replace":
      return action.chain;
    case "insert":
      return action.after;
    case "remove":
    case "fold":
    case "pin":
    case "expand":
      return action.last;
    default:
      return undefined;
  }
}

export interface Conversation {
  readonly length: number;
  bytesAt(index: number): Uint8Array;
  /**
   * For each message an object that stays the same as long as the message has the same bytes, so that what was made of the message
   * can be kept. The list may grow at its end, but does not change otherwise. Undefined if there are no such objects.
   */
  readonly keys?: readonly object[];
  /** A message of an inner round, by its number in the log. */
  innerAt(seq: number): Uint8Array | undefined;
  /**
   * Whether a cache mark of the client may be in this gap. May return true if there is none, but must not return false if there
   * is one.
   */
  mayCarryMark(gap: { readonly first: number; readonly last: number }): boolean;
}

/** Index of the first message that the model has not answered yet. */
export function startOfNew({
  path,
  log,
}: {
  readonly path: Path;
  readonly log: Pick<SessionLog, "nodes">;
}): number {
  let from = path.length;
  while (from > 0 && log.nodes.get(path.seqAt(from - 1) ?? -1)?.role !== "assistant") from--;
  return from;
}
