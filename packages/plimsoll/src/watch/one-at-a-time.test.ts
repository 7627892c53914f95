import { expect, test } from "vitest";
import { oneAtATime } from "./one-at-a-time.ts";

/** Work that ends when the test says so. */
function slow() {
  const begun: number[] = [];
  const endings: (() => void)[] = [];
  const asking = oneAtATime<number>((request) => {
    begun.push(request);
    return new Promise((resolve) => endings.push(resolve));
  });
  const endNext = async (): Promise<void> => {
    endings.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, asking, endNext };
}

test("of the wishes that come while one runs, only the newest is done", async () => {
  const { begun, asking, endNext } = slow();
  for (const request of [1, 2, 3, 4]) asking.ask(request);
  expect(begun).toEqual([1]);
  await endNext();
  expect(begun).toEqual([1, 4]);
  await endNext();
  asking.ask(5);
  expect(begun).toEqual([1, 4, 5]);
});

test("after it is closed nothing more is begun, and what runs is called off", async () => {
  const { begun, asking, endNext } = slow();
  asking.ask(1);
  asking.ask(2);
  asking.close();
  await endNext();
  asking.ask(3);
  expect(begun).toEqual([1]);

  let signal: AbortSignal | undefined;
  const other = oneAtATime<number>((_, given) => {
    signal = given;
    return Promise.resolve();
  });
  other.ask(1);
  other.close();
  expect(signal?.aborted).toBe(true);
});
