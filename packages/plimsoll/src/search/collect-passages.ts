/** Collects passages within a budget; those that stand side by side become one. */

/** A piece of one text of a list. */
export interface Place {
  readonly message: number;
  readonly start: number;
  readonly end: number;
}

/** Neighbouring places that were taken, with the text from the first to the last. */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly message: number;
  readonly text: string;
}

export interface CollectorParts {
  readonly texts: readonly string[];
  readonly places: readonly Place[];
  readonly budgetTokens: number;
  readonly countTokens: (text: string) => number;
}

export interface PassageCollector {
  take(place: number): "taken" | "no room" | "full";
  /** Contract: they never cost more than the budget, each its tokens and 4 more; in the order of their places. */
  runs(): readonly Run[];
}

/** What a passage costs beside its text. */
export const passageTokens = 4;
/** Two texts together may be a token more than both of them alone. */
const joinTokens = 1;
/** Less room than this holds no line. */
const leastRoom = 12;
/** So many that do not fit, one after the other: the rest is left empty rather than searched through. */
const missesMax = 50;
/** No text of some length has so many characters per token. */
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

  /** A long run is not counted anew with every piece that joins it: only what joins. */
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
    // The order in which they were begun is kept: what is best comes first.
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

/** Counts what is really handed out, once: the sums before were of parts. */
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

/** As much of the beginning of a place as fits into the budget; undefined when not even a word does. */
export function partOfPlace(parts: CollectorParts, place: number): Run | undefined {
  const here = parts.places[place];
  if (here === undefined) return undefined;
  let text = tidy(sourceOf(parts, place).slice(here.start, here.end));
  while (text !== "" && parts.countTokens(text) + passageTokens > parts.budgetTokens) {
    text = shorter(text);
  }
  return text === "" ? undefined : { from: place, to: place, message: here.message, text };
}

/** Without blank lines at its ends; the indentation of its first line stays. */
function tidy(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** About half, up to the end of a word, and never half a character. */
function shorter(text: string): string {
  const half = text.slice(0, Math.floor(text.length / 2));
  const words = half.replace(/\s+\S*$/, "");
  return (words.trim() === "" ? half : words).replace(/[\ud800-\udbff]$/, "").trimEnd();
}
