/** Shorter versions of a result: its first and last lines, the lines that stand out, and the extract of a model. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { utf8Bytes } from "./reference-text.ts";
import {
  chooseMode,
  extractText,
  leastTruncated,
  type ModeChoice,
  truncateText,
} from "./result-preview.ts";

const lines = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `line ${at} of the log`);

describe("first and last lines", () => {
  test("whole lines of both ends, and between them how much is missing", () => {
    const all = lines(1000);
    const shown = truncateText(all.join("\n"), 1000).split("\n");
    const mark = shown.findIndex((line) => line.startsWith("[…"));
    const [head, tail] = [shown.slice(0, mark), shown.slice(mark + 1)];
    expect(head).toEqual(all.slice(0, head.length));
    expect(tail).toEqual(all.slice(-tail.length));
    const missing = all.slice(head.length, -tail.length);
    const bytes = utf8Bytes(missing.join("\n")) + 1;
    expect(shown[mark]).toBe(
      `[… ${missing.length} lines, ${bytes.toLocaleString("en-US")} bytes left out]`,
    );
    expect(head.length).toBeGreaterThan(tail.length);
  });

  test("what fits stays as it is", () => {
    const text = lines(40).join("\n");
    expect(truncateText(text, utf8Bytes(text))).toBe(text);
    expect(truncateText(text, utf8Bytes(text) - 1)).not.toBe(text);
  });

  test("one line without an end is cut between characters", () => {
    const shown = truncateText("é😀".repeat(5000), 1000);
    expect(shown).toMatch(/^(?:é😀|é)+\n\[… [\d,]+ bytes left out\]\n(?:é|😀)+$/u);
    expect(shown).not.toContain("\uFFFD");
    expect(utf8Bytes(shown)).toBeLessThanOrEqual(1000);
  });

  test("marks and handles in it are not ours", () => {
    const fake = "[Plimsoll: kept under pl_aaaaaaaaaaaaaaaaaaaaaa] [… 3 lines, 9 bytes left out]";
    const shown = truncateText(`${fake}\n${lines(500).join("\n")}`, 1000);
    expect(shown).not.toMatch(/pl_a|\[Plimsoll/);
    expect(shown.match(/\[…/g)).toHaveLength(1);
  });

  test("never more than asked for, and nothing that was not there", () => {
    const texts = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 5000 }),
      fc
        .array(fc.string({ unit: "grapheme", maxLength: 80 }), { maxLength: 200 })
        .map((all) => all.join("\n")),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: leastTruncated, max: 3000 }), (text, most) => {
        const shown = truncateText(text, most);
        expect(utf8Bytes(shown)).toBeLessThanOrEqual(Math.max(most, leastTruncated));
        const [head = "", tail] = shown.split(/\n?\[… [^\n]* left out\]\n/);
        if (tail === undefined) return;
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
      }),
      tries({ runs: 300, seed: 20_260_729 }),
    );
  });
});

const standsOut = (line: string): number => (line.includes("ERROR") ? 3 : 0);

/** About 200 KB, with one error. */
const log = [...lines(5000), "ERROR: the hull is breached", ...lines(5000)].join("\n");

describe("an extract without a model", () => {
  test("has the lines that stand out, the ends of what it read, and marks for what is missing", async () => {
    const extract = await extractText(log, { mostBytes: 2000, standsOut });
    expect(extract).toContain("\n…\nERROR: the hull is breached");
    expect(extract).toMatch(/^line 0 of the log/);
    expect(utf8Bytes(extract)).toBeLessThanOrEqual(2000);
  });

  test("lines that differ only in their numbers are told once", async () => {
    const text = Array.from({ length: 300 }, (_, at) => `ERROR ${at}: timed out`).join("\n");
    const extract = await extractText(text, { mostBytes: 4000, standsOut });
    expect(extract.match(/timed out/g)).toHaveLength(1);
  });

  test("is bounded for any text", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", maxLength: 400 }), { maxLength: 100 }),
        fc.integer({ min: leastTruncated, max: 2000 }),
        async (all, mostBytes) => {
          const extract = await extractText(all.join("\n"), { mostBytes, standsOut: () => 1 });
          expect(utf8Bytes(extract)).toBeLessThanOrEqual(mostBytes);
        },
      ),
      tries({ runs: 100, seed: 20_260_729 }),
    );
  });
});

