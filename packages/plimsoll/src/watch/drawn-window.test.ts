import { expect, test } from "vitest";
import { beyondWords, drawWindow } from "./drawn-window.ts";

test("a limit near the window is drawn as it is, and the rest is kept for the answer", () => {
  const size = { tokens: 50_000, limit: 160_000, window: 200_000 };
  expect(drawWindow(size)).toEqual({
    capacity: 200_000,
    beyond: [{ kind: "answer", from: 160_000, to: 200_000, tokens: 40_000 }],
  });
});

test("a limit far below the window fills nine tenths of the drawing, and the rest has its real size in words", () => {
  const { capacity, beyond } = drawWindow({
    tokens: 93_000,
    limit: 100_000,
    window: 1_000_000,
    windowLimit: 900_000,
  });
  expect(100_000 / capacity).toBeCloseTo(0.9, 10);
  expect(beyond.map(({ kind, tokens }) => [kind, tokens])).toEqual([
    ["beyond-limit", 800_000],
    ["answer", 100_000],
  ]);
  expect(beyond.at(-1)?.to).toBeCloseTo(capacity, 6);
  expect(beyond.map(beyondWords)).toEqual(["beyond your limit", "kept for the answer"]);
});

test("a budget a little below the window has both parts, each as large as it is", () => {
  const { capacity, beyond } = drawWindow({
    tokens: 1,
    limit: 150_000,
    window: 200_000,
    windowLimit: 160_000,
  });
  expect(capacity).toBe(200_000);
  expect(beyond.map(({ from, to }) => [from, to])).toEqual([
    [150_000, 160_000],
    [160_000, 200_000],
  ]);
});

test("content beyond the limit is drawn whole, and only what is left of the window follows it", () => {
  const { capacity, beyond } = drawWindow({ tokens: 170_000, limit: 100_000, window: 200_000 });
  expect(beyond).toEqual([{ kind: "answer", from: 170_000, to: capacity, tokens: 30_000 }]);
  expect(drawWindow({ tokens: 250_000, limit: 100_000, window: 200_000 })).toEqual({
    capacity: 250_000,
    beyond: [],
  });
});

test("a window that nobody knows ends just after the limit", () => {
  expect(drawWindow({ tokens: 10, limit: 1000, window: 0 })).toEqual({
    capacity: 1040,
    beyond: [],
  });
  expect(drawWindow({ tokens: 0, limit: 0, window: 0 })).toEqual({ capacity: 1, beyond: [] });
});
