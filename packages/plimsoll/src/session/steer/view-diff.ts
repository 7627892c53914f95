/** Compares two views of one conversation, as the model saw it at two points. */

import type { JsonValue } from "../../message/json.ts";
import { indexOn, type Path } from "../log/path.ts";
import { foldView } from "../log/view.ts";
import { readableView, type SteerContext, type StoredPlace } from "./draft-from-store.ts";

/** `before` and `after` are indexes in the two views. */
export type DiffRow =
  | { readonly kind: "same"; readonly before: number; readonly after: number }
  | {
      readonly kind: "changed";
      readonly before: number;
      readonly after: number;
      readonly was: JsonValue;
      readonly is: JsonValue;
    }
  | { readonly kind: "removed"; readonly before: number; readonly was: JsonValue }
  | { readonly kind: "added"; readonly after: number; readonly is: JsonValue };

export interface ComparedView {
  /** Number of the last edit in this view. */
  readonly seq: number;
  /** Tokens of the whole window, as the provider counts them. */
  readonly tokens: number;
  readonly messages: number;
}

export interface ViewDiff {
  readonly branch: string;
  readonly from: ComparedView;
  readonly to: ComparedView;
  readonly rows: readonly DiffRow[];
}

/** Both views contain all messages that exist now, so only the edits differ. */
export async function diffViews(
  context: SteerContext,
  place: StoredPlace & { readonly path: Path },
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ViewDiff> {
  const [before, after] = [await seenAt(context, place, from), await seenAt(context, place, to)];
  const { id: branch } = place.branch.record;
  const pointOf = async (seq: number, { messages }: typeof before): Promise<ComparedView> => {
    const { tokens } = await context.picture(place.log.record.id, { branch, at: { seq } });
    return { seq, tokens, messages: messages.length };
  };
  return {
    branch,
    from: await pointOf(from, before),
    to: await pointOf(to, after),
    rows: diffRows(before.messages, after.messages),
  };
}

function seenAt(
  context: SteerContext,
  place: StoredPlace & { readonly path: Path },
  seq: number,
): ReturnType<typeof readableView> {
  const { log, path } = place;
  const edits = log.edits.filter((edit) => edit.seq <= seq);
  return readableView(context, { ...place, view: foldView(indexOn(path, log), edits) });
}

/**
 * Views keep the order of the conversation, so equal messages are matched in order. The other messages between two matches are
 * paired one by one, and each pair is a changed message. A message without a partner was removed or added.
 */
export function diffRows(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let [left, right] = [0, 0];
  for (const [one, other] of [...meetings(before, after), [before.length, after.length] as const]) {
    while (left < one && right < other) {
      const [was, is] = [before[left] ?? null, after[right] ?? null];
      rows.push({ kind: "changed", before: left++, after: right++, was, is });
    }
    for (; left < one; left++)
      rows.push({ kind: "removed", before: left, was: before[left] ?? null });
    for (; right < other; right++)
      rows.push({ kind: "added", after: right, is: after[right] ?? null });
    if (one < before.length && other < after.length)
      rows.push({ kind: "same", before: left++, after: right++ });
  }
  return rows;
}

/** Pairs of indexes of equal messages. The indexes increase in both views. */
function meetings(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): readonly (readonly [number, number])[] {
  const places = new Map<string, number[]>();
  for (const [index, message] of after.entries()) {
    const text = JSON.stringify(message);
    places.set(text, [...(places.get(text) ?? []), index]);
  }
  const met: (readonly [number, number])[] = [];
  let next = 0;
  for (const [index, message] of before.entries()) {
    const found = places.get(JSON.stringify(message))?.find((place) => place >= next);
    if (found === undefined) continue;
    met.push([index, found]);
    next = found + 1;
  }
  return met;
}
