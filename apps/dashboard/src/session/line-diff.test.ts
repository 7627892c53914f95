import { expect, test } from "vitest";
import { diffLines, type Hunk, sideOf, wholeOf } from "./line-diff.ts";

const textOf = (hunks: readonly Hunk[], side: "was" | "is"): string =>
  hunks.flatMap((hunk) => (hunk.kind === "same" ? hunk.lines : hunk[side])).join("\n");
const marked = (hunks: readonly Hunk[]): string =>
  hunks
    .map((hunk) =>
      hunk.kind === "same" ? hunk.lines.join(" ") : `[${hunk.was.join(" ")}|${hunk.is.join(" ")}]`,
    )
    .join(" ");

test("only the lines that differ are marked, on both sides", () => {
  expect(marked(diffLines("one\ntwo\nthree\nfour", "one\n2\nthree\nfour"))).toBe(
    "one [two|2] three four",
  );
});

test("a line that is gone and one that is new do not mark what stands around them", () => {
  expect(marked(diffLines("a\nb\nc\nd\ne", "a\nc\nx\nd\ne"))).toBe("a [b|] c [|x] d e");
});

test("of several ways the one with the most lines in common is taken", () => {
  expect(marked(diffLines("a\nb\nc\nd", "d\na\nb\nc"))).toBe("[|d] a b c [d|]");
});

test.each([
  ["", ""],
  ["same", "same"],
  ["a\n", "a"],
  ["\n\n", "\n"],
  ["a\na\na", "a\na"],
  ["x", ""],
  ["a\nb\nc", "c\nb\na"],
])("the sides of %j and %j put together again are the texts", (was, is) => {
  const hunks = diffLines(was, is);
  expect([textOf(hunks, "was"), textOf(hunks, "is")]).toEqual([was, is]);
});

test("texts that are the same have nothing marked", () => {
  expect(diffLines("a\nb", "a\nb")).toEqual([{ kind: "same", lines: ["a", "b"] }]);
});

test("texts with too many lines to compare differ as a whole between what both begin and end with", () => {
  const lines = (seed: string): string =>
    [
      "head",
      ...Array.from({ length: 2000 }, (_, index) => (index === 1000 ? "both" : `${seed}${index}`)),
      "tail",
    ].join("\n");
  const hunks = diffLines(lines("a"), lines("b"));
  expect(hunks.map(({ kind }) => kind)).toEqual(["same", "different", "same"]);
  expect(textOf(hunks, "was")).toBe(lines("a"));
});

test("a long text in which two lines far apart have changed has only these marked", () => {
  const was = Array.from({ length: 5000 }, (_, index) => `l${index}`);
  const is = was.with(10, "one").with(4990, "other");
  const hunks = diffLines(was.join("\n"), is.join("\n"));
  expect(hunks.filter(({ kind }) => kind === "different")).toEqual([
    { kind: "different", was: ["l10"], is: ["one"] },
    { kind: "different", was: ["l4990"], is: ["other"] },
  ]);
});

const thirty = Array.from({ length: 30 }, (_, index) => `l${index}`);

test("what is the same is left out but for a few lines around what differs", () => {
  const hunks = diffLines(thirty.join("\n"), thirty.with(15, "new").join("\n"));
  expect(sideOf(hunks, "is", 10_000)).toEqual([
    { kind: "left out", lines: 12 },
    { kind: "same", text: "l12\nl13\nl14\n" },
    { kind: "different", text: "new\n" },
    { kind: "same", text: "l16\nl17\nl18\n" },
    { kind: "left out", lines: 11 },
  ]);
});

test("a side to which nothing was added shows the same place as the other one", () => {
  const hunks = diffLines(thirty.join("\n"), [...thirty, "added"].join("\n"));
  expect(sideOf(hunks, "was", 10_000)).toEqual([
    { kind: "left out", lines: 27 },
    { kind: "same", text: "l27\nl28\nl29\n" },
  ]);
});

test("a text without another is shown from its beginning, within the bound", () => {
  expect(sideOf(wholeOf("a\n".repeat(50)), "was", 20)).toEqual([
    { kind: "same", text: "a\n".repeat(10) },
  ]);
});
