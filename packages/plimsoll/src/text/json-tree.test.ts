import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonNode, readJson, readJsonLines, stringEnd } from "./json-tree.ts";

describe("reading", () => {
  test("what JSON.parse reads, and nothing else", () => {
    const texts = [
      "{}",
      "[]",
      " [1 , 2] ",
      '{"a":[{"b":null}]}',
      "1",
      '"x"',
      "true",
      "-0.5e+3",
      '"\\u00e9\\n\\\\"',
      "[[],{}]",
      "",
      "{",
      "[1,]",
      '{"a":1,}',
      '{"a"}',
      "{a:1}",
      "[1 2]",
      "01",
      "1.",
      "+1",
      ".5",
      "NaN",
      "'x'",
      '"\\x"',
      '"\\u12"',
      '"a\nb"',
      "[1]]",
      "tru",
      "nullx",
      '{"a":1 "b":2}',
      "\u00a0[]",
      "[,]",
      '{"a":}',
      "--1",
      "1e",
      '"\t"',
    ];
    for (const text of texts) {
      const isJson = ((): boolean => {
        try {
          JSON.parse(text);
          return true;
        } catch {
          return false;
        }
      })();
      expect([text, readJson(text) !== undefined]).toEqual([text, isJson]);
    }
  });

  test("any value that can be written", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
        const pretty = JSON.stringify(JSON.parse(text), null, indent);
        expect(readJson(pretty)).toBeDefined();
      }),
      { seed: 21, numRuns: 200 },
    );
  });

  test("lines need a line end between them", () => {
    expect(readJsonLines('{"a":1}\n\n[2]\n')?.length).toBe(2);
    expect(readJsonLines('{"a":1} {"a":2}')).toBeUndefined();
    expect(readJsonLines('{"a":1}')).toBeUndefined();
  });

  test("a hundred thousand levels", () => {
    expect(readJson("[".repeat(100_000) + "]".repeat(100_000))).toBeDefined();
  });
});

describe("places", () => {
  const text = ' {"a" : [1, {"b":"x"}], "a": 12345678901234567890.10e1, "c":{}} ';
  const shown = ({ from, start, end, children }: JsonNode): unknown => [
    text.slice(from, start),
    text.slice(start, end),
    ...children.map(shown),
  ];

  test("are those of keys and values as they were written, also where a key is given twice", () => {
    const root = readJson(text);
    expect(root?.children.map(shown)).toEqual([
      ['"a" : ', '[1, {"b":"x"}]', ["", "1"], ["", '{"b":"x"}', ['"b":', '"x"']]],
      ['"a": ', "12345678901234567890.10e1"],
      ['"c":', "{}"],
    ]);
    expect(root?.children.map(({ key }) => key)).toEqual(['"a"', '"a"', '"c"']);
  });

  test.each([
    ['"a" b', 0, 3],
    ['x"a\\"b" c', 1, 7],
    ['"a\\\\"', 0, 5],
    ['"a', 0, -1],
    ['"a\\"', 0, -1],
    ['"a\nb"', 0, -1],
    ['"\\q"', 0, -1],
  ])("a string in %j from %d ends at %d", (source, start, end) => {
    expect(stringEnd(source, start)).toBe(end);
  });
});
