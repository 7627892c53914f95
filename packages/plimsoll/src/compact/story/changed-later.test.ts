/** Which results are out of date, because the agent changed the file afterwards. */

import { describe, expect, test } from "vitest";
import { exchange, read, shell, user } from "../../../test/generate/said.ts";
import { seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import { readActs } from "./acts.ts";
import { changedLater } from "./changed-later.ts";

/** By the number of the message that made the call: the number of the change, and its kind. */
function staleIn(messages: readonly Message[]): readonly string[] {
  const seen = seenFrom([user("Go on."), ...messages]).messages;
  const acts = readActs(seen, 0);
  const later = changedLater(acts);
  return acts.flatMap(({ call, number }) => {
    const change = later.get(call);
    return change === undefined ? [] : [`#${number} ${change.kind} in #${change.number}`];
  });
}

const edit = (path: string): readonly Message[] =>
  exchange("edit_file", { path, old: "a", new: "b" }, "ok");
const write = (path: string): readonly Message[] =>
  exchange("write_file", { path, content: "new" }, "ok");

describe("a result is out of date", () => {
  test.each([
    ["after an edit", [...read("src/a.ts", ["x"]), ...edit("src/a.ts")], "changed"],
    ["after a new file", [...read("src/a.ts", ["x"]), ...write("src/a.ts")], "rewritten"],
    [
      "if a command showed it",
      [...shell("cd /repo && sed -n 1,9p src/a.ts", "x"), ...edit("/repo/src/a.ts")],
      "changed",
    ],
    [
      "if a command changed it",
      [...shell("cat a.py", "x"), ...shell("sed -i s/a/b/ a.py", "")],
      "changed",
    ],
    [
      "if it was written anew and then edited",
      [...read("src/a.ts", ["x"]), ...write("src/a.ts"), ...edit("src/a.ts")],
      "rewritten",
    ],
  ])("%s", (_, messages, kind) => {
    const last = seenFrom([user("Go on."), ...messages]).messages.at(-2)?.number;
    expect(staleIn(messages)).toEqual([`#1 ${kind} in #${last}`]);
  });
});

describe("a result is up to date", () => {
  test.each([
    ["if the change came before it", [...edit("src/a.ts"), ...read("src/a.ts", ["x"])]],
    [
      "if another file of the same name changed",
      [...read("src/a.ts", ["x"]), ...edit("test/a.ts")],
    ],
    [
      "if the change failed",
      [
        ...read("src/a.ts", ["x"]),
        ...exchange("edit_file", { path: "src/a.ts" }, "Error: no match"),
      ],
    ],
    [
      "if it is the output of a program that changed later",
      [...shell("python a.py", "x"), ...write("a.py")],
    ],
  ])("%s", (_, messages) => expect(staleIn(messages)).toEqual([]));
});

test("of many changes, each result names the newest", () => {
  const files = Array.from({ length: 400 }, (_, at) => `src/part${at % 4}.ts`);
  const stale = staleIn(files.flatMap((path) => [...read(path, ["x"]), ...edit(path)]));
  expect(stale).toHaveLength(400);
  expect(new Set(stale.map((one) => one.split(" in ")[1])).size).toBe(4);
});
