/** The room of an excerpt, and how much of one text must stay in it. */

import type { Choice } from "./greedy-choice.ts";
import type { PlacedSlot } from "./texts-to-cut.ts";

/**
 * "usual" keeps pieces generously. "modest" keeps no more of the newest exchanges than of other recent ones, and "least" keeps only
 * the minimum. Each is used if the pieces that must stay and the story do not fit with the one before.
 */
export const strictnesses = ["usual", "modest", "least"] as const;
export type Strictness = (typeof strictnesses)[number];

export type StrictRoom = Room & { readonly strictness: Strictness };

export interface Room {
  /** Maximum number of tokens for everything after the head. */
  readonly tokens: number;
  /** Tokens of the whole history, and of the part that the view shows now. */
  readonly historyTokens: number;
  readonly nowTokens: number;
  readonly headLength: number;
}

/** If the excerpt may have fewer tokens than this, the notice and the marks are brief. */
const roomForWords = 600;

export function isBrief({ tokens }: Room): boolean {
  return tokens < roomForWords;
}

/** Only the beginning of a text is kept if the text exceeds one of these limits. */
const oversized = { tokens: 400, ofRoom: 0.2 };
/** Number of characters that are kept of the beginning of an oversized text. */
const beginning = 210;
const charactersPerToken = 5;

export function oversizedTokens({ tokens }: Room): number {
  return tokens * oversized.ofRoom;
}

/**
 * The estimated size of a text may be wrong. If a text is close to the limit, it is kept whole but counted as if it were cut.
 * `least` has no margin, because a margin could overfill the room.
 */
const margins = {
  usual: { kept: 1.1, counted: 0.9 },
  modest: { kept: 1.1, counted: 0.9 },
  least: { kept: 1, counted: 1 },
};

function isOversized(slot: PlacedSlot | undefined, room: Room, margin: number): boolean {
  const tokens = tokensOf(slot);
  const limit = Math.min(oversized.tokens, room.tokens * oversized.ofRoom);
  return tokens > limit * margin;
}

export function mandatoryTokens(slot: PlacedSlot | undefined, room: StrictRoom): number {
  const tokens = tokensOf(slot);
  return isOversized(slot, room, margins[room.strictness].counted)
    ? Math.min(tokens, beginning / charactersPerToken)
    : tokens;
}

/** Keeps a text whole, or only its beginning if it is long. */
export function keepMandatorySlot(
  choice: Choice,
  slots: readonly PlacedSlot[],
  index: number,
  room: StrictRoom,
): void {
  const slot = slots[index];
  if (slot === undefined) return;
  const isCut = isOversized(slot, room, margins[room.strictness].kept);
  let characters = 0;
  for (const [piece, { text }] of slot.textPieces.pieces.entries()) {
    if (isCut && characters >= beginning) return;
    choice.keep(index, piece);
    characters += text.length + 1;
  }
}

export function tokensOf(slot: PlacedSlot | undefined): number {
  return (slot?.textPieces.pieces ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Share of the room that stays free for the story and for the outcomes of requests. They come before more of the newest results. */
export function storyReserve(room: Room): number {
  return isBrief(room) ? 0 : 0.2;
}
