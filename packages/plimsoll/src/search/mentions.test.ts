/** Mentions: which strings are found, as which kind, and which are ignored. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { type MentionKind, mentionsIn, worthOfStanding } from "./mentions.ts";

function found(text: string): Readonly<Record<string, MentionKind>> {
  return Object.fromEntries(mentionsIn(text));
}

describe("mentions", () => {
  test.each<[string, Readonly<Record<string, MentionKind>>]>([
    [
      "see https://example.org/a?b=1.",
      { "https://example.org/a?b=1": "url", "example.org/a": "path" },
    ],
    ["mail ada@example.org, please", { "ada@example.org": "email" }],
    ["open ./src/load/line.ts now", { "src/load/line.ts": "path", "line.ts": "file" }],
    ["/etc/passwd and ../up/there", { "etc/passwd": "path", "up/there": "path" }],
    ["edit package.json", { "package.json": "file" }],
    ["since 2026-11-15", { "2026-11-15": "date" }],
    [
      "snake_case camelCase PascalCase",
      { snake_case: "name", camelCase: "name", PascalCase: "name" },
    ],
    ["order ZX81Q9 by ABCDEF", { ZX81Q9: "id", ABCDEF: "id" }],
    ["4711 or 48.25", { "4711": "number", "48.25": "number" }],
    ["plain words, of 1 or 22 letters", {}],
  ])("%s", (text, expected) => {
    expect(found(text)).toMatchObject(expected);
    if (Object.keys(expected).length === 0) expect(found(text)).toEqual({});
  });

  test("a string is filed once, under the first kind that finds it", () => {
    expect(found("src/a.ts src/a.ts ./src/a.ts")["src/a.ts"]).toBe("path");
  });

  test("signs behind it are no part of it", () => {
    expect(Object.keys(found("in load_line, then hull_mark; so."))).toEqual([
      "load_line",
      "hull_mark",
    ]);
  });

  test("shouted words that refer to nothing are passed over", () => {
    expect(found("ERROR: FAILED, IMPORTANT WARNING")).toEqual({});
  });

  test("text that was quoted once more is read as text", () => {
    expect(found("first\\nsecond_name\\tthird_name")).toMatchObject({
      second_name: "name",
      third_name: "name",
    });
    expect(Object.keys(found("\\nsecond_name"))).not.toContain("nsecond_name");
  });
});

describe("what is no name", () => {
  test("a run of data", () => {
    expect(found("Zm9vYmFy".repeat(50))).toEqual({});
    expect(found(`${"a/".repeat(200)}b`)).toEqual({});
  });

  test("binary garbage", () => {
    const garbage = Array.from({ length: 400 }, (_, at) => String.fromCharCode(at % 32)).join(
      "a1b2",
    );
    expect(found(garbage)).toEqual({});
    expect(found("\\u0001\\u0002\\x03abc1 ".repeat(20))).toEqual({});
  });

  test("what is too short or too long", () => {
    expect(found("a_b")).toEqual({});
    expect(found(`${"x".repeat(120)}_${"y".repeat(120)}`)).toEqual({});
  });
});

test("any text is read without an exception, and contains every mention", () =>
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      for (const [name, kind] of mentionsIn(text)) {
        expect(text).toContain(name);
        expect(name.length).toBeGreaterThanOrEqual(kind === "name" ? 5 : 3);
        expect(name.length).toBeLessThanOrEqual(200);
      }
    }),
    tries({ runs: 300, seed: 20261115 }),
  ));

test.each([
  ["letters", "a"],
  ["underscores", "a_"],
  ["dots", "a."],
  ["slashes", "a/"],
  ["digits", "12"],
  ["signs of mail", "a@"],
  ["hyphens", "-a"],
  ["capitals", "Ab"],
  ["words of capitals", "AB "],
  ["quoted line ends", "\\n"],
  ["broken addresses", "http://"],
])("two hundred thousand characters of %s are read at once", (_, unit) => {
  expect(mentionsIn(unit.repeat(200_000 / unit.length)).size).toBeLessThan(10);
});

const LONG_BACKSLASHES = 200_000;

test("a run of backslashes is no name", () => {
  expect(found("\\".repeat(LONG_BACKSLASHES))).toEqual({});
  expect(found(`${"\\".repeat(LONG_BACKSLASHES)}nload_line`)).toEqual({ load_line: "name" });
});

test("a name that comes up in more messages is worth more, one among many is worth less", () => {
  expect(worthOfStanding({ messages: 1, fewest: 1 })).toBe(1);
  expect(worthOfStanding({ messages: 3, fewest: 1 })).toBeGreaterThan(2);
  expect(worthOfStanding({ messages: 1, fewest: 40 })).toBeLessThan(0.12);
});

test("encoded data mentions nothing, and paths and ids still do", () => {
  expect([
    ...mentionsIn("SFjhHzF7thyegHy9a52XwJ4nZjs1DRvxu2/8AiK2pYy8J7ccKzjL7fxo").keys(),
  ]).toEqual([]);
  expect([
    ...mentionsIn("src/components/UserProfileCard2/index call ses4KJD0cZP").keys(),
  ]).toContain("src/components/UserProfileCard2/index");
});
