import { expect, test } from "vitest";
import { createStopDecider, type StopSignal } from "./stop-signals.ts";

test.each<[string, readonly (readonly [StopSignal, number])[], readonly string[]]>([
  ["one Ctrl-C", [["SIGINT", 0]], ["stop"]],
  [
    "one Ctrl-C that npm hands on, and bootstrap as a SIGTERM",
    [
      ["SIGINT", 0],
      ["SIGTERM", 2],
      ["SIGINT", 30],
    ],
    ["stop", "same", "same"],
  ],
  [
    "the same in another order",
    [
      ["SIGTERM", 0],
      ["SIGINT", 400],
    ],
    ["stop", "same"],
  ],
  [
    "two Ctrl-C",
    [
      ["SIGINT", 0],
      ["SIGINT", 10],
      ["SIGINT", 700],
    ],
    ["stop", "same", "at-once"],
  ],
  [
    "a supervisor that asks again and again",
    [
      ["SIGTERM", 0],
      ["SIGTERM", 500],
      ["SIGTERM", 1000],
      ["SIGHUP", 1500],
    ],
    ["stop", "same", "same", "same"],
  ],
])("%s", (_, signals, expected) => {
  const decide = createStopDecider();
  expect(signals.map(([signal, at]) => decide(signal, at))).toEqual(expected);
});
