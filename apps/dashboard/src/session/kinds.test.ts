import type { WindowPicture } from "plimsoll/api";
import { expect, test } from "vitest";
import { kinds, mainKind, summaryOf, sumsOf } from "./kinds.ts";

const picture: WindowPicture = {
  session: "s",
  branch: "b",
  model: "m",
  window: 1000,
  limit: 800,
  tokens: 90,
  certainty: "exact",
  cachedTokens: 20,
  takenOutTokens: 0,
  units: [
    { id: "a", tokens: 20, begins: "", segments: [{ kind: "system", tokens: 20 }] },
    {
      id: "b",
      tokens: 70,
      begins: "",
      segments: [
        { kind: "assistant", tokens: 30 },
        { kind: "results", tokens: 40 },
      ],
    },
  ],
};

test("tokens of a kind are added up over all units that have some of it", () => {
  expect([...sumsOf(picture)]).toEqual([
    ["system", 20],
    ["assistant", 30],
    ["results", 40],
  ]);
});

test("an exchange is listed by the kind that takes the most of it", () => {
  expect(mainKind({ segments: picture.units[1]?.segments ?? [] })).toBe("results");
});

test("the picture in words says units, fill, limit, kinds and what was cached", () => {
  expect(summaryOf(picture, String)).toBe(
    "The window: 2 units, 90 of 800 tokens up to the limit, in a window of 1000; system 20, assistant 30, results 40. The first 20 were read from the cache.",
  );
});

test("every kind has one name", () => {
  expect(new Set(kinds.map(({ name }) => name)).size).toBe(8);
});
