/** Pieces of calls find their call, however a compatible server numbers them. */

import { expect, test } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import { createCallSorter } from "./streamed-calls.ts";

function sorted(...pieces: readonly JsonObject[]): readonly number[] {
  const sorter = createCallSorter();
  return pieces.map((piece) => sorter.callOf(piece));
}

function opening(id: string, name: string, index?: number): JsonObject {
  return {
    ...(index === undefined ? {} : { index }),
    ...(id === "" ? {} : { id }),
    function: { name, arguments: "" },
  };
}

function piece(index?: number): JsonObject {
  return { ...(index === undefined ? {} : { index }), function: { arguments: "{" } };
}

test("the provider's own numbers are kept, in any order", () => {
  expect(sorted(opening("b", "ls", 1), opening("a", "cat", 0), piece(1), piece(0))).toEqual([
    1, 0, 1, 0,
  ]);
});

test("calls that all have the number 0 are told apart by their ids, and by their names where there are none", () => {
  expect(sorted(opening("a", "ls", 0), piece(0), opening("b", "ls", 0), piece(0))).toEqual([
    0, 0, 1, 1,
  ]);
  expect(sorted(opening("", "ls", 0), piece(0), opening("", "cat", 0), piece(0))).toEqual([
    0, 0, 1, 1,
  ]);
});

test("a server that repeats id and name with every piece opens one call", () => {
  expect(sorted(opening("a", "ls", 0), opening("a", "ls", 0), opening("a", "ls", 0))).toEqual([
    0, 0, 0,
  ]);
});

test("without numbers, a piece without an id goes on with the last call", () => {
  expect(
    sorted(opening("a", "ls"), piece(), opening("b", "cat"), piece(), opening("a", "")),
  ).toEqual([0, 0, 1, 1, 0]);
});
