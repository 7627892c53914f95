import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { PlimsollError } from "./error.ts";
import { base62, looksLikeHandle, makeHandle } from "./handle.ts";
import { canonicalJson, type JsonValue } from "./json.ts";
import type { Message } from "./message.ts";
import { detectType, splitUnits } from "./unit.ts";

const sign = (text: string): Uint8Array => createHmac("sha256", "key").update(text).digest();
const subject = { tenant: "t", session: "s", contentHash: "c" };

test("the same content has the same handle, in its own session and tenant only", () => {
  const handle = makeHandle(sign, subject);
  expect(makeHandle(sign, subject)).toBe(handle);
  expect(looksLikeHandle(handle)).toBe(true);
  for (const other of [
    { tenant: "u" },
    { session: "r" },
    { contentHash: "d" },
    { tenant: "t\0s", session: "" },
  ]) {
    expect(makeHandle(sign, { ...subject, ...other })).not.toBe(handle);
  }
});

test("16 bytes are 22 characters, and different bytes are different names", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      (left, right) => {
        expect(base62(left)).toHaveLength(22);
        expect(base62(left) === base62(right)).toBe(Buffer.from(left).equals(Buffer.from(right)));
      },
    ),
  );
});

test("canonical text does not depend on the order of keys, nor on null fields", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const object = value as Record<string, JsonValue>;
      const reversed = Object.fromEntries(Object.entries(object).reverse());
      expect(canonicalJson({ ...reversed, "a null": null })).toBe(canonicalJson(object));
    }),
  );
});

test("a long string cannot be mistaken for a short one", () => {
  const long = "x".repeat(5000);
  const short = canonicalJson("#hash", { long: () => "#hash" });
  expect(canonicalJson(long, { long: () => "#hash" })).not.toBe(short);
});

const callOf = (id: string): Message => ({
  role: "assistant",
  parts: [{ kind: "tool-call", id, name: "t", input: "{}" }],
});
const resultOf = (callId: string): Message => ({
  role: "tool",
  parts: [
    { kind: "tool-result", callId, content: [{ kind: "text", text: callId }], isError: false },
  ],
});
const words = (text: string): Message => ({ role: "user", parts: [{ kind: "text", text }] });

test("a call and its results are one unit, wherever the results stand", () => {
  const parallel: Message = {
    role: "assistant",
    parts: [...callOf("1").parts, ...callOf("2").parts],
  };
  const units = splitUnits([
    words("a"),
    parallel,
    resultOf("2"),
    resultOf("1"),
    words("b"),
    callOf("3"),
    words("c"),
  ]);
  expect(units.map(({ first, last, isExchange }) => [first, last, isExchange])).toEqual([
    [0, 0, false],
    [1, 3, true],
    [4, 4, false],
    [5, 5, true],
    [6, 6, false],
  ]);
});

const reasoning: Message = { role: "assistant", parts: [{ kind: "reasoning", text: "" }] };
const says = (text: string): Message => ({ role: "assistant", parts: [{ kind: "text", text }] });
const search: Message = {
  role: "assistant",
  parts: [{ kind: "opaque", type: "item:web_search_call", json: {} }],
};

