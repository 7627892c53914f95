/**
 * The view: what of a path the model sees, after all edits that hold. One pure fold over edits. It names only
 * what is different, so it costs what was edited and not how long the conversation is.
 */

import type { Edit, EditAction, ToolSelection } from "../../message/edit.ts";
import type { ViewMark } from "./memory.ts";

/** A stretch of the path by index, both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export interface Replacement {
  readonly part: number;
  readonly inner?: number;
  readonly text: string;
}

/** Messages that are not there, and what stands in their place. */
export interface Gap extends Range {
  readonly text: string;
  readonly edit: Edit;
}

/** An answer in more words than the client knows of. */
export interface Expansion extends Range {
  /** Numbers in the log. */
  readonly inner: readonly number[];
  readonly edit: number;
  /** Its client has something between its pieces: they stay, and what was looked up goes before them. */
  readonly isInPieces?: true;
}

export interface View {
  /** The edits that hold, in order. */
  readonly edits: readonly Edit[];
  /** Apart from each other, in the order of the path. */
  readonly gaps: readonly Gap[];
  /** By index of the message; never inside a gap. */
  readonly replacements: ReadonlyMap<number, readonly Replacement[]>;
  /** Texts of ours behind a message, by its index. */
  readonly notes: ReadonlyMap<number, readonly string[]>;
  readonly pins: readonly Pin[];
  /** What is told of the client's tools, where some are held back. */
  readonly tools?: ToolSelection;
  /** What the model was told last of tools that are held back, also when none is any more: it may have searched for them. */
  readonly searchNote?: string;
  /** Apart from each other, never inside a gap. */
  readonly expansions: readonly Expansion[];
  /** Answers that stand in the client's words again, although the model said more: what was bound to that goes. */
  readonly contractions: readonly Expansion[];
}

/** By hand it holds whatever comes; what an undo pinned gives way before a turn would be the last. */
export interface Pin extends Range {
  readonly isByHand: boolean;
}

/** Where a chain stands on a path; undefined when the path does not pass through it. */
export interface IndexOf {
  (chain: string): number | undefined;
  /** Whether edits that were made on a branch hold here. Absent: on every branch. */
  readonly isOwn?: (branch: string) => boolean;
  /** An answer from its first to its last message, where its client sends it back in another place. */
  readonly piecesOf?: (first: string, last: string) => Pieces | undefined;
}

/** From the first piece of an answer to the last. */
export interface Pieces extends Range {
  /** All of it is there, and nothing else. */
  readonly isWhole: boolean;
}

/** What a model looked up belongs to its answer, wherever that stands. */
function holdsOn(indexOf: IndexOf, edit: Edit): boolean {
  const { action } = edit;
  return action.kind === "expand"
    ? answerAt(action, indexOf) !== undefined
    : isAnchoredOn(indexOf, edit);
}

/** Whether an edit was made for this path: on it, and on its branch or one that this came from. */
export function isAnchoredOn(indexOf: IndexOf, { anchor, branch, action }: Edit): boolean {
  const isOwn = action.kind === "expand" || indexOf.isOwn?.(branch) !== false;
  return isOwn && indexOf(anchor) !== undefined;
}

type Expand = Extract<EditAction, { readonly kind: "expand" }>;

function answerAt(action: Expand, indexOf: IndexOf): Pieces | undefined {
  const range = rangeOf(action, indexOf);
  return range === undefined
    ? indexOf.piecesOf?.(action.first, action.last)
    : { ...range, isWhole: true };
}

export const wholeView: View = {
  edits: [],
  gaps: [],
  replacements: new Map(),
  notes: new Map(),
  pins: [],
  expansions: [],
  contractions: [],
};

/** Edits that hold on a path: anchored on it, and not reverted. A revert can be reverted in its turn. */
export function activeEdits(indexOf: IndexOf, edits: readonly Edit[]): readonly Edit[] {
  const here = edits
    .filter((edit) => holdsOn(indexOf, edit))
    .toSorted((left, right) => left.seq - right.seq);
  const reverted = revertedIn(here);
  return here.filter(
    ({ seq, action }) =>
      action.kind !== "revert" && action.kind !== "restore" && !reverted.has(seq),
  );
}

