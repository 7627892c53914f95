import { expect, test } from "vitest";
import { newEdit } from "./edits.ts";

const origin = { branch: "main", step: "turn_1", at: 7 };
const made = {
  anchor: "chain",
  action: { kind: "revert", edit: 3 },
  strategy: "undo",
  reason: "By hand.",
} as const;

test("an edit of which no more is said touches no place and no tokens", () => {
  expect(newEdit(origin, made)).toEqual({
    ...origin,
    ...made,
    place: "undefined",
    tokensBefore: 0,
    tokensAfter: 0,
  });
});

test("an edit keeps its fields", () => {
  const more = { place: "read-tool", tokensBefore: 90, tokensAfter: 10 } as const;
  expect(newEdit(origin, { ...made, ...more })).toMatchObject({ ...made, ...more });
});

test("fields come in the order in which the store packs them best, however they were given", () => {
  const shuffled = { reason: "r", tokensAfter: 1, strategy: "s", action: made.action, anchor: "a" };
  expect(Object.keys(newEdit({ at: 1, step: "s", branch: "b" }, shuffled))).toEqual(
    "branch step anchor at action place strategy reason tokensBefore tokensAfter".split(" "),
  );
});
