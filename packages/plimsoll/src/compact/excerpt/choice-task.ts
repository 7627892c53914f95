/** What there is to choose from: units, their texts, the pieces of these texts, and the weight of every mention. */

import type { TextPieces } from "./text-pieces.ts";

/** One text of a unit. */
export interface Slot {
  readonly unit: number;
  readonly textPieces: TextPieces;
  /** The mentions of each piece, by number. */
  readonly mentions: readonly (readonly number[])[];
  /** True for a text that is kept whole if its unit is kept: a short text, or a call that must stay as it is. */
  readonly isExact: boolean;
  /** Factor for the weights of the mentions in this text: above 1 for the agent's words, below 1 for a text that is out of date. */
  readonly worth: number;
  /** Where pieces may be left out. "middle": only between a beginning and an end that stay. */
  readonly mayLose: "anything" | "middle";
  /** The pieces that stay if the unit stays, so that no result is only a mark and no argument loses its beginning. */
  readonly least: readonly number[];
}

export interface ChoiceUnit {
  /** Tokens of the unit without its texts. They are spent as soon as any piece of the unit is kept. */
  readonly frameTokens: number;
  readonly slots: readonly number[];
  /** If the unit is an exchange that may go even if it is the newest one: the tokens of its calls, cut as far as possible. */
  readonly callTokens?: number;
  /** If the unit is a request of the user: the pieces of the agent's closing words that are kept with it. */
  readonly outcome?: readonly PieceName[];
}

/** A piece by the numbers of its slot and of the piece in this slot. */
export type PieceName = readonly [slot: number, piece: number];

export interface ChoiceTask {
  readonly units: readonly ChoiceUnit[];
  readonly slots: readonly Slot[];
  /** The weight of each mention, by the number of the mention. */
  readonly weights: Float64Array;
  /** Tokens of the mark for a run of messages that is left out. A unit between two such runs pays for one more. */
  readonly gapTokens: number;
  /** An exchange whose calls take more tokens than this, even if everything that may be cut is cut, cannot stay. */
  readonly largestCalls: number;
}
