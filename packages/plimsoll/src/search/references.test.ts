import { expect, test } from "vitest";
import { referencesOf } from "./references.ts";

test.each([
  [
    "a path, its file and the names in it",
    "cat ./src/wire/openai_chat.ts:12",
    ["src/wire/openai_chat.ts", "openai_chat.ts", "openai_chat"],
  ],
  ["an address on the web", "see (https://example.org/a?b=c#d).", []],
  ["an e-mail address", "write to <omar.davis7857@example.com>,", ["omar.davis7857@example.com"]],
  [
    "snake_case, camelCase, PascalCase, private names",
    "max_count fooBar SpanSelector _image",
    ["max_count", "fooBar", "SpanSelector", "_image"],
  ],
  ["ids and words in capitals", "flight HAT028 got EISDIR", ["HAT028", "EISDIR"]],
  [
    "dates, prices and long numbers",
    "on 2024-05-21 for $140.50, order 92164",
    ["2024-05-21", "140.50", "92164"],
  ],
  [
    "keys and values of JSON",
    '{"reservation_id": "JG7FMM", "amount": 1234}',
    ["reservation_id", "JG7FMM", "1234"],
  ],
])("%s", (_, text, expected) => {
  expect([...referencesOf(text)]).toEqual(expect.arrayContaining(expected));
});

test("a web address is one reference", () => {
  expect([...referencesOf("see https://example.org/a/b_c.html now")]).toEqual([
    "https://example.org/a/b_c.html",
  ]);
});

test("plain prose refers to nothing", () => {
  expect([...referencesOf("It rained, and we stayed at home. 12 of us! Why? No.")]).toEqual([]);
});

test("long runs are data, and cost no more time than their length", () => {
  expect([
    ...referencesOf(`${"a1".repeat(500_000)} ${"a/".repeat(500_000)} ${"_".repeat(500_000)}`),
  ]).toEqual([]);
});
