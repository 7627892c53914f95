/**
 * Cuts a text to a number of tokens by leaving out pieces: lines, sentences, or segments of an overlong line. The pieces that
 * stay are unchanged and in order. A mark in each gap says what is missing.
 *
 * Pieces are chosen by score per token. Whole blocks come before single pieces. If there is room, one neighbour of each chosen
 * piece is kept too. Pieces are not left out if a mark would cost as much as they do.
 */

import type { CutOptions } from "./compressor.ts";
import { type Gap, type Mark, matters, type Piece, redundant } from "./piece.ts";
import { markOfSegments, splitLargePieces } from "./segments.ts";

/**
 * Shortens the text to the requested number of tokens, or as near to it as possible. If whole pieces are too large for that, some
 * of their segments stay. Undefined if the text does not get shorter, or if only marks would stay.
 */
export function cutPieces(
  pieces: readonly Piece[],
  options: CutOptions,
  mark: Mark,
): string | undefined {
  const text = pieces.map((piece) => piece.text).join("");
  const whole = { text, goal: options.count(text) * options.ratio };
  const cut = cutToGoal(pieces, whole, options, mark);
  if (cut !== undefined && !isTooShort(cut, pieces, whole.goal)) return cut.text;
  const segments = splitLargePieces(pieces, {
    goalChars: text.length * options.ratio,
    charTokens: whole.goal / options.ratio / text.length,
  });
  const finer = cutToGoal(segments, whole, options, markOfSegments(segments, mark));
  const found = finer ?? cut;
  return found === undefined || isEmpty(found, segments) ? undefined : found.text;
}

interface Whole {
  readonly text: string;
  /** Tokens that may stay. */
  readonly goal: number;
}

interface Cut {
  readonly text: string;
  readonly tokens: number;
  readonly isKept: (index: number) => boolean;
}

function cutToGoal(
  pieces: readonly Piece[],
  { text, goal }: Whole,
  { count }: CutOptions,
  mark: Mark,
): Cut | undefined {
  const before = count(text);
  const costs = costsOf(pieces, count, before / Math.max(1, text.length));
  const choice = new Choice(pieces, costs, count("… 1,234 lines …\n"));
  let best: Cut | undefined;
  let budget = goal;
  for (let round = 0; round < maxRounds; round++) {
    const kept = choice.choose(budget);
    const isKept = (index: number): boolean => kept[index] === 1;
    const shorter = render(pieces, isKept, mark);
    const tokens = count(shorter);
    if (tokens < (best?.tokens ?? before)) best = { text: shorter, tokens, isKept };
    if (tokens <= goal) break;
    budget *= Math.min(0.9, (0.98 * goal) / tokens);
  }
  return best;
}

/** Below this share of the goal, the pieces were too large to fill it. */
const filledShare = 0.6;

function isTooShort(cut: Cut, pieces: readonly Piece[], goal: number): boolean {
  const leavesOut = (piece: Piece, index: number): boolean =>
    !cut.isKept(index) && piece.score > redundant && /\S/.test(piece.text);
  return (cut.tokens < goal * filledShare || isEmpty(cut, pieces)) && pieces.some(leavesOut);
}

/** True if the pieces say something, and only marks are left of them. */
function isEmpty(cut: Cut, pieces: readonly Piece[]): boolean {
  const isSpoken = ({ text }: Piece): boolean => /\S/.test(text);
  return pieces.some(isSpoken) && !pieces.some((piece, at) => cut.isKept(at) && isSpoken(piece));
}

const maxRounds = 5;
/** If there are more pieces than this, the tokens of each piece are estimated, because counting them would take too long. */
const maxCounted = 50_000;

function costsOf(
  pieces: readonly Piece[],
  count: CutOptions["count"],
  tokensPerCharacter: number,
): Float64Array {
  const costs = new Float64Array(pieces.length);
  const isCounted = pieces.length <= maxCounted;
  for (const [index, { text }] of pieces.entries())
    costs[index] = isCounted ? count(text) : text.length * tokensPerCharacter;
  return costs;
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly density: number;
}

/** Maximum share of the budget for a block that is kept as a whole. A larger block would leave no room for others. */
const maxBlockShare = 0.35;

class Choice {
  readonly #pieces: readonly Piece[];
  readonly #costs: Float64Array;
  readonly #markCost: number;
  readonly #keys: readonly number[];
  readonly #blocks: readonly Range[];
  readonly #order: readonly number[];
  #kept = new Uint8Array(0);
  #used = 0;

