/** Results of many tools at once, in any order, under one budget. */

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  answered,
  canExecute,
  type Grant,
  isToolAllowed,
  openToolBudget,
  previewOutput,
  type ResultCost,
  reserveOutput,
  shareToolBudget,
  withTokens,
} from "./tool-budget.ts";

const cost = (wholeTokens: number, handleTokens = 50): ResultCost => ({
  wholeTokens,
  handleTokens,
});
const never = Number.POSITIVE_INFINITY;

test("a small result fits as it is, a large one as a handle, and what is left says so", () => {
  const budget = shareToolBudget(openToolBudget(1000));
  expect(budget.reserve("read", cost(300))).toEqual({ kind: "whole", tokens: 300 });
  expect(budget.reserve("read", cost(5000))).toEqual({ kind: "handle", tokens: 50 });
  expect(budget.remaining).toBe(650);
  expect(budget.isExceeded).toBe(false);
});

test("with other calls still open, a large result is a handle where there would be no room left to name them", () => {
  const budget = answered(openToolBudget(2000, { entryTokens: 300 }), 0, 4);
  const room = 2000 - 3 * 150 - 300;
  expect(previewOutput(budget, "read", cost(room)).kind).toBe("whole");
  expect(previewOutput(budget, "read", cost(room + 1))).toEqual({ kind: "handle", tokens: 350 });
  // If there is no handle, or one that saves nothing, only room for the notices about the other calls is kept free.
  expect(previewOutput(budget, "read", cost(1850, never)).kind).toBe("whole");
  expect(previewOutput(budget, "read", cost(1851, never)).kind).toBe("denied");
});

test("the last open call may have all that is left", () => {
  const budget = answered(openToolBudget(2000), 500, 1);
  expect(previewOutput(budget, "read", cost(1500)).kind).toBe("whole");
  expect(previewOutput(budget, "read", cost(1501)).kind).toBe("handle");
});

test("the tools that read a handle are paid for with the first one", () => {
  const budget = shareToolBudget(openToolBudget(1000, { entryTokens: 300 }));
  expect(budget.reserve("read", cost(never)).tokens).toBe(350);
  expect(budget.reserve("read", cost(never)).tokens).toBe(50);
});

test("once a result cannot even be named, every further call is told to stop", () => {
  const budget = shareToolBudget(openToolBudget(200));
  expect(budget.reserve("read", cost(160)).kind).toBe("whole");
  expect(budget.canExecute()).toBe(true);
  const denied = budget.reserve("read", cost(5000));
  expect(denied).toMatchObject({ kind: "denied", reason: "budget", tokens: 0 });
  expect(denied).toHaveProperty(
    "text",
    "The context budget of this turn is used up: 40 tokens are left, and this result needs more. Do not repeat the call. Finish with what you have.",
  );
  expect(budget.isExceeded).toBe(true);
  expect(budget.canExecute("read")).toBe(false);
  expect(budget.reserve("read", cost(1)).kind).toBe("denied");
});

test("with many calls open, what is said to those that are denied has its place, too", () => {
  const budget = shareToolBudget(openToolBudget(3000));
  budget.answered(0, 40);
  const grants = Array.from({ length: 40 }, () => budget.reserve("read", cost(never, 100)));
  const denied = grants.filter(({ kind }) => kind === "denied");
  expect(denied.length).toBeGreaterThan(0);
  expect(denied.length).toBeLessThan(40);
  const granted = grants.reduce((sum, { tokens }) => sum + tokens, 0);
  expect(granted + denied.length * 50).toBeLessThanOrEqual(3000);
});

test("a preview takes nothing, and is no offence", () => {
  const budget = shareToolBudget(openToolBudget(100));
  expect(budget.preview("read", cost(never, never)).kind).toBe("denied");
  expect(budget.isExceeded).toBe(false);
  expect(budget.preview("read", cost(60)).kind).toBe("whole");
  expect(budget.remaining).toBe(100);
});

