/** The view: what of a path the model sees, after all edits that hold. One pure fold over log and edits. */

import type { Edit, EditAction } from "../message/edit.ts";

/** One message of the path that is still there. */
export interface SeenMessage {
  readonly kind: "message";
  readonly index: number;
  /** By index of the neutral part. */
  readonly replacements: ReadonlyMap<number, Replacement>;
}

export interface Replacement {
  readonly text: string;
  readonly edit: number;
}

/** Messages that are not there, and what stands in their place. */
export interface Gap {
  readonly kind: "gap";
  readonly first: number;
  readonly last: number;
  readonly text: string;
  readonly edit: number;
}

/** Text of ours behind a message. */
export interface Note {
  readonly kind: "note";
  readonly after: number;
  readonly text: string;
  readonly edit: number;
}

export type ViewItem = SeenMessage | Gap | Note;

/** Edits that hold on a path: anchored on it, and not reverted. A revert can be reverted in its turn. */
export function activeEdits(path: readonly string[], edits: readonly Edit[]): readonly Edit[] {
  const known = new Set(path);
  const here = edits
    .filter(({ anchor }) => known.has(anchor))
    .toSorted((left, right) => left.seq - right.seq);
  const reverted = new Set<number>();
  // From the newest back: whether a revert holds is decided by those after it.
  for (const { seq, action } of here.toReversed()) {
    if (action.kind === "revert" && !reverted.has(seq)) reverted.add(action.edit);
  }
  return here.filter(({ seq, action }) => action.kind !== "revert" && !reverted.has(seq));
}

/** `path` holds the chains from the root on. Every message is seen, or lies in exactly one gap. */
export function foldView(path: readonly string[], edits: readonly Edit[]): readonly ViewItem[] {
  const indexOf = new Map(path.map((chain, index) => [chain, index]));
  const active = activeEdits(path, edits);
  const gaps = gapsOf(active, indexOf);
  const items: ViewItem[] = [];
  for (let index = 0; index < path.length; index++) {
    const gap = gaps.find(({ first, last }) => first <= index && index <= last);
    if (gap === undefined) {
      items.push({
        kind: "message",
        index,
        replacements: replacementsOf(active, path[index] ?? ""),
      });
    } else if (gap.first === index) {
      items.push(gap);
    }
    if (gap === undefined || gap.last === index)
      items.push(...notesAfter(active, path[index] ?? "", index));
  }
  return items;
}

/** A later range swallows the earlier ones that it touches: what they had put there is inside it now. */
function gapsOf(active: readonly Edit[], indexOf: ReadonlyMap<string, number>): readonly Gap[] {
  let gaps: Gap[] = [];
  for (const { seq, action } of active) {
    if (action.kind !== "remove" && action.kind !== "fold") continue;
    const range = rangeOf(action, indexOf);
    if (range === undefined) continue;
    const touched = gaps.filter((gap) => gap.first <= range.last && range.first <= gap.last);
    const first = Math.min(range.first, ...touched.map((gap) => gap.first));
    const last = Math.max(range.last, ...touched.map((gap) => gap.last));
    gaps = [
      ...gaps.filter((gap) => !touched.includes(gap)),
      { kind: "gap", first, last, text: action.text, edit: seq },
    ];
  }
  return gaps;
}

function rangeOf(
  action: Extract<EditAction, { kind: "remove" | "fold" }>,
  indexOf: ReadonlyMap<string, number>,
): { readonly first: number; readonly last: number } | undefined {
  const first = indexOf.get(action.first);
  const last = indexOf.get(action.last);
  return first === undefined || last === undefined || first > last ? undefined : { first, last };
}

function replacementsOf(active: readonly Edit[], chain: string): ReadonlyMap<number, Replacement> {
  const replacements = new Map<number, Replacement>();
  for (const { seq, action } of active) {
    if (action.kind === "replace" && action.chain === chain)
      replacements.set(action.part, { text: action.text, edit: seq });
  }
  return replacements;
}

function notesAfter(active: readonly Edit[], chain: string, index: number): readonly Note[] {
  return active.flatMap(({ seq, action }) =>
    action.kind === "insert" && action.after === chain
      ? [{ kind: "note", after: index, text: action.text, edit: seq } as const]
      : [],
  );
}
