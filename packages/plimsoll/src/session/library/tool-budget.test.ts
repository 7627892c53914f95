/** Results of every form, counted by the strictest tokenizer before they join the conversation. */

import { expect, test } from "vitest";
import { measurement } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { Config } from "../../config/schema.ts";
import type { Fitted } from "../fit/last-resort.ts";
import type { Target } from "../measure/target.ts";
import { type BudgetedTurn, createTurnBudget, type TurnBudget } from "./tool-budget.ts";

type Defaults = NonNullable<Config["defaults"]>;

/** Characters per token. */
const rates = new Map([
  ["coarse", 10],
  ["fine", 2],
]);
const prepared: string[] = [];
let countedChars = 0;
const counter = {
  countNow: (tokenizer: string, text: string): Count | undefined => {
    countedChars += text.length;
    const rate = rates.get(tokenizer);
    return rate === undefined
      ? undefined
      : { tokens: Math.ceil(text.length / rate), certainty: "exact" };
  },
  prepare: async (tokenizer: string): Promise<void> => {
    prepared.push(tokenizer);
  },
};

const count = (tokens: number): Count => ({ tokens, certainty: "exact" });
const measured = (tokens: number) =>
  measurement({ system: count(0), skills: count(0), tools: count(0), conversation: count(tokens) });

function turn(
  changes: Partial<BudgetedTurn> = {},
  { reported = 1000, limit = 10_000 } = {},
): BudgetedTurn {
  const tokens = 1000;
  const target = {
    // In addition to the room for the answer.
    limit: {
      window: limit + 1024,
      named: limit + 1024,
      buffer: 0,
      maxOutput: 1024,
      reserve: 1024,
      limit,
      windowSource: "model",
    },
    ruler: {
      key: "k",
      tokenizer: "coarse",
      media: { image: { kind: "tiles-512", base: 85, perTile: 170 }, pageTokens: 1000 },
    },
  } as unknown as Target;
  const fitted = {
    target,
    limit,
    projection: { tokens, least: tokens, most: tokens, head: tokens, preamble: 0 },
    measured: measured(1000),
    measurement: measured(reported),
  } as Fitted;
  const who = { provider: "openai", model: "m" };
  const plain = { fitted, targets: [target] as const, rules: {}, who, lastTool: undefined };
  return { ...plain, toolsToCome: 0, ...changes };
}

async function begun(
  changes: Partial<BudgetedTurn> = {},
  { tokenizers = ["coarse"], reported = 1000, limit = 10_000, defaults = {} as Defaults } = {},
): Promise<TurnBudget> {
  const budget = createTurnBudget({
    config: { defaults },
    counter,
    tokenizers: new Set(tokenizers),
    debug: () => undefined,
  });
  await budget.begin(turn(changes, { reported, limit }));
  return budget;
}

const call = { id: "c1", name: "read" };
const contentOf = ({ message }: { readonly message: { readonly parts: readonly unknown[] } }) =>
  message.parts[0];

test.each([
  ["text", "as it is\n", "as it is\n", false],
  ["JSON", { rows: [1, "zwei"] }, '{"rows":[1,"zwei"]}', false],
  ["nothing", undefined, "", false],
  ["null", null, "null", false],
  ["a list of other things", [{ kind: "text" }], '[{"kind":"text"}]', false],
  ["no rows", [], "[]", false],
  ["a failure", new Error("no such file"), "no such file", true],
])("%s is the result of its call", async (_name, output, text, isError) => {
  const { publicApi } = await begun();
  const grant = publicApi.reserve(call, output);
  expect(grant).toMatchObject({ kind: "whole", message: { role: "tool" } });
  expect(contentOf(grant)).toEqual({
    kind: "tool-result",
    callId: "c1",
    name: call.name,
    content: [{ kind: "text", text }],
    isError,
  });
});

test("parts in the neutral form stay what they are, and an image costs what its provider makes of it", async () => {
  const { publicApi } = await begun();
  const parts = [
    { kind: "text", text: "A picture:" },
    { kind: "image", media: { kind: "url", url: "https://example.org/a.png" } },
  ] as const;
  const grant = publicApi.reserve(call, parts);
  expect(contentOf(grant)).toMatchObject({ content: parts });
  expect(grant.tokens).toBeGreaterThan(85);
});

test("what JSON cannot hold is refused, and takes nothing", async () => {
  const { publicApi } = await begun();
  const before = publicApi.remaining;
  expect(() => publicApi.reserve(call, { id: 1n })).toThrowError(
    /a list of parts in Plimsoll's neutral form/,
  );
  expect(publicApi.remaining).toBe(before);
});