/**
 * Numbers of the edits that no longer hold. From the newest back: whether a revert or a restore holds is decided by
 * those after it.
 */
export function revertedIn(edits: readonly Edit[]): ReadonlySet<number> {
  const reverted = new Set<number>();
  let restoredTo = Number.POSITIVE_INFINITY;
  for (const { seq, action } of edits.toReversed()) {
    // What the model said and was told is no choice of ours: it stays said.
    if (seq > restoredTo) {
      if (action.kind !== "expand") reverted.add(seq);
    } else restoredTo = Number.POSITIVE_INFINITY;
    if (reverted.has(seq)) continue;
    if (action.kind === "revert") reverted.add(action.edit);
    if (action.kind === "restore") restoredTo = action.to;
  }
  return reverted;
}

/**
 * Numbers of the edits without which the view is as it was after edit `to`. What takes back an edit that was made since may
 * stay. Where a restore goes, others come back that it had taken back: they go, too.
 */
export function madeSince(edits: readonly Edit[], to: number): readonly number[] {
  const gone = new Set<number>();
  const lookups = new Set(
    edits.flatMap(({ seq, action }) => (action.kind === "expand" ? seq : [])),
  );
  const isOfThen = ({ seq, action }: Edit): boolean =>
    seq <= to ||
    lookups.has(seq) ||
    (action.kind === "revert" && action.edit > to && !lookups.has(action.edit));
  for (;;) {
    const rest = edits.filter(({ seq }) => !gone.has(seq));
    const reverted = revertedIn(rest);
    const more = rest.filter((edit) => !isOfThen(edit) && !reverted.has(edit.seq));
    if (more.length === 0) return [...gone];
    for (const { seq } of more) gone.add(seq);
  }
}

/** Without what the model looked up: that changes nothing of what it was told. */
export function countOfEdits({ edits }: Pick<View, "edits">): number {
  return edits.filter(({ action }) => action.kind !== "expand").length;
}

/** What the model has looked up was said, and is no choice of ours: it makes no other view. */
export function markOf(view: Pick<View, "edits">): ViewMark {
  const last = view.edits.findLast(({ action }) => action.kind !== "expand")?.seq ?? 0;
  return { edits: countOfEdits(view), last };
}

export function foldView(indexOf: IndexOf, edits: readonly Edit[]): View {
  const active = activeEdits(indexOf, edits);
  const expanding = edits.filter((edit) => edit.action.kind === "expand" && holdsOn(indexOf, edit));
  if (active.length === 0 && expanding.length === 0) return wholeView;
  const gaps = gapsOf(active, indexOf);
  /** What was said about a place that is gone is gone with it. */
  const visibleIndexOf = (chain: string) => {
    const index = indexOf(chain);
    return index === undefined || isInside(gaps, index) ? undefined : index;
  };
  return {
    edits: active,
    gaps,
    replacements: replacementsOf(active, visibleIndexOf),
    notes: notesOf(active, visibleIndexOf),
    pins: active.flatMap(({ action, strategy }) => {
      const range = action.kind === "pin" ? rangeOf(action, indexOf) : undefined;
      return range === undefined ? [] : [{ ...range, isByHand: strategy === "pin" }];
    }),
    ...toolSelectionIn(active),
    ...notedIn(edits.filter((edit) => isAnchoredOn(indexOf, edit))),
    ...expansionsOf(active, expanding, { indexOf, gaps }),
  };
}

function notedIn(here: readonly Edit[]): Pick<View, "searchNote"> {
  const action = here.findLast((edit) => edit.action.kind === "tools")?.action;
  return action?.kind === "tools" ? { searchNote: action.note } : {};
}

/** Of several the last. */
function toolSelectionIn(active: readonly Edit[]): Pick<View, "tools"> {
  const action = active.findLast((edit) => edit.action.kind === "tools")?.action;
  if (action?.kind !== "tools") return {};
  const { kept, loaded, note } = action;
  return { tools: { kept, loaded, note } };
}

