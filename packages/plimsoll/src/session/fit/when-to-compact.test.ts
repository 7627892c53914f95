import { afterEach, describe, expect, test, vi } from "vitest";
import type { Config } from "../../config/schema.ts";
import { type Engine, openEngine } from "../../engine.ts";
import type { CompactionEndEvent } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { costOf } from "../../prompt/bill.ts";
import { readingCost } from "../../prompt/compaction-payoff.ts";
import { priceListOf } from "../../prompt/prices.ts";
import { recordingOf } from "../../replay/recording.ts";
import { replayAll } from "../../replay/replay.ts";
import { scriptOf } from "../../replay/turns.ts";
import { simulateConversation } from "../../simulate/simulate.ts";
import { wires } from "../../wire/wires.ts";

const limitTokens = 10_000;
const minute = 60_000;

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

interface Asked {
  /** Share of the limit, by Plimsoll's count. */
  readonly filled: number;
  readonly usage?: Partial<Usage>;
  readonly mark?: JsonObject;
  /** The provider reports no usage. */
  readonly isSilent?: boolean;
  readonly model?: string;
}

/** A conversation with a model, filled as far as wanted, with a clock that can be set. */
async function talkWith(
  cost: Config["cost"] = {},
  usualModel = "claude-sonnet-4-5",
): Promise<{
  readonly ask: (asked: Asked) => Promise<string>;
  readonly wait: (milliseconds: number) => void;
  readonly reasons: readonly string[];
}> {
  let now = 1_800_000_000_000;
  const settings = {
    contextWindow: limitTokens + 1000,
    contextWindowBufferTokens: 0,
    maxOutputTokens: 1000,
    tokenizer: "tiktoken:o200k_base",
  };
  const plimsoll = await openEngine({
    store: "memory",
    config: {
      cost,
      agent: { warning_note: false },
      providers: {
        anthropic: { models: { [usualModel]: settings, "claude-sonnet-4-6": settings } },
      },
    },
    parts: { now: () => now },
  });
  open.push(plimsoll);
  const reasons: string[] = [];
  plimsoll.on("compaction-end", ({ reason }: CompactionEndEvent) => reasons.push(reason));
  const messages: JsonObject[] = [];
  let filledTokens = 0;
  const ask = async (asked: Asked): Promise<string> => {
    const { filled, usage, mark, isSilent = false, model = usualModel } = asked;
    const missing = Math.round(filled * limitTokens - filledTokens);
    // One token per word, plus a few for the wrapping.
    const text = "water ".repeat(Math.max(1, missing - 10));
    const block = { type: "text", text, ...(mark === undefined ? {} : { cache_control: mark }) };
    messages.push({ role: "user", content: [block] });
    const body = { model, max_tokens: 1000, messages };
    const turn = await plimsoll.receive({
      tenant: "t",
      provider: "anthropic",
      wire: wires.anthropic,
      body: new TextEncoder().encode(JSON.stringify(body)),
      hints: { clientKey: "one", isCompacted: false },
    });
    const { outcome, measured } = turn.fitted;
    filledTokens = turn.fitted.tokensBefore;
    const answer = { role: "assistant", content: [{ type: "text", text: "Aye." }] };
    messages.push(answer);
    const reported: Usage = {
      inputTokens: measured.total,
      outputTokens: 2,
      cacheReadTokens: 0,
      cacheWriteTokens: measured.total,
      ...usage,
    };
    await turn.end({
      status: "complete",
      answer: { outcome: "message", choices: [[answer]], ...(isSilent ? {} : { usage: reported }) },
    });
    return outcome;
  };
  const wait = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { ask, reasons, wait };
}

/** Many turns, so that there is something to remove. */
async function fill(talk: { ask: (asked: Asked) => Promise<string> }, to: number, more = {}) {
  for (let step = 1; step <= 8; step++) await talk.ask({ filled: (to * step) / 8, ...more });
}

describe("below the line at which a compaction is due", () => {
  test("nothing happens while the provider has it in its cache", async () => {
    const talk = await talkWith();
    await fill(talk, 0.84);
    talk.wait(4 * minute);
    expect(await talk.ask({ filled: 0.85 })).toBe("passthrough");
  });

  test("an expired cache is a good moment", async () => {
    const talk = await talkWith();
    await fill(talk, 0.84);
    talk.wait(6 * minute);
    expect(await talk.ask({ filled: 0.85 })).toBe("compacted");
    await vi.waitFor(() => expect(talk.reasons).toEqual(["cold"]));
  });

  test("not before the window fills", async () => {
    const talk = await talkWith();
    await fill(talk, 0.6);
    talk.wait(60 * minute);
    expect(await talk.ask({ filled: 0.62 })).toBe("passthrough");
  });

  test("a client that asks for an hour has an hour", async () => {
    const mark = { type: "ephemeral", ttl: "1h" };
    const talk = await talkWith();
    for (let step = 1; step <= 8; step++) await talk.ask({ filled: 0.1 * step + 0.04 });
    await talk.ask({ filled: 0.845, mark });
    talk.wait(10 * minute);
    expect(await talk.ask({ filled: 0.85 })).toBe("passthrough");
    talk.wait(61 * minute);
    expect(await talk.ask({ filled: 0.86 })).toBe("compacted");
  });

  test.each([
    ["a clock that goes back says nothing", {}, -30 * minute, {}],
    ["nor does a provider that reports no cache", noCache(), 30 * minute, {}],
    ["and whoever wants none has none", {}, 30 * minute, { when: "forced" } as const],
  ])("%s", async (_name, usage, waited, cost) => {
    const talk = await talkWith(cost);
    await fill(talk, 0.84, { usage });
    talk.wait(waited);
    expect(await talk.ask({ filled: 0.85, usage })).toBe("passthrough");
  });

  test("a turn that reports nothing keeps the cache warm all the same", async () => {
    const talk = await talkWith();
    await fill(talk, 0.84);
    talk.wait(4 * minute);
    await talk.ask({ filled: 0.845, isSilent: true });
    talk.wait(4 * minute);
    expect(await talk.ask({ filled: 0.85 })).toBe("passthrough");
  });

  test("two models in turn have a cache each", async () => {
    const talk = await talkWith();
    await fill(talk, 0.7);
    await talk.ask({ filled: 0.75, model: "claude-sonnet-4-6" });
    expect(await talk.ask({ filled: 0.845 })).toBe("passthrough");
    expect(await talk.ask({ filled: 0.85, model: "claude-sonnet-4-6" })).toBe("passthrough");
  });

  test("a model whose price nobody knows is left alone until it is full", async () => {
    const talk = await talkWith({ when: "pays", compact_from: 0 }, "nobody-knows-this-model");
    await fill(talk, 0.84);
    talk.wait(30 * minute);
    expect(await talk.ask({ filled: 0.9 })).toBe("passthrough");
    expect(await talk.ask({ filled: 0.96 })).toBe("compacted");
    await vi.waitFor(() => expect(talk.reasons).toEqual(["compact"]));
  });
});

