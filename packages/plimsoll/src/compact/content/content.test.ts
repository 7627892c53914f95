import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { type CutOptions, compressContent, detectContent } from "./content.ts";

const count = (text: string): number => Math.ceil(text.length / 4);
const half: CutOptions = { ratio: 0.5, count };

function repeat(times: number, line: (index: number) => string): string {
  return Array.from({ length: times }, (_, index) => line(index)).join("");
}

const samples = {
  json: JSON.stringify(
    Array.from({ length: 30 }, (_, id) => ({ id, name: `user ${id}`, tags: ["a", "b"] })),
    null,
    2,
  ),
  log: repeat(40, (index) => `2026-01-02T10:00:${index + 10} INFO worker ${index} is done\n`),
  code: repeat(
    12,
    (index) =>
      `export function f${index}(a: number): number {\n  const b = a + ${index};\n  const c = b * 2;\n  return b + c;\n}\n\n`,
  ),
  diff: `diff --git a/x.ts b/x.ts\n--- a/x.ts\n+++ b/x.ts\n@@ -1,30 +1,31 @@\n${repeat(30, (index) => (index === 15 ? "+const added = 1;\n" : ` context line ${index}\n`))}`,
  search: repeat(30, (index) => `src/file${index % 4}.ts:${index}:  const x${index} = call();\n`),
  trace: `TypeError: x is undefined\n    at load (/app/src/load.ts:1:2)\n${repeat(30, (index) => `    at step${index} (/app/node_modules/lib/index.js:${index}:3)\n`)}    at main (/app/src/main.ts:9:9)\n`,
  html: `<!doctype html><html><head><title>Page</title><style>p{}</style></head><body>${repeat(20, (index) => `<div class="c"><p>Paragraph number ${index}.</p></div>\n`)}</body></html>`,
  test: `running 30 tests\n${repeat(30, (index) => `test a::case_${index} ... ok\n`)}\ntest result: ok. 30 passed; 0 failed; finished in 0.01s\n`,
  base64: btoa(repeat(200, (index) => `chunk ${index * 7919};`)),
  table: `id,name,amount\n${repeat(40, (index) => `${index},item ${index},${100 + (index % 7)}\n`)}`,
  prose: repeat(
    12,
    (index) =>
      `The paragraph number ${index} opens with this sentence. It goes on with another one that says less. A third one closes it.\n\n`,
  ),
} as const;

const named = Object.entries(samples);

describe("detection", () => {
  test.each(named)("%s is recognised", (kind, text) => {
    expect(detectContent(text)).toBe(kind);
  });

  test.each([
    [
      "a Python file that looks like test output",
      "tests/run.py",
      'import os\nprint("Ran 3 tests in 1s")\n',
      "code",
    ],
    [
      "Markdown with a fence is prose",
      "README.md",
      "# Title\n\n```ts\nconst a = 1;\n```\n",
      "prose",
    ],
    ["a table by its name", "data.csv", "a,b\n1,2\n3,4\n5,6\n", "table"],
    ["JSON lines", undefined, '{"a":1}\n{"a":2}\n{"a":3}\n', "json"],
    [
      "numbered lines of a program",
      undefined,
      repeat(20, (index) => `${String(index + 1).padStart(6)}\tfrom a${index} import b\n`),
      "code",
    ],
    [
      "an output in tags",
      undefined,
      `<returncode>0</returncode>\n<output>\n${samples.diff}</output>\n`,
      "diff",
    ],
    ["a data URI", undefined, `data:image/png;base64,${samples.base64}`, "base64"],
    ["bytes", undefined, "\u0000\u0001\u0002\u0003PNG\u0004\u0005".repeat(40), "base64"],
    [
      "files in folders",
      undefined,
      repeat(20, (index) => `./src/part${index % 3}/file${index}.ts\n`),
      "search",
    ],
    [
      "times are not files",
      undefined,
      repeat(20, (index) => `10:00:${index + 10} started worker\n`),
      "log",
    ],
    ["nothing", undefined, "", "prose"],
  ])("%s", (_, path, text, kind) => {
    expect(detectContent(text, path)).toBe(kind);
  });

  test("any text, in bounded time and without an error", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 400 }),
        fc.string({ maxLength: 20 }),
        (text, path) => {
          expect(typeof detectContent(text, path)).toBe("string");
        },
      ),
      tries({ runs: 300, seed: 11 }),
    );
  });
});

