/**
 * Finds the pieces that may be worth their room, without pricing each of them exactly. In a long history, nearly all pieces are
 * worth less than those that will fill the room, and pricing all of them would take seconds.
 */

import type { ChoiceTask, Slot } from "./choice-task.ts";

/** As many pieces compete as take this many times the room, and at least this many tokens. */
const competing = { timesRoom: 8, tokens: 40_000 };
/** Share of its weight that a mention still has if another kept piece already contains the mention. */
export const worthAgain = 0.005;

/** What a choice has kept so far. */
export interface ChoiceState {
  isOpen(unit: number): boolean;
  /** Whether the unit cannot stay. */
  isTooLarge(unit: number): boolean;
  isKept(slot: number, piece: number): boolean;
  isCovered(mention: number): boolean;
}

/** A piece, or a whole text if it must stay as it is. */
interface Candidate {
  readonly slot: number;
  readonly piece: number | undefined;
  readonly tokens: number;
  /** What it adds for each token that it takes, with the frame of its unit if that is not kept yet. */
  readonly worth: number;
}

/**
 * The pieces with the most gain per token, judged by themselves: without neighbours, marks, or the other pieces that stay with
 * them. Pieces that are larger than the room are left out. If all others may compete, returns all of them in order.
 */
export function promisingPieces(
  task: ChoiceTask,
  state: ChoiceState,
  room: number,
): readonly Pick<Candidate, "slot" | "piece">[] {
  const candidates = [...task.slots.keys()]
    .flatMap((slot) => candidatesIn(task, state, slot))
    .filter(({ tokens }) => tokens <= room);
  const most = Math.max(room * competing.timesRoom, competing.tokens);
  if (candidates.reduce((sum, { tokens }) => sum + tokens, 0) <= most) return candidates;
  let sum = 0;
  return candidates
    .sort((one, other) => other.worth - one.worth)
    .filter(({ tokens }) => {
      sum += tokens;
      return sum <= most;
    });
}

function candidatesIn(task: ChoiceTask, state: ChoiceState, index: number): readonly Candidate[] {
  const slot = task.slots[index];
  if (slot === undefined || state.isTooLarge(slot.unit)) return [];
  const isOpen = state.isOpen(slot.unit);
  const frame = isOpen ? 0 : (task.units[slot.unit]?.frameTokens ?? 0);
  const { pieces } = slot.textPieces;
  const candidate = (piece: number | undefined, tokens: number, gain: number): Candidate => ({
    slot: index,
    piece,
    tokens,
    worth: gain / Math.max(1, tokens + frame),
  });
  if (!slot.isExact)
    return pieces.flatMap(({ tokens }, piece) =>
      state.isKept(index, piece)
        ? []
        : [candidate(piece, tokens, ownGain(task, state, slot, piece))],
    );
  if (isOpen) return [];
  const tokens = pieces.reduce((sum, one) => sum + one.tokens, 0);
  const gain = pieces.reduce((sum, _, piece) => sum + ownGain(task, state, slot, piece), 0);
  return [candidate(undefined, tokens, gain)];
}

function ownGain(
  { weights }: ChoiceTask,
  state: ChoiceState,
  { mentions, worth }: Slot,
  piece: number,
): number {
  let gain = 0;
  for (const mention of mentions[piece] ?? [])
    gain += (weights[mention] ?? 0) * (state.isCovered(mention) ? worthAgain : 1);
  return gain * worth;
}