/** One for each answer: a request that was sent twice may have been answered in the same words. */
function expansionsOf(
  active: readonly Edit[],
  expanding: readonly Edit[],
  place: { readonly indexOf: IndexOf; readonly gaps: readonly Gap[] },
): Pick<View, "expansions" | "contractions"> {
  const byPlace = new Map<number, Expansion & { readonly isActive: boolean }>();
  for (const edit of expanding) {
    const expansion = expansionOf(edit, place);
    if (expansion === undefined) continue;
    const isActive = active.includes(edit);
    const known = byPlace.get(expansion.first);
    if (known === undefined || (isActive && !known.isActive))
      byPlace.set(expansion.first, { ...expansion, isActive });
  }
  const all = [...byPlace.values()];
  const apart = all.filter(
    (one) => !all.some((other) => other.first < one.first && one.first <= other.last),
  );
  return {
    expansions: apart.filter(({ isActive }) => isActive),
    contractions: apart.filter(({ isActive }) => !isActive),
  };
}

function expansionOf(
  { seq, action }: Edit,
  { indexOf, gaps }: { readonly indexOf: IndexOf; readonly gaps: readonly Gap[] },
): Expansion | undefined {
  const place = action.kind === "expand" ? answerAt(action, indexOf) : undefined;
  if (action.kind !== "expand" || place === undefined) return undefined;
  const { first, last, isWhole } = place;
  if (isInside(gaps, first) || isInside(gaps, last)) return undefined;
  const pieces = isWhole ? {} : { isInPieces: true as const };
  return { first, last, ...pieces, inner: action.inner, edit: seq };
}

/** Of two on one part the later holds. */
function replacementsOf(active: readonly Edit[], visibleIndexOf: IndexOf): View["replacements"] {
  const byPlace = new Map<string, Replacement & { readonly index: number }>();
  for (const { action } of active) {
    const index = action.kind === "replace" ? visibleIndexOf(action.chain) : undefined;
    if (action.kind !== "replace" || index === undefined) continue;
    const { part, inner, text } = action;
    const place = { part, ...(inner === undefined ? {} : { inner }) };
    byPlace.set(`${index}.${part}.${inner ?? ""}`, { ...place, text, index });
  }
  const replacements = new Map<number, Replacement[]>();
  for (const { index, ...replacement } of byPlace.values())
    replacements.set(index, [...(replacements.get(index) ?? []), replacement]);
  return replacements;
}

function notesOf(active: readonly Edit[], visibleIndexOf: IndexOf): View["notes"] {
  const notes = new Map<number, string[]>();
  for (const { action } of active) {
    const index = action.kind === "insert" ? visibleIndexOf(action.after) : undefined;
    if (action.kind === "insert" && index !== undefined)
      notes.set(index, [...(notes.get(index) ?? []), action.text]);
  }
  return notes;
}

/** A later range swallows the earlier ones that it touches: what they had put there is inside it now. */
function gapsOf(active: readonly Edit[], indexOf: IndexOf): readonly Gap[] {
  let gaps: Gap[] = [];
  for (const edit of active) {
    const { action } = edit;
    if (action.kind !== "remove" && action.kind !== "fold") continue;
    const range = rangeOf(action, indexOf);
    if (range === undefined) continue;
    const touched = gaps.filter((gap) => gap.first <= range.last && range.first <= gap.last);
    const first = Math.min(range.first, ...touched.map((gap) => gap.first));
    const last = Math.max(range.last, ...touched.map((gap) => gap.last));
    gaps = [
      ...gaps.filter((gap) => !touched.includes(gap)),
      { first, last, text: action.text, edit },
    ];
  }
  return gaps.toSorted((left, right) => left.first - right.first);
}

function rangeOf(
  action: Extract<EditAction, { first: string }>,
  indexOf: IndexOf,
): Range | undefined {
  const first = indexOf(action.first);
  const last = indexOf(action.last);
  return first === undefined || last === undefined || first > last ? undefined : { first, last };
}

export function isInside(ranges: readonly Range[], index: number): boolean {
  return ranges.some(({ first, last }) => first <= index && index <= last);
}
