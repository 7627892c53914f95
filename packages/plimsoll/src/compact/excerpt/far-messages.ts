/** The messages that are too old for an excerpt to read. */

import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { isSpoken } from "../units/head.ts";

/** How far back calls and results are read: this many times the room, and at least this many tokens. */
export interface Reach {
  readonly timesRoom: number;
  readonly tokens: number;
}

/** Older calls and results hardly ever stay, and reading millions of tokens takes seconds. */
export const usualReach: Reach = { timesRoom: 4, tokens: 200_000 };

export interface FarTask {
  readonly headLength: number;
  readonly roomTokens: number;
  readonly reach: Reach;
}

/**
 * Marks the messages of old exchanges with 1. They are not read, so they go as a whole, and the story tells what happened there.
 * Invariant: nothing that may have to stay is marked. Everything that people said, closing words of the agent, and everything that
 * is pinned, has priority 1, or must not be removed is read, however old it is.
 */
export function farMessages(
  conversation: VisibleConversation,
  { headLength, roomTokens, reach }: FarTask,
): Uint8Array {
  const { messages, units } = conversation;
  const mayBeFar = farFor(conversation, headLength);
  const isFar = new Uint8Array(messages.length);
  let left = Math.max(roomTokens * reach.timesRoom, reach.tokens);
  for (const [unit, { first, last }] of [...units.entries()].toReversed()) {
    if (left <= 0 && mayBeFar(unit)) isFar.fill(1, first, last + 1);
    // A unit can take no more than the room. So a giant one does not put all others out of reach.
    left -= Math.min(roomTokens, tokensOf(messages.slice(first, last + 1)));
  }
  return isFar;
}

/** Tells which units need not be read if they are old. */
function farFor(conversation: VisibleConversation, headLength: number): (unit: number) => boolean {
  const { messages, units } = conversation;
  const { isFixed, isLoopStart, holdsUnknown } = fixedUnits(conversation);
  return (unit) => {
    const { first = 0, last = -1, isExchange, priority } = units[unit] ?? {};
    if (first < headLength || isExchange !== true || priority === 1) return false;
    if (isFixed(unit) || isLoopStart(unit) || holdsUnknown(unit)) return false;
    return messages.slice(first, last + 1).every(mayGo);
  };
}

function tokensOf(messages: readonly VisibleMessage[]): number {
  return messages.reduce((sum, { tokens, original }) => sum + (original?.tokens ?? tokens), 0);
}

function mayGo({ isPinned, message }: VisibleMessage): boolean {
  return !isPinned && message.stays === undefined && !isSpoken(message);
}