describe("every kind", () => {
  test.each(named)("%s becomes as short as wished", (_, text) => {
    for (const ratio of [0.8, 0.5, 0.3]) {
      const shorter = compressContent(text, { ratio, count });
      expect(shorter?.tokens).toBeLessThanOrEqual(count(text) * ratio);
      expect(shorter?.tokens).toBe(count(shorter?.text ?? ""));
    }
  });

  test.each(named)("%s is the same each time", (_, text) => {
    expect(compressContent(text, half)).toEqual(compressContent(text, half));
  });

  test.each(named)("%s compressed again never grows", (_, text) => {
    const once = compressContent(text, half)?.text ?? text;
    const twice = compressContent(once, half)?.text ?? once;
    expect(count(twice)).toBeLessThanOrEqual(count(once));
  });

  test.each(named)("%s says its kind", (kind, text) => {
    expect(compressContent(text, half)?.kind).toBe(kind);
  });

  const byLines = ["log", "diff", "search", "trace", "test", "table"] as const;

  test.each(byLines)("%s keeps whole lines, in order, and counts the others", (kind) => {
    const text = samples[kind];
    const before = text.split("\n");
    const after = compressContent(text, half)?.text.split("\n") ?? [];
    let place = 0;
    for (const line of after) {
      const missing = /^… ([\d,]+) .*…$/.exec(line)?.[1];
      if (missing !== undefined) {
        place += Number(missing.replaceAll(",", ""));
        continue;
      }
      expect(before[place]).toBe(line);
      place++;
    }
    expect(place).toBe(before.length);
  });

  test.each(byLines)("%s keeps the line that matters", (kind) => {
    const lines = samples[kind].split("\n");
    const wanted = lines[Math.floor(lines.length * 0.6)] ?? "";
    const weigh = (line: string): number => (line === wanted ? 1 : 0);
    expect(compressContent(samples[kind], { ratio: 0.3, count, weigh })?.text).toContain(wanted);
  });
});

