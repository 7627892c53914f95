import fc from "fast-check";
import { get_encoding } from "tiktoken";
import { afterAll, describe, expect, it } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { chunksOf, isCleanCut } from "./chunk.ts";

const oracles = (["o200k_base", "cl100k_base"] as const).map((name) => get_encoding(name));
afterAll(() => {
  for (const oracle of oracles) oracle.free();
});

const fragments = fc.constantFrom(
  ..."aZé中文字の0١ \n\r\t\u00a0/'’.,;{}\"\\-_😀\u0301\u200b\u0085\ufeff",
  "don't",
  "  \n",
  "\r\n",
  "}\n/",
  "。",
  " the",
);
const text = fc.array(fragments, { minLength: 20, maxLength: 120 }).map((parts) => parts.join(""));

describe("chunks", () => {
  it("are together the text again, and none is longer than allowed", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (whole, maxChars) => {
        const chunks = [...chunksOf(whole, maxChars)];
        expect(chunks.map((chunk) => chunk.text).join("")).toBe(whole);
        for (const chunk of chunks) expect(chunk.text.length).toBeLessThanOrEqual(maxChars);
      }),
    );
  });

  it("never split a surrogate pair", () => {
    const chunks = [...chunksOf("😀".repeat(100), 7)];
    for (const chunk of chunks) expect(chunk.text.isWellFormed()).toBe(true);
  });

  it("that end cleanly have together the tokens of the text", () => {
    let cleanCuts = 0;
    fc.assert(
      fc.property(text, (whole) => {
        for (let at = 1; at < whole.length; at++) {
          if (!isCleanCut(whole.charAt(at - 1), whole.charAt(at))) continue;
          cleanCuts += 1;
          for (const oracle of oracles) {
            const before = oracle.encode_ordinary(whole.slice(0, at)).length;
            const after = oracle.encode_ordinary(whole.slice(at)).length;
            expect(before + after).toBe(oracle.encode_ordinary(whole).length);
          }
        }
      }),
      tries({ runs: 500, seed: 20261116 }),
    );
    expect(cleanCuts).toBeGreaterThan(1000);
  });

  it("of one long run are not clean", () => {
    const chunks = [...chunksOf("a".repeat(10_000), 4_096)];
    expect(chunks.map((chunk) => chunk.isClean)).toEqual([false, false, true]);
  });
});
