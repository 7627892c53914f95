/** A text of a message that may be shortened, and where it is. */

import type { LaterChange } from "../story/changed-later.ts";
import type { Voice } from "./mention-counts.ts";
import type { TextPieces } from "./text-pieces.ts";

/** The position of a text. */
export interface SlotPlace {
  readonly message: number;
  readonly part: number;
  /** Index of the part inside a tool result. */
  readonly inner?: number;
  /** The text is a string in the arguments of a call. It begins and ends at these offsets, quotes included. */
  readonly argument?: readonly [start: number, end: number];
}

export interface PlacedText {
  readonly place: SlotPlace;
  readonly voice: Voice;
  /** If it is a result: the kind of call that it answers. */
  readonly source?: string | undefined;
  /** If it is a result: the change that made it out of date. */
  readonly later?: LaterChange | undefined;
  readonly textPieces: TextPieces;
  readonly isExact: boolean;
  /** True for a text of a message that must not change at all. */
  readonly isFixed: boolean;
}
