import { expect, test } from "vitest";
import { retrying, retryPolicyOf } from "./retry.ts";

test("without configuration: three attempts, five seconds at first, never more than a minute", () => {
  const policy = retryPolicyOf({});
  expect(policy).toEqual({ attempts: 3, baseMs: 5000, maxMs: 60_000 });
});

test("between attempts there is a pause, and after the last there is none", async () => {
  const pauses: number[] = [];
  const failing = retrying(
    { attempts: 4, baseMs: 10, maxMs: 35 },
    () => Promise.reject(new Error("no")),
    async (ms) => void pauses.push(ms),
  );
  await expect(failing).rejects.toThrow("no");
  expect(pauses).toEqual([10, 20, 35]);
});
