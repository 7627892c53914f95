import { expect, it } from "vitest";
import { isLogLine, shareOfLines } from "./log-lines.ts";

it.each([
  "2026-11-15 03:00:00 INFO start",
  "[2026-11-15T03:00:00Z] start",
  "03:00:00 start",
  "1763172000123 start",
  "Nov 15 03:00:00 host sshd[1]: start",
  "[INFO] start",
  "WARNING: slow",
  "npm ERR! missing script",
  "npm warn deprecated",
  "ts=1 level=info msg=start",
])("%j is a line of a log", (line) => {
  expect(isLogLine(line)).toBe(true);
});

it.each(["Information about ships", "const level = 3;", "12 of 30", "", "- [ ] write it"])(
  "%j is none",
  (line) => {
    expect(isLogLine(line)).toBe(false);
  },
);

it("of no lines, none are of any kind", () => {
  expect(shareOfLines([], () => true)).toBe(0);
  expect(shareOfLines(["a", "b"], (line) => line === "a")).toBe(0.5);
});