test.each<[string, { toolsAllowed?: string[]; toolsDenied?: string[] }, boolean]>([
  ["no rules", {}, true],
  ["named", { toolsAllowed: ["read_file"] }, true],
  ["not named", { toolsAllowed: ["write_file"] }, false],
  ["none are", { toolsAllowed: [] }, false],
  ["by the beginning of its name", { toolsAllowed: ["read_*"] }, true],
  ["by the end", { toolsAllowed: ["*_file"] }, true],
  ["by its middle", { toolsAllowed: ["r*d*le"] }, true],
  ["by a piece that is there once only", { toolsAllowed: ["read_file*file"] }, false],
  ["all are", { toolsAllowed: ["*"] }, true],
  ["denied", { toolsDenied: ["read_file"] }, false],
  ["allowed and denied", { toolsAllowed: ["*"], toolsDenied: ["read_*"] }, false],
  ["another is denied", { toolsDenied: ["read"] }, true],
])("rules for a tool: %s", (_name, rules, isAllowed) => {
  expect(isToolAllowed(rules, "read_file")).toBe(isAllowed);
  expect(canExecute(openToolBudget(10, { rules }), "read_file")).toBe(isAllowed);
});

test("a tool that may not run is denied, and the others go on", () => {
  const budget = shareToolBudget(openToolBudget(100, { rules: { toolsDenied: ["shell"] } }));
  expect(budget.reserve("shell", cost(1))).toEqual({
    kind: "denied",
    reason: "rules",
    text: "You may not use the tool shell here. Go on without it.",
    tokens: 0,
  });
  expect(budget.isExceeded).toBe(false);
  expect(budget.reserve("read", cost(40)).kind).toBe("whole");
});

test("what the answer takes and what a compaction frees changes what is left, never below nothing", () => {
  const { budget } = reserveOutput(openToolBudget(100), "read", cost(40));
  expect(canExecute(withTokens(budget, -80), "read")).toBe(false);
  const shared = shareToolBudget(budget);
  shared.add(-80);
  expect(shared.remaining).toBe(0);
  shared.add(500);
  expect(shared.remaining).toBe(480);
});

const costs = fc.record({
  wholeTokens: fc.oneof(fc.nat(400), fc.nat(5000), fc.constant(never)),
  handleTokens: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constant(never)),
});
const asks = fc.array(fc.record({ name: fc.constantFrom("read", "shell"), cost: costs }), {
  maxLength: 30,
});

test("whatever is asked, in any order: what was granted is what is gone, and never more than there was", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.nat(300), asks, (tokens, entryTokens, asked) => {
      let budget = openToolBudget(tokens, { rules: { toolsDenied: ["shell"] }, entryTokens });
      budget = answered(budget, 0, asked.length);
      let granted = 0;
      for (const { name, cost: asking } of asked) {
        const before = budget;
        const preview = previewOutput(budget, name, asking);
        const reserved = reserveOutput(budget, name, asking);
        expect(reserved.grant).toEqual(preview);
        expect(before.isExceeded && reserved.grant.kind !== "denied").toBe(false);
        granted += reserved.grant.tokens;
        budget = reserved.budget;
        expect(budget.granted).toBe(granted);
        expect(granted).toBeLessThanOrEqual(tokens);
      }
    }),
  );
});

test("parallel tools whose results are counted while others reserve: no interleaving grants more than there was", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.nat(3000), asks, async (scheduler, tokens, asked) => {
      const budget = shareToolBudget(openToolBudget(tokens));
      budget.answered(0, asked.length);
      const grants: Grant[] = [];
      const run = async (name: string, asking: ResultCost): Promise<void> => {
        await scheduler.schedule(Promise.resolve(), "the tool runs");
        const counted = await scheduler.schedule(Promise.resolve(asking), "its result is counted");
        grants.push(budget.reserve(name, counted));
      };
      const running = asked.map((ask) => run(ask.name, ask.cost));
      await scheduler.waitFor(Promise.all(running));
      const granted = grants.filter(({ kind }) => kind !== "denied");
      const refused = grants.filter(({ kind }) => kind === "denied");
      expect(granted.length + refused.length).toBe(asked.length);
      const sum = granted.reduce((all, grant) => all + grant.tokens, 0);
      expect(sum).toBeLessThanOrEqual(tokens);
      expect(budget.remaining).toBe(Math.max(0, tokens - sum - refused.length * 50));
      expect(budget.isExceeded).toBe(refused.length > 0);
    }),
  );
});
