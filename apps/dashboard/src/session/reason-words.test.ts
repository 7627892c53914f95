import { expect, test } from "vitest";
import { reasonWords } from "./reason-words.ts";

test("a reason is told in words; one that is not known, as the service says it", () => {
  expect(["forced", "compact", "by hand"].map(reasonWords)).toEqual([
    "the request had to be smaller",
    "the window was nearly full",
    "by hand",
  ]);
  expect(reasonWords("A milestone was reached.")).toBe("A milestone was reached.");
  expect(reasonWords("constructor")).toBe("constructor");
  expect(reasonWords("a\u202Eb")).toBe("a⟦U+202E⟧b");
});
