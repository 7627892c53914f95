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

  test("with every piece kept, nothing is missing", () =>
    fc.assert(
      fc.property(chosen, ({ textPieces }) => {
        const { pieces, text } = textPieces;
        for (const { frames } of pieces) expect(frames.length).toBeLessThanOrEqual(100);
        const shown = render(textPieces, [...pieces.keys()]);
        expect(shown).toBe(text.trim());
      }),
      tries({ runs: 200, seed }),
    ));
});

/** So many members that the object is too large to be a record. */
const many = Array.from({ length: 60 }, (_, number) => `"m${number}": ${number}`).join(", ");

describe("objects", () => {
  const text = `{"tags": ["a", "b", "c"], "small": {"x": 1, "y": 2}, "large": {"v": 1, ${many}}, "last": 7}`;
  const textPieces = read(text);

  test.each([
    ["a member", ['"last"'], '{"last": 7, "…": "3 more in #17"}'],
    [
      "a member of an inner object",
      ['"v"'],
      '{"large": {"v": 1, "…": "60 more"}, "…": "3 more in #17"}',
    ],
    ["a small list", ['"tags"'], '{"tags": ["a", "b", "c"], "…": "3 more in #17"}'],
    ["a small object", ['"x"'], '{"small": {"x": 1, "y": 2}, "…": "3 more in #17"}'],
    ["nothing", [], '{"…": "4 more in #17"}'],
  ])("%s is kept", (_, words, shown) => {
    const found: unknown = JSON.parse(render(textPieces, having(textPieces, ...words)));
    expect(found).toEqual(JSON.parse(shown));
  });

  test("a member goes with its key, and inner ones bring the objects around them", () => {
    const inner = textPieces.pieces[having(textPieces, '"v"')[0] ?? -1];
    expect(inner?.frames.map((frame) => frame.text)).toEqual(["", '"large": ']);
    expect(inner?.text).toBe('"v": 1');
  });

  test("a record of at most 100 tokens is one piece, and a larger one is not", () => {
    const recordOf = (words: number): string => `{"note": "${"word ".repeat(words)}", "n": 1}`;
    const { pieces } = read(`[${recordOf(80)}, ${recordOf(10)}]`);
    expect(pieces.map((piece) => piece.text)).toEqual([recordOf(80), recordOf(10)]);
    expect(read(`[${recordOf(120)}, 1]`).pieces.length).toBeGreaterThan(2);
  });

  test.each([
    ["id", '"id": 7'],
    ["the name", '"name": "Ada"'],
    ["an id of something else", '"reservation_id": "ZFA04Y"'],
    ["the status", '"status": "cancelled"'],
  ])("%s comes along with every other member, wherever it is", (_, identifying) => {
    for (const members of [`${identifying}, "v": 1, ${many}`, `"v": 1, ${many}, ${identifying}`]) {
      const { pieces } = read(`{"row": {${members}}, "z": 1}`);
      const own = pieces.findIndex((piece) => piece.text === identifying);
      const inRow = pieces.filter(({ frames }) => frames.length === 2);
      expect(inRow.map(({ company }) => company)).toEqual(inRow.map(() => [own]));
      expect(pieces.at(-1)?.company).toEqual([]);
    }
  });

  test("a long value identifies nothing, at most two members do, and the outcome stays too", () => {
    const long = read(`{"row": {"name": "${"Ada ".repeat(30)}", ${many}}}`);
    expect(new Set(long.pieces.map(({ company }) => company.length))).toEqual(new Set([0]));
    const three = read(`{"row": {"id": 1, "name": "Ada", "code": "x1", ${many}}}`);
    expect(new Set(three.pieces.map(({ company }) => company.length))).toEqual(new Set([2]));
    const ended = read(`{"row": {"id": 1, "name": "Ada", ${many}, "status": "cancelled"}}`);
    expect(new Set(ended.pieces.map(({ company }) => company.length))).toEqual(new Set([3]));
  });

  test("two members with the same key are two, and each may go", () => {
    const twice = read('{"a": "first one", "a": "second one"}');
    expect(render(twice, [0])).toBe('{"a": "first one", "…": "1 more in #17"}');
    expect(render(twice, [1])).toBe('{"a": "second one", "…": "1 more in #17"}');
  });

  test("numbers beyond what JavaScript holds are not written again", () => {
    const big = read('{"serial": 12345678901234567890.10e1, "huge": 1e400, "x": 1}');
    const shown = render(big, having(big, "serial", "huge"));
    expect(shown).toBe(
      '{"serial": 12345678901234567890.10e1, "huge": 1e400, "…": "1 more in #17"}',
    );
  });

  test("over several lines the indentation stays", () => {
    const pretty = read(JSON.stringify({ a: 1, b: [10, 20], c: 3 }, null, 2));
    expect(render(pretty, having(pretty, '"a"', '"c"'))).toBe(
      '{\n  "a": 1,\n  "c": 3,\n  "…": "1 more in #17"\n}',
    );
  });
});

describe("arrays", () => {
  test("say how many elements are missing", () => {
    const textPieces = read(
      `[${Array.from({ length: 50 }, (_, row) => `{"row": ${row}}`).join(", ")}]`,
    );
    const shown = JSON.parse(render(textPieces, having(textPieces, '"row": 49'))) as unknown[];
    expect(shown).toEqual([{ row: 49 }, "… 49 more in #17"]);
    expect(JSON.parse(render(textPieces, []))).toEqual(["… 50 more in #17"]);
  });
});

