import { expect, test } from "vitest";
import { createSseReader } from "./read-sse.ts";

const text =
  ': plimsoll events\n\nid: 7\nevent: turn-start\ndata: {"a":1}\n\n: keep-alive\n\ndata: one\ndata:two\n\n';
const messages = [{ id: "7", type: "turn-start", data: '{"a":1}' }, { data: "one\ntwo" }];

function readIn(pieces: readonly string[]) {
  const read = createSseReader();
  return pieces.flatMap((piece) => {
    const found = read(piece);
    return found === "too-long" ? [] : found;
  });
}

test("a stream is read the same wherever its chunks are split", () => {
  for (let at = 0; at <= text.length; at++)
    expect(readIn([text.slice(0, at), text.slice(at)])).toEqual(messages);
  expect(readIn([...text])).toEqual(messages);
});

test("lines end with any of the three ends, also when a chunk ends between CR and LF", () => {
  const ended = text.replaceAll("\n", "\r\n");
  expect(readIn([...ended])).toEqual(messages);
  expect(readIn([ended])).toEqual(messages);
  // The last line end may be half of one: it counts when the next character is there.
  expect(readIn([...text.replaceAll("\n", "\r"), ":"])).toEqual(messages);
});

test("a message that is not complete is not told", () => {
  expect(readIn(["data: one\n"])).toEqual([]);
});

test("an event longer than the bound ends the reading, in one line or in many", () => {
  const line = createSseReader(100);
  expect(line(`data: ${"x".repeat(50)}`)).toEqual([]);
  expect(line("x".repeat(60))).toBe("too-long");
  const many = createSseReader(100);
  const answers = Array.from({ length: 4 }, () => many(`data: ${"x".repeat(40)}\n`));
  expect(answers).toContain("too-long");
});
