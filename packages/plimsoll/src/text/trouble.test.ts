import { expect, it } from "vitest";
import { alarmOf, isErrorLine } from "./trouble.ts";

it.each([
  "ValueError: bad tide",
  "E   AssertionError: 3 != 4",
  "    builtins.KeyError: 'hull'",
  "error: no such branch",
  "error[E0382]: borrow of moved value",
  "src/a.ts(3,5): error TS2304: Cannot find name",
  "a.c:3:5: fatal error: stdio.h: No such file",
  "2026-11-15 08:00:00 ERROR the pump stopped",
  "FAILED tests/test_load.py::test_line",
  "bash: frobnicate: command not found",
  "fatal: not a git repository",
])("%j is an error", (line) => {
  expect(isErrorLine(line)).toBe(true);
});

it.each([
  "raise ValueError if the tide is bad",
  "We had 3 errors yesterday.",
  "0 errors, 12 passed",
  "class LoadError(Exception):",
  "",
])("%j is none", (line) => {
  expect(isErrorLine(line)).toBe(false);
});

it.each([
  ["the build failed", 3],
  ["TypeError in load.ts", 3],
  ["0 errors, 12 passed", 1],
  ["warning: unused variable", 2],
  ["12 passed", 0],
])("%j alarms by %d", (line, alarm) => {
  expect(alarmOf(line)).toBe(alarm);
});

it("looks at the beginning of a long line only", () => {
  const long = "x ".repeat(500_000);
  expect(alarmOf(`${long} failed`)).toBe(0);
  expect(isErrorLine(`${long} command not found`)).toBe(false);
  expect(isErrorLine(`${" ".repeat(20)}ValueError: ${long}`)).toBe(true);
});