  constructor(pieces: readonly Piece[], costs: Float64Array, markCost: number) {
    this.#pieces = pieces;
    this.#costs = costs;
    this.#markCost = markCost;
    const indexes = pieces.map((_, index) => index);
    this.#keys = indexes
      .filter((index) => pieces[index]?.isKey === true)
      .toSorted((one, other) => this.#density(other) - this.#density(one) || one - other);
    this.#blocks = blocksOf(pieces, costs);
    const edge = (index: number): number => Math.min(index, (pieces.length - 1 - index) * 1.5);
    this.#order = indexes.toSorted(
      (one, other) =>
        this.#density(other) - this.#density(one) || edge(one) - edge(other) || one - other,
    );
  }

  choose(budget: number): Uint8Array {
    this.#kept = new Uint8Array(this.#pieces.length);
    this.#used = this.#markCost;
    this.#keepKeys(budget);
    for (const { first, last } of this.#blocks) {
      const isSmall = this.#costOf(first, last) <= budget * maxBlockShare;
      if (isSmall) this.#keep(first, last, budget);
    }
    for (const index of this.#order) {
      if (this.#kept[index] === 1 || (this.#pieces[index]?.score ?? 0) <= redundant) continue;
      const isTaken = this.#keep(index, index, budget);
      if (isTaken && (this.#pieces[index]?.score ?? 0) > 0) this.#keepNeighbour(index, budget);
    }
    this.#closeSmallGaps();
    return this.#kept;
  }

  #keepKeys(budget: number): void {
    for (const index of this.#keys) this.#keep(index, index, budget);
    for (const index of this.#keys) {
      const isKept = this.#kept[index] === 1;
      if (isKept && (this.#pieces[index]?.score ?? 0) >= matters)
        this.#keepNeighbour(index, budget);
    }
  }

  #density(index: number): number {
    const { worth, score } = this.#pieces[index] ?? { score: 0 };
    return worth ?? score / Math.max(1, this.#costs[index] ?? 1);
  }

  #costOf(first: number, last: number): number {
    let cost = 0;
    for (let index = first; index <= last; index++)
      if (this.#kept[index] === 0) cost += this.#costs[index] ?? 0;
    return cost;
  }

  #keep(first: number, last: number, budget: number): boolean {
    let gapsBefore = 0;
    for (let index = first; index <= last; index++)
      if (this.#isGap(index) && !(index > first && this.#isGap(index - 1))) gapsBefore++;
    const gapsAfter = (this.#isGap(first - 1) ? 1 : 0) + (this.#isGap(last + 1) ? 1 : 0);
    const cost = this.#costOf(first, last) + (gapsAfter - gapsBefore) * this.#markCost;
    if (this.#used + cost > budget) return false;
    this.#kept.fill(1, first, last + 1);
    this.#used += cost;
    return true;
  }

  #isGap(index: number): boolean {
    return this.#kept[index] === 0;
  }

  #keepNeighbour(index: number, budget: number): void {
    if (this.#kept[index - 1] === 1 || this.#kept[index + 1] === 1) return;
    const next = index + 1 < this.#pieces.length ? index + 1 : index - 1;
    if (next >= 0) this.#keep(next, next, budget);
  }

  #closeSmallGaps(): void {
    let first = 0;
    while (first < this.#kept.length) {
      if (this.#kept[first] === 1) {
        first++;
        continue;
      }
      let end = first;
      let cost = 0;
      for (; end < this.#kept.length && this.#kept[end] === 0; end++) cost += this.#costs[end] ?? 0;
      if (cost <= this.#markCost) this.#kept.fill(1, first, end);
      first = end;
    }
  }
}

/** Blocks of several pieces with a positive total score, sorted by score per token, highest first. */
function blocksOf(pieces: readonly Piece[], costs: Float64Array): readonly Range[] {
  const blocks: Range[] = [];
  let first = 0;
  while (first < pieces.length) {
    const block = pieces[first]?.block;
    let end = first;
    let score = 0;
    let cost = 0;
    for (; end < pieces.length && pieces[end]?.block === block; end++) {
      score += pieces[end]?.score ?? 0;
      cost += costs[end] ?? 0;
    }
    if (block !== undefined && end - first > 1 && score > 0)
      blocks.push({ first, last: end - 1, density: score / Math.max(1, cost) });
    first = end;
  }
  return blocks.toSorted((one, other) => other.density - one.density || one.first - other.first);
}

function render(pieces: readonly Piece[], isKept: Gap["isKept"], mark: Mark): string {
  const parts: string[] = [];
  for (let index = 0; index < pieces.length; index++) {
    if (isKept(index)) {
      parts.push(pieces[index]?.text ?? "");
      continue;
    }
    const first = index;
    while (index + 1 < pieces.length && !isKept(index + 1)) index++;
    parts.push(mark({ first, last: index, isKept }));
  }
  return parts.join("");
}
