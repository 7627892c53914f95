/**
 * The view of a path: the conversation as the model sees it, after all active edits. `foldView` below is the algorithm. A view
 * lists only the differences from the log, so its cost depends on the number of edits and not on the length of the conversation.
 */

import type { Edit, EditAction, ToolSelection } from "../../message/edit.ts";
import type { ViewMark } from "./memory.ts";

/** A range of the path by index, both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export interface Replacement {
  readonly part: number;
  readonly inner?: number;
  readonly text: string;
}

/** A range of messages that are missing from the view, and the text that replaces them. */
export interface Gap extends Range {
  readonly text: string;
  readonly edit: Edit;
}

/** An answer as the model gave it, with the inner rounds that the client does not see. */
export interface Expansion extends Range {
  /** Log numbers of the messages that are shown in place of the answer. */
  readonly inner: readonly number[];
  readonly edit: number;
  /** Set if the client sends the answer in pieces. The pieces stay as they are, and the inner rounds are shown before them. */
  readonly isInPieces?: true;
}

export interface View {
  /** The active edits, ordered by number. */
  readonly edits: readonly Edit[];
  /** Gaps do not overlap, and are in the order of the path. */
  readonly gaps: readonly Gap[];
  /** Replaced parts, by index of the message. A message inside a gap has none. */
  readonly replacements: ReadonlyMap<number, readonly Replacement[]>;
  /** Texts that Plimsoll adds after a message, by the index of the message. */
  readonly notes: ReadonlyMap<number, readonly string[]>;
  readonly pins: readonly Pin[];
  /** The client's tools that the model sees, if some are deferred. */
  readonly tools?: ToolSelection;
  /**
   * The last note about deferred tools that the model was given. It stays even if no tool is deferred any more, because the model
   * may have searched for them.
   */
  readonly searchNote?: string;
  /** Expansions do not overlap, and never begin or end inside a gap. */
  readonly expansions: readonly Expansion[];
  /** Answers whose lookups were reverted. They are shown as the client sends them, without parts that belong to a lookup. */
  readonly contractions: readonly Expansion[];
}

/**
 * A pinned range. A pin that a person set always applies. A pin that an undo made is ignored if it would make this turn the final
 * turn.
 */
export interface Pin extends Range {
  readonly isByHand: boolean;
}

/** Finds the index of a chain on a path. Returns undefined if the chain is not on the path. */
export interface IndexOf {
  (chain: string): number | undefined;
  /** Whether edits of the given branch are active on this path. If absent, edits of all branches are active. */
  readonly isOwn?: (branch: string) => boolean;
  /** Finds an answer, given its first and last message, that its client sends back in another place. */
  readonly piecesOf?: (first: string, last: string) => Pieces | undefined;
}

/** The range from the first piece of an answer to the last. */
export interface Pieces extends Range {
  /** Whether the range contains the whole answer and nothing else. */
  readonly isWhole: boolean;
}

/** Whether an edit applies to a path. A lookup belongs to its answer, so it applies wherever the answer is. */
function holdsOn(indexOf: IndexOf, edit: Edit): boolean {
  const { action } = edit;
  return action.kind === "expand"
    ? answerAt(action, indexOf) !== undefined
    : isAnchoredOn(indexOf, edit);
}

/**
 * Whether an edit was made for this path. The edit's anchor must be on the path, and the edit must come from this branch or from
 * a branch that this branch came from.
 */
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

/** The active edits of a path, ordered by number: those made for this path and not reverted. A revert can be reverted itself. */
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
 * Numbers of the reverted edits. Goes from the newest edit to the oldest, because a later edit may revert a revert or a restore.
 */
export function revertedIn(edits: readonly Edit[]): ReadonlySet<number> {
  const reverted = new Set<number>();
  let restoredTo = Number.POSITIVE_INFINITY;
  for (const { seq, action } of edits.toReversed()) {
    // Lookups stay, because they are part of the conversation and not a decision of Plimsoll.
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
 * Numbers of the edits to revert so that the view becomes what it was after edit `to`. A revert may stay if the edit that it
 * cancels is later than `to`. If a restore is reverted, the edits that it cancelled become active again, so those that are later
 * than `to` must be reverted too.
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

/** Number of active edits. Lookups do not count, because they are part of the conversation. */
export function countOfEdits(view: Pick<View, "edits">): number {
  return markOf(view).edits;
}

/**
 * Identifies a view by its edits. Lookups are ignored, because they are part of the conversation and not a decision of Plimsoll.
 */
export function markOf({ edits }: Pick<View, "edits">): ViewMark {
  const known = marks.get(edits);
  if (known !== undefined) return known;
  const own = edits.filter(({ action }) => action.kind !== "expand");
  const mark = { edits: own.length, last: own.at(-1)?.seq ?? 0 };
  marks.set(edits, mark);
  return mark;
}

/** Lists of edits never change, so each is looked through once. */
const marks = new WeakMap<readonly Edit[], ViewMark>();

/**
 * Folds the edits of a session into the view of one path.
 *
 * First it selects the edits that were made for this path. The path must contain the edit's anchor, and the edit must come from
 * this branch or from one that this branch came from. A lookup (`expand`) is selected wherever its answer is on the path.
 * Then it drops reverted edits, from the newest to the oldest. A revert cancels one edit. A restore cancels every edit between
 * `to` and itself, except lookups. A later revert or restore can cancel an earlier revert or restore.
 * It applies the remaining edits in the order of their numbers, not of their times:
 * - `remove` and `fold` make gaps. If a later gap overlaps earlier gaps, they become one gap, and the later text is shown.
 * - `replace`: for the same part of a message, the later edit wins. `insert`: all notes after a message are shown, in order.
 * - `tools`: the last edit wins. `pin`: every pin counts. `expand`: for the same answer, the first edit wins.
 * A gap hides the replacements, notes and lookups of the messages inside it, even newer ones.
 *
 * Invariant: gaps do not overlap, and no other edit is shown inside a gap. The log does not change. The same path and the same
 * edits always give the same view, and a path without edits gives the messages of the log.
 */
export function foldView(indexOf: IndexOf, edits: readonly Edit[]): View {
  const active = activeEdits(indexOf, edits);
  const expanding = edits.filter((edit) => edit.action.kind === "expand" && holdsOn(indexOf, edit));
  if (active.length === 0 && expanding.length === 0) return wholeView;
  const gaps = gapsOf(active, indexOf);
  /** Edits of a message inside a gap are not visible, because the message is not visible. */
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

/** If several edits select tools, the last one wins. */
function toolSelectionIn(active: readonly Edit[]): Pick<View, "tools"> {
  const action = active.findLast((edit) => edit.action.kind === "tools")?.action;
  if (action?.kind !== "tools") return {};
  const { kept, loaded, note } = action;
  return { tools: { kept, loaded, note } };
}

/**
 * The expansions and contractions of the view, at most one per answer. A request that was sent twice may have got the same answer
 * twice.
 */
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

/** Of two replacements of the same part, the later one wins. */
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

/** The gaps of the view. If a later range overlaps earlier gaps, they become one gap with the later text. */
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
