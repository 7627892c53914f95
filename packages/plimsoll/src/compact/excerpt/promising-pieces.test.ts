import { expect, test } from "vitest";
import type { ChoiceTask, Slot } from "./choice-task.ts";
import { promisingPieces } from "./promising-pieces.ts";

const open = {
  isOpen: () => true,
  isTooLarge: (unit: number) => unit === 9,
  isKept: () => false,
  isCovered: () => false,
};

/** A text whose pieces have so many tokens, and one mention each, which is worth as much as its number says. */
function slot(tokens: readonly number[], unit = 0): Slot {
  const pieces = tokens.map((own) => ({ tokens: own, text: "x" }) as never);
  return {
    unit,
    textPieces: { text: "", pieces } as never,
    mentions: tokens.map((_, at) => [at]),
    isExact: false,
    worth: 1,
    mayLose: "anything",
    least: [],
  };
}

function taskOf(slots: readonly Slot[], weights: readonly number[]): ChoiceTask {
  const units = Array.from({ length: 10 }, () => ({ frameTokens: 0, slots: [] }));
  return { units, slots, weights: Float64Array.from(weights), gapTokens: 0, largestCalls: 1e9 };
}

test("if all pieces may compete, all of them do, in order", () => {
  const task = taskOf([slot([10, 20, 30])], [3, 2, 1]);
  expect(promisingPieces(task, open, 100).map(({ piece }) => piece)).toEqual([0, 1, 2]);
});

test("of too many pieces, those with the most worth for each token compete", () => {
  const count = 3_000;
  const weights = Array.from({ length: count }, (_, at) => (at % 3 === 0 ? 100 : 1));
  const task = taskOf([slot(new Array(count).fill(40))], weights);
  const found = promisingPieces(task, open, 1_000);
  expect(found).toHaveLength(1_000);
  expect(found.every(({ piece = -1 }) => piece % 3 === 0)).toBe(true);
});

test("a piece that is larger than the room, or of a unit that cannot stay, shuts no other out", () => {
  const others = new Array(2_000).fill(40);
  const task = taskOf(
    [slot([50_000, ...others]), slot([40], 9)],
    [1e9, ...new Array(2_000).fill(1)],
  );
  const found = promisingPieces(task, open, 3_000);
  expect(found).toHaveLength(1_000);
  expect(found.some(({ piece, slot: of }) => of === 1 || (of === 0 && piece === 0))).toBe(false);
});