test.each<[string, readonly Message[], readonly string[]]>([
  [
    "reasoning, and the calls that it led to, with their results",
    [words("a"), reasoning, callOf("1"), callOf("2"), resultOf("2"), resultOf("1"), says("b")],
    ["0", "1-5 exchange", "6"],
  ],
  [
    "words between reasoning and call",
    [reasoning, says("I look."), callOf("1"), resultOf("1"), reasoning, says("done")],
    ["0-3 exchange", "4-5"],
  ],
  ["reasoning after reasoning", [reasoning, reasoning, callOf("1")], ["0-2 exchange"]],
  [
    "a search and what was said of it",
    [reasoning, search, says("found"), words("b")],
    ["0-2", "3"],
  ],
  ["the next reasoning begins anew", [reasoning, search, reasoning, says("b")], ["0-1", "2-3"]],
  ["reasoning that led to nothing", [reasoning, words("stop"), says("b")], ["0", "1", "2"]],
  ["calls without results yet", [callOf("1"), callOf("2"), words("b")], ["0-1 exchange", "2"]],
  ["two plain answers", [says("a"), says("b")], ["0", "1"]],
  [
    "a result that comes late",
    [callOf("1"), says("running"), words("and?"), resultOf("1"), says("done")],
    ["0-3 exchange", "4"],
  ],
  [
    "a result whose id its call does not have",
    [callOf("1"), resultOf("made up"), says("done"), callOf("2"), words("stop"), resultOf("other")],
    ["0-1 exchange", "2", "3 exchange", "4", "5"],
  ],
  [
    "an id that is used again",
    [callOf("1"), words("stop"), callOf("1"), resultOf("1")],
    ["0 exchange", "1", "2-3 exchange"],
  ],
])("%s", (_, messages, expected) => {
  const units = splitUnits(messages).map(({ first, last, isExchange }) => {
    const range = first === last ? `${first}` : `${first}-${last}`;
    return isExchange ? `${range} exchange` : range;
  });
  expect(units).toEqual(expected);
});

test("no unit boundary stands between a call and its result, nor between reasoning and what it led to", () => {
  const message = fc.oneof(
    fc.constantFrom(words("u"), reasoning, says("a"), search),
    fc.constantFrom("1", "2", "3").map(callOf),
    fc.constantFrom("1", "2", "3").map(resultOf),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 14 }), (messages) => {
      const units = splitUnits(messages);
      const unitOf = (index: number) => units.findIndex(({ last }) => index <= last);
      for (const [index, { role, parts }] of messages.entries()) {
        const [part] = parts;
        const next = messages[index + 1];
        if (part?.kind === "reasoning" && next?.role === role)
          expect(unitOf(index + 1)).toBe(unitOf(index));
        if (part?.kind !== "tool-call") continue;
        const partner = messages.findIndex(
          (later, at) => at > index && JSON.stringify(later.parts).includes(`"${part.id}"`),
        );
        if (messages[partner]?.role === "tool") expect(unitOf(partner)).toBe(unitOf(index));
      }
    }),
    tries({ runs: 500, seed: 20261116 }),
  );
});

test("units cover every message once, in order", () => {
  const message = fc.oneof(
    fc.constantFrom(reasoning, says("a"), search),
    fc.string().map(words),
    fc.constantFrom("1", "2", "3").map(callOf),
    fc.constantFrom("1", "2", "3").map(resultOf),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const covered = splitUnits(messages).flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      );
      expect(covered).toEqual(messages.map((_, index) => index));
    }),
  );
});

test("priority comes from the areas that a unit touches, the highest first", () => {
  const areas = [
    { name: "Calendar", priority: 3, patterns: ["meeting"] },
    { name: "To Do List", priority: 1, patterns: ["TODO"] },
  ] as const;
  const units = splitUnits(
    [words("a meeting about the todo list"), words("a meeting"), words("else")],
    areas,
  );
  expect(units.map(({ priority }) => priority)).toEqual([1, 3, 2]);
});

test.each([
  ["code", "import a from 'a';\nexport function f() {\n  return a;\n}\n"],
  [
    "log",
    "2026-11-15 03:00:00 INFO start\n2026-11-15 03:00:01 ERROR no\n2026-11-15 03:00:02 INFO end\n",
  ],
  ["plan_ref", "- [ ] write it\n- [x] read it\n"],
  ["message", "Just a few words about the weather.\nAnd more.\nAnd more still.\n"],
])("%s is recognised", (type, text) => {
  expect(detectType(text)).toBe(type);
});

test("an error is known by its mark, also from another copy of the class", () => {
  const foreign = Object.assign(new Error("x"), { isPlimsollError: true, code: "USAGE" });
  expect(PlimsollError.is(foreign)).toBe(true);
  expect(PlimsollError.is(new Error("x"))).toBe(false);
  expect(new PlimsollError("USAGE", "say it", { cause: "why" })).toMatchObject({
    status: 500,
    cause: "why",
    code: "USAGE",
  });
});
