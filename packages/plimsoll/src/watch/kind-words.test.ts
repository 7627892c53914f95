import { expect, test } from "vitest";
import type { WindowPicture } from "../message/api.ts";
import { kinds, mainKind, summaryOf, sumsOf } from "./kind-words.ts";

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

test("tokens of a kind are added up over all units that have some of it, in the order of the legend", () => {
  const units = [...picture.units, ...picture.units].toReversed();
  expect(sumsOf({ units }).map(({ kind, tokens }) => [kind, tokens])).toEqual([
    ["system", 40],
    ["assistant", 60],
    ["results", 80],
  ]);
});

test("an exchange is listed by the kind that takes the most of it", () => {
  expect(mainKind({ segments: picture.units[1]?.segments ?? [] })).toBe("results");
});

test("the picture in words says units, fill, limit, kinds and what was cached", () => {
  expect(summaryOf(picture, String)).toBe(
    "The window: 2 units, 90 of 800 tokens up to the limit, in a window of 1000; system 20, assistant 30, results 40. The first 20 were read from the cache. 200 are kept for the answer.",
  );
});

test("every kind has a name and a letter of its own", () => {
  expect(new Set(kinds.map(({ name }) => name)).size).toBe(8);
  expect(new Set(kinds.map(({ letter }) => letter)).size).toBe(8);
});