interface Tree {
  readonly text: string;
  /** All numbers in it. Each number occurs once in a document. */
  readonly leaves: readonly number[];
}

/** Documents in which every leaf and every key occurs once, so that each remaining value has one origin. */
const distinctTrees: fc.Arbitrary<string> = fc
  .array(fc.array(fc.nat(70), { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 6 })
  .map((plan) => {
    let next = 1000;
    const rows = plan.map((sizes, row): Tree => {
      const lists = sizes.map((size) => Array.from({ length: size + 1 }, () => next++));
      const inner = lists.map((list, at) =>
        at % 2 === 0 ? `[${list.join(", ")}]` : `{${list.map((n) => `"k${n}": ${n}`).join(", ")}}`,
      );
      const text =
        row % 2 === 0
          ? `[${inner.join(", ")}]`
          : `{${inner.map((one, at) => `"r${row}_${at}": ${one}`).join(", ")}}`;
      return { text, leaves: lists.flat() };
    });
    return `[${rows.map(({ text }) => text).join(", ")}]`;
  });

function leavesOf(value: unknown): readonly number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap((inner) => leavesOf(inner))
    : [];
}

/** The containers of the rendered value that do not say exactly how many of their elements are missing. */
function untrue(now: unknown, was: unknown): readonly unknown[] {
  if (typeof now !== "object" || now === null || typeof was !== "object" || was === null) return [];
  const isMark = (key: string, value: unknown): boolean =>
    key === "…" || (typeof value === "string" && value.startsWith("… "));
  const entries = Object.entries(now);
  const kept = entries.filter(([key, value]) => !isMark(key, value));
  const said = entries.filter(([key, value]) => isMark(key, value)).map(([, value]) => value);
  const missing = Object.keys(was).length - kept.length;
  const counted = said.map((mark) => Number(/(\d+) more/.exec(String(mark))?.[1]));
  const isTrue = missing === 0 ? said.length === 0 : said.length === 1 && counted[0] === missing;
  const origins = Object.values(was as object) as unknown[];
  const inner = kept.flatMap(([, value]) => {
    const [leaf] = leavesOf(value);
    const origin = origins.find((one) => leavesOf(one).includes(leaf ?? -1));
    return untrue(value, origin);
  });
  return isTrue ? inner : [now, ...inner];
}

test("every object and array that lost something says how much, and no other does", () =>
  fc.assert(
    fc.property(distinctTrees, fc.infiniteStream(fc.boolean()), (text, stream) => {
      const textPieces = read(text);
      const wanted = [...stream.take(textPieces.pieces.length)];
      const shown = render(
        textPieces,
        wanted.flatMap((isWanted, piece) => (isWanted ? [piece] : [])),
      );
      expect(untrue(JSON.parse(shown), JSON.parse(text))).toEqual([]);
      expect(shown.split(reference)).toHaveLength(wanted.includes(false) ? 2 : 1);
    }),
    tries({ runs: 200, seed }),
  ));

describe("long strings", () => {
  const words = Array.from({ length: 60 }, (_, number) => `sentence ${number} ends\\n`).join("");
  const textPieces = read(`{"log": "${words}", "ok": true}`);

  test("are cut into stretches, with a mark for each gap", () => {
    const wanted = having(textPieces, "sentence 30 ");
    const { log } = JSON.parse(render(textPieces, wanted)) as { log: string };
    expect(log.startsWith("[…] ")).toBe(true);
    expect(log.endsWith(" […]")).toBe(true);
    const [whole] = having(textPieces, '"ok"');
    const other = JSON.parse(render(textPieces, [...wanted, whole ?? -1])) as { log: string };
    expect(other.log.startsWith("[… #17] ")).toBe(true);
    expect(other.log.endsWith(" […]")).toBe(true);
    expect(log).toContain("sentence 30 ends\n");
  });

  test("of which nothing is kept go with their key", () => {
    expect(JSON.parse(render(textPieces, having(textPieces, '"ok"')))).toEqual({
      ok: true,
      "…": "1 more in #17",
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
          expect(whole).toContain(shown.replaceAll(/^\[…[^\]]*\] | \[…[^\]]*\]$/g, ""));
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
    const nested = (depth: number): string => `${"[".repeat(depth)}${wide}${"]".repeat(depth)}`;
    const wide = Array.from({ length: 500 }, (_, number) => number).join(", ");
    expect(readJsonPieces(nested(99), 1)).toBeDefined();
    expect(readJsonPieces(nested(101), 1)).toBeUndefined();
    expect(readJsonPieces(nested(100_000), 1)).toBeUndefined();
    expect(readJsonPieces("[".repeat(100_000) + "]".repeat(100_000), 1)).toBeUndefined();
    expect(readJsonPieces(`[1, ${"[".repeat(100_000)}${"]".repeat(100_000)}]`, 1)).toBeUndefined();
  });
});

test("wide documents are read and written in one go", () => {
  const rows = Array.from({ length: 50_000 }, (_, row) => ({ row, name: `name_${row}` }));
  const textPieces = read(JSON.stringify(rows));
  expect(textPieces.pieces).toHaveLength(50_000);
  const shown = JSON.parse(render(textPieces, [0, 49_999])) as unknown[];
  expect(shown).toEqual([rows[0], rows[49_999], "… 49998 more in #17"]);
});