test("of all tokenizers that are configured the one holds that makes the most of it", async () => {
  const text = "x".repeat(300);
  expect((await begun()).publicApi.countTokens(text)).toBe(30);
  const both = await begun({}, { tokenizers: ["coarse", "fine"] });
  expect(both.publicApi.countTokens(text)).toBe(150);
  expect(both.publicApi.reserve(call, text).tokens).toBe(154);
});

test("a tokenizer that cannot count at once is loaded, and till then guessed, rather too high", async () => {
  const { publicApi } = await begun({}, { tokenizers: ["absent"] });
  expect(prepared).toContain("absent");
  expect(publicApi.countTokens("x".repeat(700))).toBe(200);
  expect(publicApi.countTokens("語".repeat(700))).toBe(525);
});

test("where the provider counts more than we do, results are counted so, too", async () => {
  const { publicApi } = await begun({}, { reported: 1500 });
  expect(publicApi.countTokens("x".repeat(100))).toBe(15);
});

test("the head, the answer and what was granted are taken off; a compaction gives nothing back that was not in the way", async () => {
  const budget = await begun();
  expect(budget.publicApi.remaining).toBe(9000);
  budget.answered({ tokens: 500, calls: 2 });
  expect(budget.publicApi.remaining).toBe(8500);
  const { tokens } = budget.publicApi.reserve(call, "x".repeat(1000));
  expect(tokens).toBe(104);
  expect(budget.publicApi.remaining).toBe(8396);
  expect(budget.spent).toBe(604);
  budget.freed(600);
  expect(budget.publicApi.remaining).toBe(8396);
  expect(budget.spent).toBe(4);
  await budget.begin(turn());
  expect(budget.publicApi.remaining).toBe(9000);
});

test("what is larger than a result may be is a handle, however much room there is", async () => {
  const budget = await begun({}, { defaults: { toolResponseMaxBytes: 12_288 } });
  expect(budget.publicApi.preview(call, "x".repeat(12_288)).kind).toBe("whole");
  expect(budget.publicApi.preview(call, "x".repeat(12_289)).kind).toBe("handle");
  expect([...budget.takeHandles()]).toEqual([]);
  const grant = budget.publicApi.reserve(call, "x".repeat(12_289));
  expect(contentOf(grant)).toMatchObject({ content: [{ text: "x".repeat(12_289) }] });
  expect([...budget.takeHandles()]).toEqual([["c1", "read"]]);
  expect([...budget.takeHandles()]).toEqual([]);
});

test.each([
  ["50 KiB in a small window", 10_000, {}, 51_200],
  ["15 % of a large one, as its tokenizer counts", 100_000, {}, 149_000],
  [
    "as much as is configured, also where that is more",
    10_000,
    { toolResponseMaxBytes: 60_000 },
    60_000,
  ],
])(
  "the most that is seen whole is the same as in the proxy: %s",
  async (_name, limit, defaults, most) => {
    const { publicApi } = await begun({}, { limit, defaults });
    expect(publicApi.preview(call, "x".repeat(most)).kind).toBe("whole");
    expect(publicApi.preview(call, "x".repeat(most + 2000)).kind).toBe("handle");
  },
);

test("what is too large by far is not counted to find that out", async () => {
  const { publicApi } = await begun();
  countedChars = 0;
  expect(publicApi.preview(call, "x".repeat(3_000_000)).kind).toBe("handle");
  expect(countedChars).toBeLessThan(2000);
});

test("before the first turn nothing is known, and everything is granted", () => {
  const { publicApi } = createTurnBudget({
    config: {},
    counter,
    tokenizers: new Set(),
    debug: () => undefined,
  });
  expect(publicApi.reserve(call, "x".repeat(3_000_000)).kind).toBe("whole");
  expect(publicApi.canExecute("read")).toBe(true);
});

test("in a last turn nothing may be called but the report", async () => {
  const { publicApi } = await begun({ lastTool: "agent__final_report" });
  expect(publicApi.canExecute()).toBe(false);
  expect(publicApi.canExecute("agent__final_report")).toBe(true);
  expect(publicApi.reserve({ id: "c0", name: "agent__final_report" }, "ok").kind).toBe("whole");
  expect(publicApi.isExceeded).toBe(false);
  const denied = publicApi.reserve(call, "x");
  expect(denied.kind).toBe("denied");
  expect(contentOf(denied)).toMatchObject({ isError: true });
  expect(publicApi.isExceeded).toBe(true);
});
