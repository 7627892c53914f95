import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withTimeout } from "./with-timeout.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new Promise<never>(() => undefined);
const tooLate = (): never => {
  throw new Error("it took too long");
};

test("work that ends in time gives what it gives, and leaves no timer behind", async () => {
  expect(await withTimeout(Promise.resolve("done"), 100, tooLate)).toBe("done");
  expect(await withTimeout("at once", 100, tooLate)).toBe("at once");
  await expect(withTimeout(Promise.reject(new Error("no")), 100, tooLate)).rejects.toThrow("no");
  expect(vi.getTimerCount()).toBe(0);
});

test("work that does not end gives what is given in its place, and not before its time", async () => {
  const heard: string[] = [];
  const waiting = withTimeout(never, 100, () => "late").then((given) => heard.push(given));
  await vi.advanceTimersByTimeAsync(99);
  expect(heard).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(heard).toEqual(["late"]);
});

test("whoever throws when it is late makes the waiting fail", async () => {
  const waiting = expect(withTimeout(never, 100, tooLate)).rejects.toThrow("it took too long");
  await vi.advanceTimersByTimeAsync(100);
  await waiting;
});

test("work that fails after its time disturbs nobody", async () => {
  const work = Promise.withResolvers<string>();
  const waiting = withTimeout(work.promise, 100, () => "late");
  await vi.advanceTimersByTimeAsync(100);
  work.reject(new Error("much later"));
  expect(await waiting).toBe("late");
});
