import { expect, test } from "vitest";
import { retryDelayMs, retrying, retryPolicyOf } from "./retry.ts";

test("without configuration: three attempts, five seconds and doubled, never more than a minute", () => {
  const policy = retryPolicyOf({});
  expect(policy).toEqual({ attempts: 3, baseMs: 5000, maxMs: 60_000 });
  expect([2, 3, 4, 5, 6, 7].map((attempt) => retryDelayMs(policy, attempt))).toEqual([
    5000, 10_000, 20_000, 40_000, 60_000, 60_000,
  ]);
});

test("between attempts there is a pause, and after the last there is none", async () => {
  const pauses: number[] = [];
  const failing = retrying(
    { attempts: 3, baseMs: 10, maxMs: 15 },
    () => Promise.reject(new Error("no")),
    async (ms) => void pauses.push(ms),
  );
  await expect(failing).rejects.toThrow("no");
  expect(pauses).toEqual([10, 15]);
});
