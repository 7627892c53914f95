import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { maxDepth, parseJson, readSlices, resumeSlices } from "./slices.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const jsonObject = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });

test("every top-level value and array element is found where it stands", () => {
  fc.assert(
    fc.property(jsonObject, fc.constantFrom(undefined, 1, 3), (value, indent) => {
      const bytes = bytesOf(JSON.stringify(value, null, indent));
      const slices = readSlices(bytes);
      const expected = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
      expect([...slices.fields.keys()].sort()).toEqual(Object.keys(expected).sort());
      for (const [key, slice] of slices.fields) {
        expect(parseJson(bytes, slice)).toEqual(expected[key]);
        const elements = slices.elements.get(key);
        expect(elements?.map((element) => parseJson(bytes, element))).toEqual(
          Array.isArray(expected[key]) ? expected[key] : undefined,
        );
      }
    }),
    tries({ runs: 500, seed: 20261116 }),
  );
});

test("a body whose beginning is known gives the same slices as one that is not", () => {
  const message = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  fc.assert(
    fc.property(
      jsonObject,
      fc.array(message, { minLength: 1 }),
      fc.array(message),
      jsonObject,
      (before, known, added, after) => {
        const { messages: _before, ...head } = before;
        const { messages: _after, ...tail } = after;
        const first = bytesOf(JSON.stringify({ ...head, messages: known, ...tail }));
        const second = bytesOf(
          JSON.stringify({ ...head, messages: [...known, ...added], ...tail }),
        );
        const slices = readSlices(first);
        for (let count = 1; count <= known.length; count++) {
          expect(resumeSlices(second, { slices, field: "messages", count })).toEqual(
            readSlices(second),
          );
        }
      },
    ),
  );
});

test("escapes do not end a string, however many stand before a quote", () => {
  const bytes = bytesOf(
    String.raw`{"a":"${"x".repeat(40)}\\\" \\","b":[1,"\"]"],"c":"${"y".repeat(40)}\\"}`,
  );
  const slices = readSlices(bytes);
  expect(slices.elements.get("b")).toHaveLength(2);
  expect([...slices.fields.keys()]).toEqual(["a", "b", "c"]);
});

test.each([
  ["nothing", ""],
  ["an array", "[1]"],
  ["a number", "7"],
  ["half an object", '{"a":1'],
  ["an open string", '{"a":"b}'],
  ["crossed brackets", '{"a":[1}]'],
  ["a missing value", '{"a":}'],
  ["a missing element", '{"a":[1,,2]}'],
  ["a second object", '{"a":1}{"b":2}'],
])("%s is refused", (_name, text) => {
  expect(() => readSlices(bytesOf(text))).toThrowError(/not valid JSON/);
});

test("depth is bounded, exactly", () => {
  const nested = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  expect(() => readSlices(bytesOf(nested(maxDepth - 1)))).not.toThrow();
  expect(() => readSlices(bytesOf(nested(maxDepth)))).toThrowError(/nests deeper than 200/);
  expect(() => readSlices(bytesOf(nested(200_000)))).toThrowError(/nests deeper/);
});

test("a field given twice counts as its last value", () => {
  const bytes = bytesOf('{"model":"a","model":"b"}');
  const slice = readSlices(bytes).fields.get("model");
  expect(slice && parseJson(bytes, slice)).toBe("b");
});