function noCache(): Partial<Usage> {
  return { cacheReadTokens: undefined, cacheWriteTokens: undefined } as unknown as Partial<Usage>;
}

describe("when it is due", () => {
  test("a compaction that will not pay waits until it must be", async () => {
    const talk = await talkWith({ expected_turns: 1 });
    await fill(talk, 0.94);
    expect(await talk.ask({ filled: 0.965 })).toBe("passthrough");
    expect(await talk.ask({ filled: 0.985 })).toBe("compacted");
    await vi.waitFor(() => expect(talk.reasons).toEqual(["forced"]));
  });

  test("one that pays is made: what grows slowly would be carried on for long", async () => {
    const talk = await talkWith({ expected_turns: 500 });
    await fill(talk, 0.92);
    const outcomes: string[] = [];
    while (!outcomes.includes("compacted") && outcomes.length < 100)
      outcomes.push(await talk.ask({ filled: 0.92 + outcomes.length * 0.0004 }));
    expect(outcomes.length).toBeGreaterThan(10);
    await vi.waitFor(() => expect(talk.reasons).toEqual(["compact"]));
  });
});

/** Cost of each request, turn by turn, with a window that never forces a compaction. */
async function billsOf(wire: "anthropic" | "openai-chat", seed: number, secondsPerTurn: number) {
  const model = wire === "anthropic" ? "claude-sonnet-4-5" : "gpt-4.1";
  const list = priceListOf(wire === "anthropic" ? "anthropic" : "openai", model);
  const said = simulateConversation({
    tokens: 30_000,
    seed,
    toolCalls: 0.7,
    p1Share: 0.1,
    p3Share: 0.135,
  });
  const recording = recordingOf(
    { messages: [...wires["openai-chat"].messages.encode(said)] },
    "one",
  );
  const bills = { none: [] as number[], plimsoll: [] as number[] };
  const sizes = { none: [] as number[], plimsoll: [] as number[] };
  const compacting: number[] = [];
  await replayAll([scriptOf(recording, { wire, model, maxOutputTokens: 256 })], {
    policies: ["none", "plimsoll"],
    window: { kind: "tokens", tokens: 1_000_000 },
    secondsPerTurn,
    prices: list,
    config: { cost: { when: "pays", compact_from: 0 } },
    onRequest: ({ policy, billed, tokens, turn, isCompacted }) => {
      const usd = costOf({ ...billed, output: 0 }, list) ?? Number.NaN;
      if (policy !== "none" && policy !== "plimsoll") return;
      bills[policy].push(usd);
      sizes[policy].push(tokens);
      if (policy === "plimsoll" && isCompacted) compacting.push(turn);
    },
  });
  const { prices } = list;
  if (prices === undefined) throw new Error("These models have prices.");
  /** How much more a compacted request costs than the same request without the compaction. */
  const priceAt = (turn: number): number => {
    const last = sizes.plimsoll[turn - 1] ?? 0;
    const grown = (sizes.none[turn] ?? 0) - (sizes.none[turn - 1] ?? 0);
    return (bills.plimsoll[turn] ?? 0) - readingCost(prices, last + grown, last);
  };
  return { ...bills, prices: compacting.map(priceAt), stepUsd: (128 * prices.input) / 1e6 };
}

const runs = [1, 2, 3].flatMap((seed) =>
  (["anthropic", "openai-chat"] as const).map((wire) => ({ wire, seed, seconds: seed * 20 })),
);

test.each(runs)(
  "wherever a conversation ends, its bill is at most one compaction above that of doing nothing ($wire, seed $seed)",
  async ({ wire, seed, seconds }) => {
    const { none, plimsoll, prices, stepUsd } = await billsOf(wire, seed, seconds);
    expect(prices.length).toBeGreaterThan(1);
    expect(none).toHaveLength(plimsoll.length);
    // A cache works in steps. One step more or less does not matter.
    const price = Math.max(...prices) + stepUsd;
    let above = 0;
    for (const [turn, usd] of plimsoll.entries()) {
      above += usd - (none[turn] ?? 0);
      expect(above).toBeLessThanOrEqual(price);
    }
    expect(above).toBeLessThan(0);
  },
  60_000,
);
