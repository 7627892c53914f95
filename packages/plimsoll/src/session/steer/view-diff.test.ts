import { expect, test } from "vitest";
import { diffRows } from "./view-diff.ts";

test("what is the same is named by its places, what is not is shown", () => {
  const rows = diffRows(["a", "b", "c", "d", "e"], ["a", "B", "d", "x", "e"]);
  expect(rows).toEqual([
    { kind: "same", before: 0, after: 0 },
    { kind: "changed", before: 1, after: 1, was: "b", is: "B" },
    { kind: "removed", before: 2, was: "c" },
    { kind: "same", before: 3, after: 2 },
    { kind: "added", after: 3, is: "x" },
    { kind: "same", before: 4, after: 4 },
  ]);
});

test("messages that are said twice are met in order", () => {
  const kinds = diffRows(["a", "b", "a", "c"], ["a", "a", "c"]).map(({ kind }) => kind);
  expect(kinds).toEqual(["same", "removed", "same", "same"]);
});

test("every message of both sides stands in one row, whatever they are", () => {
  const lists = [[], ["a"], ["a", "a"], ["b", "a"], ["a", "b", "c"], ["c", "b", "a"]];
  for (const before of lists) {
    for (const after of lists) {
      const rows = diffRows(before, after);
      const left = rows.flatMap((row) => ("before" in row ? row.before : []));
      const right = rows.flatMap((row) => ("after" in row ? row.after : []));
      expect(left).toEqual([...before.keys()]);
      expect(right).toEqual([...after.keys()]);
    }
  }
});
