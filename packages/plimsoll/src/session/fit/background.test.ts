/** Background work: tasks run in order, one after the other, and nothing they do disturbs anyone else. */

import { expect, test } from "vitest";
import { createBackground } from "./background.ts";

test("work is done in its order, one piece at a time, and never at once", async () => {
  const background = createBackground(() => undefined);
  const done: string[] = [];
  let running = 0;
  for (const name of ["one", "two", "three"])
    background.run(async () => {
      running++;
      expect(running).toBe(1);
      await new Promise((go) => setImmediate(go));
      done.push(name);
      running--;
    });
  expect(done).toEqual([]);
  await background.idle();
  expect(done).toEqual(["one", "two", "three"]);
});

test("work that throws or rejects stops nothing, and is reported", async () => {
  const failures: unknown[] = [];
  const background = createBackground((error) => failures.push(error));
  const done: string[] = [];
  background.run(() => {
    throw new Error("at once");
  });
  background.run(() => Promise.reject(new Error("later")));
  background.run(async () => {
    done.push("still here");
  });
  await background.idle();
  expect(done).toEqual(["still here"]);
  expect(failures).toEqual([new Error("at once"), new Error("later")]);
});

test("idle with nothing to do is now, and work may give more work", async () => {
  const background = createBackground(() => undefined);
  await background.idle();
  const done: number[] = [];
  background.run(async () => {
    done.push(1);
    background.run(async () => {
      done.push(2);
    });
  });
  await background.idle();
  await background.idle();
  expect(done).toEqual([1, 2]);
});

test("what waits is bounded: more than a few hundred pieces are dropped, and then it goes on", async () => {
  const background = createBackground(() => undefined);
  let count = 0;
  const one = async (): Promise<void> => {
    count++;
  };
  for (let piece = 0; piece < 1_000; piece++) background.run(one);
  await background.idle();
  expect(count).toBe(256);
  background.run(one);
  await background.idle();
  expect(count).toBe(257);
});
