import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJsonPath, selectJson } from "./json-path.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function select(text: string, path: string): string {
  const bytes = bytesOf(text);
  const found = selectJson(bytes, readJsonPath(path) ?? []);
  return found.kind === "found"
    ? new TextDecoder().decode(bytes.subarray(found.start, found.end))
    : found.sentence;
}

describe("paths", () => {
  test.each([
    ["a.b[3].c", ["a", "b", "3", "c"]],
    ["/a/b/3", ["a", "b", "3"]],
    ["/a~1b/~0", ["a/b", "~"]],
    ["/", [""]],
    ["$.a[0]", ["a", "0"]],
    ["$", []],
    [".", []],
    [".[2].x", ["2", "x"]],
    [".a.b", ["a", "b"]],
    ["[0][1]", ["0", "1"]],
    ['a["x.y"]', ["a", "x.y"]],
    ["a['x[0]']", ["a", "x[0]"]],
    ["über.größe", ["über", "größe"]],
  ])("%s", (path, steps) => {
    expect(readJsonPath(path)).toEqual(steps);
  });

  test.each(["a..b", "a[", "a[x]", "a]b", "[0]a", '["a', "a.", `/${"a/".repeat(200)}`])(
    "%s is none",
    (path) => {
      expect(readJsonPath(path)).toBeUndefined();
    },
  );
});

describe("a value by its path", () => {
  const text = ' {"a" : {"b":[1, {"c":"x]\\"}"}, [] , "end"]}, "k\\u0065y": -1.5e3, "": true} ';

  test.each([
    ["a.b[0]", "1"],
    ["a.b[1].c", '"x]\\"}"'],
    ["a.b[2]", "[]"],
    ["/a/b/3", '"end"'],
    ["key", "-1.5e3"],
    ["/", "true"],
    ["$", text.trim()],
  ])("%s", (path, value) => {
    expect(select(text, path)).toBe(value);
  });

  test.each([
    ["x", "The content has no `x`. It has: a, k\\u0065y, ."],
    ["a.b[9]", "`a.b` is an array: its elements are [0] to [3]."],
    ["a.b.c", "`a.b` is an array: its elements are [0] to [3]."],
    ["a.b[2][0]", "`a.b.2` is an empty array."],
    ["key.x", "`key` is a single value with nothing inside. Leave out the rest of the path."],
  ])("%s is not there, and it is said what is", (path, sentence) => {
    expect(select(text, path)).toBe(sentence);
  });

  test.each([
    "",
    "plain words",
    '{"a": [1, 2',
    '{"a" 1}',
    "{a: 1}",
    '{"b": 1 "a": 2}',
    '{"b":"',
    "{",
  ])("%j is no JSON", (broken) => {
    expect(select(broken, "a.c")).toMatch(/^The content is not JSON/);
  });

  test("one of a million elements", () => {
    const list = `[${Array.from({ length: 1_000_000 }, (_, i) => `{"n":${i}}`).join(",")}]`;
    expect(select(list, "[999999].n")).toBe("999999");
    expect(select(list, "[1000000].n")).toBe(
      "The content is an array: its elements are [0] to [999999].",
    );
  });

  test("every value of any JSON is found, as JSON.parse has it", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        fc.array(fc.nat(5), { maxLength: 4 }),
        (json, picks) => {
          const text = JSON.stringify(json);
          let value: unknown = JSON.parse(text);
          const steps: string[] = [];
          for (const pick of picks) {
            if (typeof value !== "object" || value === null) break;
            const keys = Object.keys(value);
            const key = keys[pick % Math.max(1, keys.length)];
            if (key === undefined) break;
            steps.push(key);
            value = (value as Record<string, unknown>)[key];
          }
          const bytes = bytesOf(text);
          const found = selectJson(bytes, steps);
          if (found.kind !== "found") throw new Error(found.sentence);
          const slice = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
            bytes.subarray(found.start, found.end),
          );
          expect(slice).toBe(JSON.stringify(value));
        },
      ),
    );
  });

  test("whatever the bytes are, there is an answer", () => {
    const piece = fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "a", "1", " ");
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.constantFrom("a", "0", "")), (pieces, steps) => {
        expect(["found", "absent"]).toContain(selectJson(bytesOf(pieces.join("")), steps).kind);
      }),
    );
  });
});