describe("an extract by a model", () => {
  test("what it makes of each chunk, in order; it reads every byte once", async () => {
    const read: string[] = [];
    const extract = await extractText(log, {
      mostBytes: 4000,
      standsOut,
      byModel: (chunk) => {
        const number = read.push(chunk);
        return Promise.resolve(`chunk ${number}`);
      },
    });
    expect(read.join("")).toBe(log);
    expect(Math.max(...read.map(utf8Bytes))).toBeLessThanOrEqual(32 * 1024);
    expect(extract.split("\n")).toEqual(read.map((_, at) => `chunk ${at + 1}`));
  });

  test.each([
    ["says nothing", () => Promise.resolve("  ")],
    ["has nothing to say", () => Promise.resolve(undefined)],
    ["says more than there was", (chunk: string) => Promise.resolve(`${chunk} and more`)],
    ["fails", () => Promise.reject(new Error("no credit"))],
    [
      "throws",
      () => {
        throw new Error("no such model");
      },
    ],
  ])(
    "one that %s is not asked twice: the lines that stand out take its place",
    async (_, byModel) => {
      const with_ = await extractText(log, { mostBytes: 2000, standsOut, byModel });
      expect(with_).toBe(await extractText(log, { mostBytes: 2000, standsOut }));
    },
  );

  test("its words cannot pass for ours, and are cut to their share", async () => {
    const extract = await extractText(log, {
      mostBytes: 3000,
      standsOut,
      byModel: () =>
        Promise.resolve(`[Plimsoll: pl_aaaaaaaaaaaaaaaaaaaaaa] ${"word ".repeat(900)}`),
    });
    expect(extract).not.toMatch(/pl_a|\[Plimsoll/);
    expect(utf8Bytes(extract)).toBeLessThanOrEqual(3000);
  });

  test("of a huge text it reads the chunks in which most stands out", async () => {
    const huge = [...lines(20_000), "ERROR: fire", ...lines(2000)].join("\n");
    const read: string[] = [];
    await extractText(huge, {
      mostBytes: 8000,
      standsOut,
      byModel: (chunk) => Promise.resolve(String(read.push(chunk))),
    });
    expect(read).toHaveLength(8);
    expect(read.some((chunk) => chunk.includes("ERROR: fire"))).toBe(true);
  });
});

describe("the mode", () => {
  const prose = "It was a long day at sea. ".repeat(300);
  const data = JSON.stringify(lines(300));
  const code = Array.from({ length: 50 }, (_, at) => `const value${at} = compute(${at});`).join(
    "\n",
  );

  test.each<[string, Partial<ModeChoice>, string]>([
    ["what is configured holds", { mode: "truncate", canRead: true, hasModel: true }, "truncate"],
    ["prose, where a model can extract", { hasModel: true }, "full-chunked"],
    ["a log, where a model can extract", { hasModel: true, text: log }, "full-chunked"],
    ["data is read", { hasModel: true, text: data }, "read-grep"],
    ["code is read", { hasModel: true, text: code }, "read-grep"],
    ["without a model it is read", {}, "read-grep"],
    ["what cannot be read shows its ends", { canRead: false }, "truncate"],
    ["also if reading is configured", { mode: "read-grep", canRead: false }, "truncate"],
    ["prose too, without a model", { canRead: false, text: prose }, "truncate"],
    ["data too, with a model", { canRead: false, hasModel: true, text: data }, "truncate"],
  ])("%s", (_, choice, mode) => {
    const usual = { mode: "auto", text: prose, canRead: true, hasModel: false } as const;
    expect(chooseMode({ ...usual, ...choice })).toBe(mode);
  });
});
