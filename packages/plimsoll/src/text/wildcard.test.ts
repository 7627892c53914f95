import { expect, it } from "vitest";
import { matchesWildcard } from "./wildcard.ts";

it.each([
  ["exact", "exact", true],
  ["exact", "exactly", false],
  ["mcp__*", "mcp__files__read", true],
  ["mcp__*", "my_mcp__read", false],
  ["*_remote", "git_remote", true],
  ["*_remote", "git_remotes", false],
  ["a*b*c", "a-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["a*b*c", "abc", true],
  ["*", "", true],
  ["**", "anything", true],
  ["", "", true],
  ["", "x", false],
  ["a.c", "abc", false],
])("holds %j against %j: %s", (pattern, name, isMatch) => {
  expect(matchesWildcard(pattern, name)).toBe(isMatch);
});

it("does not use one piece of a name twice", () => {
  expect(matchesWildcard("ab*b", "ab")).toBe(false);
  expect(matchesWildcard("ab*b", "abb")).toBe(true);
  expect(matchesWildcard("read_file*file", "read_file")).toBe(false);
});
