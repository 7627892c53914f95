/** Coherence: whether a reader can understand the remaining text from the text before it. */

import { mentionsIn } from "../../search/mentions.ts";
import { termsOf } from "../../search/words.ts";

/** A unit as it is in the original, or as the view shows it. */
export interface VisibleText {
  /** Position of the unit in the original. A summary or a handle has the position of the first unit that it replaces. */
  readonly number: number;
  readonly text: string;
  readonly kind: "kept" | "summary" | "handle";
}

/** Worth of an earlier mention. It is 1 in a kept unit or a summary, and ½ if the mention is only next to a handle. */
const worth: Readonly<Record<VisibleText["kind"], number>> = { kept: 1, summary: 1, handle: 0.5 };

/**
 * A reference is a mention in a kept unit of something that the original mentioned earlier. The earlier mention is its
 * antecedent. The score is the share of references whose antecedent comes before them in the view. If a kept antecedent comes
 * after the reference, the order is lost and the reference does not count. A view without the newest unit of the original scores
 * 0; a view without references scores 1. If the conversation never repeats a mention, plain words are compared instead.
 */
export function coherenceOf(
  original: readonly VisibleText[],
  view: readonly VisibleText[],
): number {
  const newest = original.reduce((last, { number }) => Math.max(last, number), -1);
  const hasNewest = view.some(
    ({ kind, number, text }) => kind === "kept" && number === newest && text.trim() !== "",
  );
  if (!hasNewest) return original.length === 0 ? 1 : 0;
  const byAtoms = scoreOf(original, view, (text) => [...mentionsIn(text).keys()]);
  return byAtoms ?? scoreOf(original, view, (text) => [...new Set(termsOf(text))]) ?? 1;
}

type Mentions = (text: string) => readonly string[];

/** Returns undefined if the original has no references. */
function scoreOf(
  original: readonly VisibleText[],
  view: readonly VisibleText[],
  mentionsOf: Mentions,
): number | undefined {
  const first = firstMentions(original, mentionsOf);
  if (first.isEmpty) return undefined;
  const visible = placesIn(view, mentionsOf);
  let references = 0;
  let found = 0;
  for (const [place, { kind, number, text }] of view.entries()) {
    if (kind !== "kept") continue;
    for (const atom of mentionsOf(text)) {
      if ((first.of.get(atom) ?? number) >= number) continue;
      references++;
      found += antecedentWorth(visible.get(atom) ?? [], place, number);
    }
  }
  return references === 0 ? 1 : found / references;
}

function firstMentions(
  original: readonly VisibleText[],
  mentionsOf: Mentions,
): { readonly of: ReadonlyMap<string, number>; readonly isEmpty: boolean } {
  const of = new Map<string, number>();
  let isEmpty = true;
  for (const { number, text } of original.toSorted((one, other) => one.number - other.number)) {
    for (const atom of mentionsOf(text)) {
      const known = of.get(atom);
      if (known === undefined) of.set(atom, number);
      else if (known < number) isEmpty = false;
    }
  }
  return { of, isEmpty };
}

interface VisibleMention {
  readonly place: number;
  readonly number: number;
  readonly kind: VisibleText["kind"];
}

function placesIn(
  view: readonly VisibleText[],
  mentionsOf: Mentions,
): ReadonlyMap<string, VisibleMention[]> {
  const places = new Map<string, VisibleMention[]>();
  for (const [place, { text, number, kind }] of view.entries()) {
    for (const atom of mentionsOf(text)) {
      const own = places.get(atom) ?? [];
      places.set(atom, own);
      own.push({ place, number, kind });
    }
  }
  return places;
}

function antecedentWorth(
  visible: readonly VisibleMention[],
  place: number,
  number: number,
): number {
  let best = 0;
  for (const one of visible) {
    const isAntecedent = one.kind === "kept" ? one.number < number : true;
    if (!isAntecedent) continue;
    if (one.place < place) best = Math.max(best, worth[one.kind]);
    else if (one.kind === "kept") return 0;
  }
  return best;
}
