/** The pieces that stay of a text whenever its message stays, so that no message is only a mark. */

import { isErrorLine } from "../../text/trouble.ts";
import type { Piece } from "./json-pieces.ts";
import type { PlacedText } from "./placed-text.ts";
import { isBlank } from "./text-pieces.ts";

/** At least this many characters stay of the beginning of an argument. */
const argumentStart = 40;
/** At least this many characters of the user's words stay. */
const userStart = 240;
/** A line that is in so many results is part of the frame that a tool puts around its output, and says nothing. */
const manyResults = 3;
/** Makes a short piece a little less attractive, because a few tokens more often say much more. */
const fixedCost = 8;

export interface LeastReading {
  readonly mentions: readonly (readonly number[])[];
  readonly weights: Float64Array;
  /** In a conversation without tools, all messages are somebody's words, and those of the user are worth no more. */
  readonly isTalk: boolean;
  /** Lines that say nothing, because many results have them. */
  readonly repeated: ReadonlySet<string>;
  /** Tokens of the whole excerpt. What stays of one text must be small beside it. */
  readonly roomTokens: number;
}

export function leastPieces(
  { isExact, voice, place, textPieces }: PlacedText,
  reading: LeastReading,
): readonly number[] {
  const { pieces } = textPieces;
  if (isExact) return [];
  if (place.argument !== undefined) return beginningOf(pieces, argumentStart);
  if (voice === "user" && !reading.isTalk) return beginningOf(pieces, userStart);
  if (voice === "agent" && !reading.isTalk) return endsOf(pieces, reading.roomTokens);
  return voice === "result" ? bestOf(pieces, reading) : [];
}

/** Every line that is in at least three results. */
export function repeatedLines(texts: readonly PlacedText[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { voice, textPieces } of texts) {
    if (voice !== "result" || textPieces.json !== undefined) continue;
    const lines = new Set(textPieces.pieces.map(({ text }) => text.trim()));
    for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return new Set([...counts].flatMap(([line, count]) => (count >= manyResults ? [line] : [])));
}

function beginningOf(pieces: readonly Piece[], least: number): readonly number[] {
  let characters = 0;
  const found: number[] = [];
  for (const [index, { text }] of pieces.entries()) {
    if (characters >= least) break;
    found.push(index);
    characters += text.length + 1;
  }
  return found;
}

/** The agent's words and the piece of a result stay only up to these sizes, unless more of them is worth it. */
const agentWords = { tokens: 60, ofRoom: 0.15 };
const largestPiece = 0.3;

/** The first and the last sentence: what the agent understood, and what it did next. */
function endsOf(pieces: readonly Piece[], roomTokens: number): readonly number[] {
  const telling = [...pieces.keys()].filter((index) =>
    /[\p{L}\p{N}]/u.test(pieces[index]?.text ?? ""),
  );
  const ends = [...new Set([telling[0], telling.at(-1)])].flatMap((index) => index ?? []);
  let left = Math.min(agentWords.tokens, roomTokens * agentWords.ofRoom);
  return ends.filter((index) => {
    left -= pieces[index]?.tokens ?? 0;
    return left >= 0;
  });
}

/**
 * The last error that the result reports, as at the end of a traceback. Otherwise the piece that is worth most for its size. With a
 * neighbour if it needs one, and with the pieces that identify it.
 */
function bestOf(pieces: readonly Piece[], reading: LeastReading): readonly number[] {
  const telling = tellingPieces(pieces, reading);
  const error = telling.findLast((index) => isErrorLine(pieces[index]?.text ?? ""));
  const best = error ?? worthiest(pieces, telling, reading);
  if (best === undefined)
    return [...pieces.keys()].filter((index) => !isBlank(pieces[index] as Piece)).slice(0, 2);
  const wanted = pieces[best];
  if (wanted?.needsNeighbour !== true) return [best, ...(wanted?.company ?? [])];
  const neighbour = [best + 1, best - 1].find((index) => isTelling(pieces[index], reading));
  return neighbour === undefined ? [best] : [best, neighbour];
}

/** The pieces that say something and are small beside the room, if there are any. */
function tellingPieces(pieces: readonly Piece[], reading: LeastReading): readonly number[] {
  const telling = [...pieces.keys()].filter((index) => isTelling(pieces[index], reading));
  const most = reading.roomTokens * largestPiece;
  const small = telling.filter((index) => (pieces[index]?.tokens ?? 0) <= most);
  return small.length > 0 ? small : telling;
}

function isTelling(piece: Piece | undefined, { repeated }: LeastReading): boolean {
  return (
    piece !== undefined && /[\p{L}\p{N}]/u.test(piece.text) && !repeated.has(piece.text.trim())
  );
}

function worthiest(
  pieces: readonly Piece[],
  telling: readonly number[],
  { mentions, weights }: LeastReading,
): number | undefined {
  const gainOf = (index: number): number =>
    (mentions[index] ?? []).reduce((sum, atom) => sum + (weights[atom] ?? 0), 0);
  const worthOf = (index: number): number =>
    gainOf(index) / ((pieces[index]?.tokens ?? 0) + fixedCost);
  let best = telling[0];
  for (const index of telling) if (worthOf(index) > worthOf(best ?? index)) best = index;
  return best;
}

/** Number of distinct words of the closing words that are enough to know what came of a request. */
const outcomeWords = 22;
const wordPattern = /[\p{L}\p{N}]+/gu;

/** The first and the last sentence of the agent's closing words, and more of them if these are short. */
export function outcomePieces(pieces: readonly Piece[]): readonly number[] {
  const telling = [...pieces.keys()].filter((index) =>
    /[\p{L}\p{N}]/u.test(pieces[index]?.text ?? ""),
  );
  const order = [...new Set([telling[0], telling.at(-1), ...telling])];
  const words = new Set<string>();
  const found: number[] = [];
  for (const index of order) {
    if (index === undefined || (found.length > 1 && words.size >= outcomeWords)) break;
    found.push(index);
    for (const [word] of (pieces[index]?.text ?? "").toLowerCase().matchAll(wordPattern))
      if (word.length > 2) words.add(word);
  }
  return found;
}
