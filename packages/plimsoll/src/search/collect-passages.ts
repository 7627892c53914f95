/** Collects passages until a token budget is used up, and merges neighbouring passages into one. */

import { partOfText, tidy } from "./part-of-text.ts";

/** A range of characters in one of the texts. */
export interface Place {
  readonly message: number;
  readonly start: number;
  readonly end: number;
}

/** Neighbouring places that were taken, and the text from the first of these places to the last. */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly message: number;
  readonly text: string;
  /** Number of characters that are left out because the passage does not fit into the budget. */
  readonly missingChars?: number;
}

export interface CollectorParts {
  readonly texts: readonly string[];
  readonly places: readonly Place[];
  readonly budgetTokens: number;
  readonly countTokens: (text: string) => number;
}

export interface PassageCollector {
  take(place: number): "taken" | "no room" | "full";
  /**
   * The collected passages, in the order of their places. Contract: their texts, plus 4 tokens for each passage, never cost more
   * than the budget.
   */
  runs(): readonly Run[];
}

/** Tokens that each passage costs in addition to its text. */
export const passageTokens = 4;
/** Two joined texts may cost one token more than the same texts counted separately. */
const joinTokens = 1;
/** The collector is full when fewer tokens than this are left, because not even one line would fit. */
const leastRoom = 12;
/**
 * The collector stops after this many passages in a row that did not fit. Trying every passage would take longer than the unused
 * budget is worth.
 */
const missesMax = 50;
/** Maximum number of characters per token. No text of reasonable length has more characters per token. */
const tokenCharsMax = 12;

interface Span {
  readonly from: number;
  readonly to: number;
}

export function createPassageCollector(parts: CollectorParts): PassageCollector {
  const { places, budgetTokens, countTokens } = parts;
  const spans = new Map<number, Span>();
  const spanAtEnd = new Map<number, Span>();
  let room = budgetTokens;
  let misses = 0;

  const neighbour = (place: number, step: 1 | -1): Span | undefined =>
    places[place + step]?.message === places[place]?.message
      ? spanAtEnd.get(place + step)
      : undefined;

  /** Counts only the text that is added to a run, so that a long run is not counted again with every new piece. */
  const costOf = (place: number, left: Span | undefined, right: Span | undefined): number => {
    const here = places[place];
    const start = left === undefined ? here?.start : places[left.to]?.end;
    const end = right === undefined ? here?.end : places[right.from]?.start;
    const joins = (left === undefined ? 0 : 1) + (right === undefined ? 0 : 1);
    const tokens = countTokens(sourceOf(parts, place).slice(start, end));
    return tokens + passageTokens + joins * (joinTokens - passageTokens);
  };

  const take = (place: number): "taken" | "no room" => {
    const here = places[place];
    if (here === undefined || (here.end - here.start) / tokenCharsMax > room) return "no room";
    const [left, right] = [neighbour(place, -1), neighbour(place, 1)];
    const cost = costOf(place, left, right);
    if (cost > room) return "no room";
    room -= cost;
    if (right !== undefined) spans.delete(right.from);
    const span = { from: left?.from ?? place, to: right?.to ?? place };
    // The map keeps the order in which runs were started, so the best run comes first.
    spans.set(span.from, span);
    spanAtEnd.set(span.from, span);
    spanAtEnd.set(span.to, span);
    return "taken";
  };

  return {
    take: (place) => {
      const outcome = take(place);
      misses = outcome === "taken" ? 0 : misses + 1;
      return room < leastRoom || misses >= missesMax ? "full" : outcome;
    },
    runs: () => settle(parts, [...spans.values()]),
  };
}

/** Counts the final texts once more, because until now only their parts were counted. */
function settle(parts: CollectorParts, spans: readonly Span[]): readonly Run[] {
  let room = parts.budgetTokens;
  const runs: Run[] = [];
  for (const { from, to } of spans) {
    const text = tidy(
      sourceOf(parts, from).slice(parts.places[from]?.start, parts.places[to]?.end),
    );
    const cost = parts.countTokens(text) + passageTokens;
    if (cost > room) continue;
    room -= cost;
    runs.push({ from, to, message: parts.places[from]?.message ?? 0, text });
  }
  return runs.sort((a, b) => a.from - b.from);
}

function sourceOf({ texts, places }: CollectorParts, place: number): string {
  return texts[places[place]?.message ?? -1] ?? "";
}

/** A part of a place, as much as fits into the budget, around what is wanted. Undefined if the budget has no room at all. */
export function partOfPlace(
  parts: CollectorParts,
  place: number,
  wantedIn: (part: string) => number,
): Run | undefined {
  const here = parts.places[place];
  if (here === undefined) return undefined;
  const whole = tidy(sourceOf(parts, place).slice(here.start, here.end));
  const text = partOfText(
    whole,
    wantedIn,
    (part) => parts.countTokens(part) + passageTokens <= parts.budgetTokens,
  );
  if (text === undefined) return undefined;
  const missing = whole.length - text.length;
  const missingChars = missing > 0 ? { missingChars: missing } : {};
  return { from: place, to: place, message: here.message, text, ...missingChars };
}
