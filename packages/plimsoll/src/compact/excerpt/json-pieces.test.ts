/** JSON without some of its members and elements is still JSON, and the kept ones are unchanged byte for byte. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { type JsonPieces, readJsonPieces, renderJsonPieces } from "./json-pieces.ts";

const seed = 20261115;
const reference = "#17";

function read(text: string): JsonPieces {
  const textPieces = readJsonPieces(text, 1);
  if (textPieces === undefined) throw new Error(`This is no sheet of JSON: ${text.slice(0, 100)}`);
  return textPieces;
}

function render(textPieces: JsonPieces, kept: readonly number[]): string {
  const isKept = new Set(kept);
  return renderJsonPieces(textPieces, { isKept: (piece) => isKept.has(piece), reference });
}

/** The pieces that contain one of the words. */
function having(textPieces: JsonPieces, ...words: readonly string[]): readonly number[] {
  return textPieces.pieces.flatMap(({ text }, piece) =>
    words.some((word) => text.includes(word)) ? [piece] : [],
  );
}

/** JSON as different programs write it: with spaces, escapes, and numbers that a JavaScript number cannot represent. */
const leaf = fc.oneof(
  fc.constantFrom(
    "1",
    "-0.5e+10",
    "12345678901234567890.10e1",
    "true",
    "null",
    '""',
    '"…"',
    "{}",
    "[]",
    "[ ]",
  ),
  fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => JSON.stringify(text)),
  fc
    .array(fc.constantFrom("plain ", "\\n", '\\"', "\\\\", "\\u00e9", "\\/", "日本"), {
      minLength: 100,
      maxLength: 200,
      size: "max",
    })
    .map((bits) => `"${bits.join("")}"`),
);
const key = fc.oneof(
  fc.constantFrom('"a"', '"a"', '"b"', '"…"', '"\\u0061"', '"a \\"key\\""', '"__proto__"', '""'),
  fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
);
const space = fc.constantFrom("", " ", "\n  ", "\t");
const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie("array"), tie("object")),
  array: fc
    .tuple(space, fc.array(tie("value"), { maxLength: 5 }))
    .map(([gap, items]) => `[${gap}${items.join(`,${gap}`)}${gap}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }))
    .map(
      ([gap, members]) =>
        `{${gap}${members.map(([name, item]) => `${name}:${gap}${item}`).join(`${gap},${gap}`)}${gap}}`,
    ),
}));
/** Not empty, because nothing can be taken out of an empty object or array. */
const document = value.filter((text) => /^[[{]\s*[^\]}\s]/.test(text));

interface Chosen {
  readonly textPieces: JsonPieces;
  readonly kept: readonly number[];
}

const chosen: fc.Arbitrary<Chosen> = fc
  .tuple(document, fc.infiniteStream(fc.boolean()))
  .map(([text, stream]) => {
    const textPieces = read(text);
    const wanted = [...stream.take(textPieces.pieces.length)];
    return { textPieces, kept: wanted.flatMap((isWanted, piece) => (isWanted ? [piece] : [])) };
  });

describe("whatever is kept of JSON", () => {
  test("it is still JSON, of the same kind", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const shown: unknown = JSON.parse(render(textPieces, kept));
        expect(Array.isArray(shown)).toBe(textPieces.root.kind === "array");
      }),
      tries({ runs: 500, seed }),
    ));

  test("kept pieces stand in it byte for byte, and in order", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces, kept }) => {
        const shown = render(textPieces, kept);
        let at = 0;
        for (const piece of kept) {
          const text = textPieces.pieces[piece]?.text ?? "";
          const next = shown.indexOf(text, at);
          expect(next).toBeGreaterThanOrEqual(at);
          at = next + text.length;
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("with every piece kept, nothing is missing but the end that says so", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces }) => {
        const { pieces, text } = textPieces;
        for (const { frames } of pieces) expect(frames.length).toBeLessThanOrEqual(100);
        const shown = render(textPieces, [...pieces.keys()]);
        const whole = text.trimEnd();
        expect(shown.startsWith(whole.slice(0, -1))).toBe(true);
      }),
      tries({ runs: 200, seed }),
    ));
});

describe("objects", () => {
  const text = '{"id": 7, "name": "Ada", "tags": ["a", "b", "c"], "deep": {"x": 1, "y": 2}}';
  const textPieces = read(text);

  test.each([
    [["Ada"], '{"name": "Ada", "…": "#17"}'],
    [['"id"', '"b"'], '{"id": 7, "tags": ["b","… 2 more"], "…": "#17"}'],
    [['"y"'], '{"deep": {"y": 2}, "…": "#17"}'],
    [['"a"', '"b"', '"c"'], '{"tags": ["a", "b", "c"], "…": "#17"}'],
    [[], '{"…": "#17"}'],
  ])("the members with %j are kept", (words, shown) => {
    const found: unknown = JSON.parse(render(textPieces, having(textPieces, ...words)));
    expect(found).toEqual(JSON.parse(shown));
  });

  test("a member goes with its key, and inner ones bring what they stand in", () => {
    const inner = textPieces.pieces[having(textPieces, '"y"')[0] ?? -1];
    expect(inner?.frames.map((frame) => frame.text)).toEqual(["", '"deep": ']);
    expect(inner?.text).toBe('"y": 2');
  });

  test("two members with the same key are two, and each may go", () => {
    const twice = read('{"a": "first one", "a": "second one"}');
    expect(render(twice, [0])).toBe('{"a": "first one", "…": "#17"}');
    expect(render(twice, [1])).toBe('{"a": "second one", "…": "#17"}');
  });

  test("numbers beyond what JavaScript holds are not written again", () => {
    const big = read('{"serial": 12345678901234567890.10e1, "x": 1}');
    expect(render(big, having(big, "serial"))).toContain("12345678901234567890.10e1");
  });

  test("over several lines the indentation stays", () => {
    const pretty = read(JSON.stringify({ a: 1, b: [10, 20], c: 3 }, null, 2));
    expect(render(pretty, having(pretty, '"a"', '"c"'))).toBe(
      '{\n  "a": 1,\n  "c": 3\n, "…": "#17"}',
    );
  });
});

describe("arrays", () => {
  test("say how many elements are missing", () => {
    const textPieces = read(
      `[${Array.from({ length: 50 }, (_, row) => `{"row": ${row}}`).join(", ")}]`,
    );
    const shown = JSON.parse(render(textPieces, having(textPieces, '"row": 49'))) as unknown[];
    expect(shown).toEqual([{ row: 49 }, "… 49 more", "… #17"]);
    expect(JSON.parse(render(textPieces, []))).toEqual(["… #17"]);
  });
});

describe("long strings", () => {
  const words = Array.from({ length: 60 }, (_, number) => `sentence ${number} ends\\n`).join("");
  const textPieces = read(`{"log": "${words}", "ok": true}`);

  test("are cut into stretches, with a mark for each gap", () => {
    const wanted = having(textPieces, "sentence 30 ");
    const { log } = JSON.parse(render(textPieces, wanted)) as { log: string };
    expect(log.startsWith("…")).toBe(true);
    expect(log.endsWith("…")).toBe(true);
    expect(log).toContain("sentence 30 ends\n");
  });

  test("of which nothing is kept go with their key", () => {
    expect(JSON.parse(render(textPieces, having(textPieces, '"ok"')))).toEqual({
      ok: true,
      "…": "#17",
    });
  });

  test("never end in half of an escape", () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom("x", "\\\\", "\\n", "\\u00e9", '\\"', "\\ud83d\\ude00", "ab c. "),
          {
            minLength: 320,
            maxLength: 400,
            size: "max",
          },
        ),
        fc.nat(4),
        (bits, from) => {
          const long = read(`["${bits.join("")}"]`);
          const whole = JSON.parse(`"${bits.join("")}"`) as string;
          const [shown = ""] = JSON.parse(render(long, [from % long.pieces.length])) as string[];
          expect(whole).toContain(shown.replaceAll("…", ""));
          expect(shown.isWellFormed()).toBe(true);
        },
      ),
      tries({ runs: 300, seed }),
    ));
});

describe("what is not read as JSON", () => {
  test.each([
    ["a word", "hello"],
    ["a number", "17"],
    ["a string", '"{}"'],
    ["nothing", ""],
    ["half of an object", '{"a": 1'],
    ["two objects", '{"a": 1}\n{"a": 2}'],
    ["a comment", '{"a": 1} // so'],
    ["a comma too many", "[1, 2,]"],
    ["a byte order mark", '\ufeff{"a": 1}'],
    ["a list in brackets", "[Plimsoll: shortened]"],
    ["an empty object, of which nothing can go", " {} "],
    ["an empty list", "[]"],
  ])("%s", (_, text) => {
    expect(readJsonPieces(text, 1)).toBeUndefined();
  });

  test("a document deeper than a hundred", () => {
    expect(readJsonPieces(`${"[".repeat(99)}1${"]".repeat(99)}`, 1)).toBeDefined();
    expect(readJsonPieces(`${"[".repeat(101)}1${"]".repeat(101)}`, 1)).toBeUndefined();
    expect(readJsonPieces("[".repeat(100_000) + "]".repeat(100_000), 1)).toBeUndefined();
    expect(readJsonPieces(`[1, ${"[".repeat(100_000)}${"]".repeat(100_000)}]`, 1)).toBeUndefined();
  });
});

test("wide documents are read and written in one go", () => {
  const rows = Array.from({ length: 50_000 }, (_, row) => ({ row, name: `name_${row}` }));
  const textPieces = read(JSON.stringify(rows));
  expect(textPieces.pieces).toHaveLength(100_000);
  const shown = JSON.parse(render(textPieces, [0, 99_999])) as unknown[];
  expect(shown).toEqual([{ row: 0 }, { name: "name_49999" }, "… 49998 more", "… #17"]);
});
