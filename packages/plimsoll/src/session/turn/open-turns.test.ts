/** Turns under way during a shutdown: each one is stored, whether or not its caller ends it. */

import { expect, test } from "vitest";
import { createOpenTurns, type Unended } from "./open-turns.ts";

const longMs = 60_000;

function turn(name: string, aborted: string[], isAwaited: boolean): Unended {
  return { isAwaited, abort: async () => aborted.push(name) };
}

test("a turn that nobody will end is aborted at once, one that somebody will end is waited for", async () => {
  const turns = createOpenTurns();
  const aborted: string[] = [];
  const answered = turn("answered", aborted, true);
  const left: Unended = {
    isAwaited: false,
    abort: async () => {
      aborted.push("left");
      turns.delete(left);
    },
  };
  turns.add(answered);
  turns.add(left);
  const closing = turns.close(longMs);
  expect(aborted).toEqual(["left"]);
  turns.delete(answered);
  await closing;
  expect(aborted).toEqual(["left"]);
});

test("a turn that is not ended in time is aborted", async () => {
  const turns = createOpenTurns();
  const aborted: string[] = [];
  turns.add(turn("slow", aborted, true));
  await turns.close(1);
  expect(aborted).toEqual(["slow"]);
});

test("a request that becomes a turn while the product closes is waited for, and aborted then", async () => {
  const turns = createOpenTurns();
  const aborted: string[] = [];
  const read = Promise.withResolvers<void>();
  const receiving = turns.during(async () => {
    await read.promise;
    const late = turn("late", aborted, false);
    turns.add(late);
    turns.delete(late);
  });
  const closing = turns.close(longMs);
  read.resolve();
  await Promise.all([receiving, closing]);
  expect(aborted).toEqual(["late"]);
});

test("a request that takes too long to become a turn is not waited for", async () => {
  const turns = createOpenTurns();
  void turns.during(() => new Promise<never>(() => undefined));
  await turns.close(1);
});
