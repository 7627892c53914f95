import { expect, test } from "vitest";
import { retrying, retryPolicyOf } from "./retry.ts";

test("without configuration: three attempts, five seconds at first, never more than a minute", () => {
  const policy = retryPolicyOf({});
  expect(policy).toEqual({ attempts: 3, baseMs: 5000, maxMs: 60_000 });
});

test("a tool takes what it does not have itself from the default policy, and a question only the longest pause", () => {
  const usual = { max_attempts: 7, backoff_base_seconds: 1, max_delay_seconds: 20 };
  const policies = { default: usual, per_tool: { shell: { max_attempts: 2 } } };
  const config = { context_config: { retry_policies: policies } };
  expect(retryPolicyOf(config, "look")).toEqual({ attempts: 7, baseMs: 1000, maxMs: 20_000 });
  expect(retryPolicyOf(config, "shell")).toEqual({ attempts: 2, baseMs: 1000, maxMs: 20_000 });
  const question = { attempts: 4, baseMs: 10_000, maxMs: 20_000 };
  expect(retryPolicyOf(config, "askQuestion")).toEqual(question);
  const asked = { ...policies, per_tool: { askQuestion: { max_attempts: 5 } } };
  const other = { context_config: { retry_policies: asked } };
  expect(retryPolicyOf(other, "askQuestion")).toEqual({ ...question, attempts: 5 });
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