describe("texts of no kind", () => {
  test.each([
    ["nothing", ""],
    ["a word", "word"],
    ["a short sentence", "This is all there is to say."],
  ])("%s stays", (_, text) => {
    expect(compressContent(text, half)).toBeUndefined();
  });

  test.each([
    ["one line of a million characters", "x".repeat(1_000_000)],
    ["a million words on one line", "word ".repeat(1_000_000)],
    ["a million line ends", "\n".repeat(1_000_000)],
    ["white space", " \t".repeat(500_000)],
    ["carriage returns", "\r".repeat(500_000)],
    ["lone surrogates", "\ud800".repeat(500_000)],
    ["brackets that are never closed", "[".repeat(500_000)],
    ["braces that are never closed", "{\n".repeat(100_000)],
    ["tags that are never closed", `<html>${"<".repeat(500_000)}`],
    ["comments that are never closed", `<html>${"<!--".repeat(200_000)}`],
    ["fences that are never closed", "```a\n".repeat(200_000)],
    ["tags on each line", "<a>\n".repeat(200_000)],
    ["a script without spaces", "这是一个句子。它很长！".repeat(50_000)],
    ["marks", "… 12 lines …\n".repeat(50_000)],
  ])("%s: shorter, and soon", (_, text) => {
    const shorter = compressContent(text, { ratio: 0.3, count });
    expect(shorter?.tokens).toBeLessThanOrEqual(count(text) * 0.3);
  });

  const oneSentence =
    "The harbour master decided on Monday that every tanker longer than two hundred metres, whatever its flag, must wait outside until the tide is high, because berth 17 was measured again and is three metres shorter than the drawing says.";

  test("of a single sentence the beginning and the end stay, in whole words", () => {
    const shorter = compressContent(oneSentence, half)?.text ?? "";
    expect(shorter).toMatch(/^The harbour master decided on Monday that .* the drawing says\.$/);
    const words = new Set(oneSentence.split(" "));
    const strange = shorter.split(" ").filter((word) => !words.has(word));
    expect(strange).toEqual(["…", expect.stringMatching(/^\d+$/), "characters", "…"]);
  });

  test("texts of one to three sentences or lines get near the ratio, and never become only a mark", () => {
    const path = "packages/harbour/src/berths/measured-lengths-of-berths.test.ts:17";
    const words = fc.array(fc.constantFrom(...oneSentence.split(" "), path), {
      minLength: 25,
      maxLength: 120,
      size: "max",
    });
    fc.assert(
      fc.property(
        fc.array(words, { minLength: 1, maxLength: 3 }),
        fc.double({ min: 0.4, max: 0.9, noNaN: true }),
        fc.constantFrom(". ", "\n", "\n\n"),
        (sentences, ratio, end) => {
          const text = `${sentences.map((one) => one.join(" ")).join(end)}.`;
          const shorter = compressContent(text, { ratio, count });
          const share = (shorter?.tokens ?? 0) / count(text);
          const whole = new Set(text.split(/\s+/));
          const left =
            shorter?.text
              .replaceAll(/… .*? …/g, " ")
              .trim()
              .split(/\s+/) ?? [];
          expect(left.filter((word) => !whole.has(word))).toEqual([]);
          expect(share).toBeLessThanOrEqual(ratio + 0.05);
          expect(share).toBeGreaterThan(ratio * 0.55);
        },
      ),
      tries({ runs: 200, seed: 3 }),
    );
  });

  test("a text for which there is only room for a mark stays whole", () => {
    expect(compressContent(oneSentence.slice(0, 100), { ratio: 0.1, count })).toBeUndefined();
  });

  test("a pair of surrogates is not cut in two", () => {
    const shorter = compressContent("😀".repeat(5_000), { ratio: 0.2, count });
    expect(shorter?.text.isWellFormed()).toBe(true);
  });

  test("line ends of Windows stay", () => {
    const text = repeat(60, (index) => `alpha${index} beta gamma\r\n`);
    const shorter = compressContent(text, { ratio: 0.4, count })?.text ?? "";
    expect(shorter).toContain("…\r\n");
    expect(shorter.replaceAll("\r\n", "")).not.toContain("\n");
  });

  test("an alarm in the middle is kept", () => {
    const text = repeat(80, (index) =>
      index === 41 ? "fatal: disk is full\n" : `[${index}] step-${index}\n`,
    );
    expect(compressContent(text, { ratio: 0.2, count })?.text).toContain("fatal: disk is full\n");
  });

  test("a line that matters brings a neighbour", () => {
    const text = repeat(80, (index) => `k${index}=v${index * 31}\n`);
    const weigh = (line: string): number => (line.startsWith("k40=") ? 1 : 0);
    expect(compressContent(text, { ratio: 0.3, count, weigh })?.text).toContain(
      "k40=v1240\nk41=v1271\n",
    );
  });

  test("a weight that is not a number is none", () => {
    const weigh = (): number => Number.NaN;
    expect(compressContent(samples.log, { ...half, weigh })).toEqual(
      compressContent(samples.log, half),
    );
  });

  test("what stands in tags is compressed as what it is, and the tags stay", () => {
    const text = `<returncode>1</returncode>\n<output>\n${samples.test}</output>\n`;
    const shorter = compressContent(text, half)?.text ?? "";
    expect(shorter).toMatch(/^<returncode>1<\/returncode>\n<output>\n/);
    expect(shorter).toMatch(/<\/output>\n$/);
    expect(shorter).toContain("… 30 passed …");
  });

  test("never longer, always the same, whatever the text and the wish", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.constantFrom(
        "{",
        "}",
        '"a": 1,',
        "ERROR x",
        "def f():",
        "    pass",
        "a,b,c",
        "@@ -1 +1 @@",
        "+x",
        "<p>",
        "```",
      ),
    );
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 20, maxLength: 120, size: "max" }),
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        fc.constantFrom("\n", "\r\n", " "),
        (lines, ratio, end) => {
          const text = lines.join(end);
          const shorter = compressContent(text, { ratio, count });
          expect(compressContent(text, { ratio, count })).toEqual(shorter);
          if (shorter === undefined) return;
          expect(shorter.tokens).toBeLessThan(count(text));
          expect(shorter.text.length).toBeLessThanOrEqual(text.length);
        },
      ),
      tries({ runs: 400, seed: 12 }),
    );
  });
});
