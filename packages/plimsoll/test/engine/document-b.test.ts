/** Sentences of document B, with the keys that give its behaviour where Plimsoll's default is another. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

async function opened(config: Config): Promise<Plimsoll> {
  const plimsoll = await openPlimsoll({ store: "memory", config });
  open.push(plimsoll);
  return plimsoll;
}

type Session = Awaited<ReturnType<Plimsoll["session"]>>;

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

async function say(session: Session, tokens: number, model: string) {
  await session.append({ role: "user", content: prose(diceOf(tokens), tokens) });
  return session.prepare({ target: `anthropic/${model}`, cacheMarks: false });
}

describe("DEFAULT_CONTEXT_WINDOW_TOKENS (fallback): a model that nobody knows", () => {
  async function outcomes(config: Config): Promise<ReadonlySet<string>> {
    const session = await (await opened(config)).session();
    const kinds = new Set<string>();
    for (let turn = 0; turn < 14; turn++) {
      kinds.add((await say(session, 900, "nobody-knows-it")).outcome.kind);
      await session.commit(answer);
    }
    return kinds;
  }

  test("with defaults.contextWindow, its window is enforced", async () => {
    const kinds = await outcomes({ defaults: { contextWindow: 8_000 } });
    expect(kinds).toContain("compacted");
  });

  test.each<[string, NonNullable<Config["agent"]>, string]>([
    ["it is sent, because it may be shorter", {}, "passthrough"],
    ["with strict_limit too, it is the final turn", { strict_limit: true }, "final"],
  ])("if an estimate is over it and nothing can be taken out: %s", async (_, agent, kind) => {
    const plimsoll = await opened({ agent, defaults: { contextWindow: 8_000 } });
    const { outcome, measurement } = await say(await plimsoll.session(), 9_000, "nobody-knows-it");
    expect(measurement.certainty).toBe("estimate");
    expect(measurement.total).toBeGreaterThan(8_000);
    expect(outcome.kind).toBe(kind);
  });

  test("by default, nothing is too long until the provider says so", async () => {
    expect([...(await outcomes({}))]).toEqual(["passthrough"]);
  });
});

describe("When `maxOutputTokens` is not explicitly configured", () => {
  test.each([
    ["openai/gpt-4", undefined, Math.floor(8_192 / 4)],
    ["openai/gpt-4o", undefined, 32_000],
    ["anthropic/claude-sonnet-4-5", undefined, 50_000],
    ["openai/unheard-of", 20_000, 5_000],
  ])(
    "with strict_limit, %s keeps floor(contextWindow / 4) free",
    async (target, contextWindow, kept) => {
      const config: Config = {
        agent: { strict_limit: true },
        defaults: {
          contextWindowBufferTokens: 0,
          ...(contextWindow === undefined ? {} : { contextWindow }),
        },
      };
      const session = await (await opened(config)).session();
      await session.append({ role: "user", content: "hi" });
      const { limit, outcome } = await session.prepare({ target });
      expect(outcome.kind).toBe("passthrough");
      expect(limit.window - limit.limit).toBe(kept);
    },
  );
});

describe("the length of the answer that a library request asks for", () => {
  const lengthIn = async (target: string, config: Config): Promise<unknown> => {
    const session = await (await opened(config)).session();
    await session.append({ role: "user", content: "hi" });
    const { request } = await session.prepare({ target });
    const { max_completion_tokens, max_tokens } = request as Record<string, unknown>;
    return max_completion_tokens ?? max_tokens;
  };

  test.each([
    ["with strict_limit", { agent: { strict_limit: true } }, 16_384],
    ["with a length for every model", { defaults: { maxOutputTokens: 30_000 } }, 16_384],
    [
      "except with a length that the configuration states for the model",
      { providers: { openai: { models: { "gpt-4o": { maxOutputTokens: 20_000 } } } } },
      20_000,
    ],
  ] as const)("%s, it is no longer than the model's known maximum", async (_, config, most) => {
    expect(await lengthIn("openai/gpt-4o", config)).toBe(most);
  });
});

describe("effectiveLimit = contextWindow - bufferTokens - maxOutputTokens, for a window of a million tokens", () => {
  const large = {
    contextWindow: 1_000_000,
    contextWindowBufferTokens: 8_192,
    maxOutputTokens: 100_000,
  };

  test.each([
    ["by default, a budget of 200,000 tokens is lower", {}, 200_000],
    ["with context_budget: window, nothing is lower", { context_budget: "window" }, 891_808],
  ] as const)("the window's limit is in force: %s", async (_, agent, expected) => {
    const providers = { anthropic: { models: { large } } };
    const session = await (await opened({ providers, agent })).session();
    await session.append({ role: "user", content: "hi" });
    const { limit } = await session.prepare({ target: "anthropic/large" });
    expect(limit.limit).toBe(expected);
  });
});

describe("Still over limit after shrink", () => {
  const small = {
    contextWindow: 20_000,
    maxOutputTokens: 1_000,
    contextWindowBufferTokens: 500,
    tokenizer: "tiktoken:o200k_base",
  };

  async function huge(agent: NonNullable<Config["agent"]>) {
    const plimsoll = await opened({ providers: { anthropic: { models: { small } } }, agent });
    const session = await plimsoll.session();
    await session.append({ role: "user", content: prose(diceOf(2), 60_000) });
    return session.prepare({ target: "anthropic/small" });
  }

  test("with over_window: send, the session proceeds best-effort (may fail at API level)", async () => {
    const { outcome, request } = await huge({ over_window: "send" });
    expect(outcome.kind).toBe("final");
    expect(JSON.stringify(request).length).toBeGreaterThan(60_000);
  });

  test("by default, what the window certainly cannot hold is refused", async () => {
    expect((await huge({})).outcome.kind).toBe("refused");
  });
});

describe("tool_preflight", () => {
  const known = { contextWindow: 100_000, contextWindowBufferTokens: 10_000 };
  const small = { ...known, maxOutputTokens: 20_000, tokenizer: "tiktoken:o200k_base" };
  const providers = { anthropic: { models: { small } } };

  async function remaining(more: Config, agent?: string) {
    const plimsoll = await opened({ providers, ...more });
    const session = await plimsoll.session(agent === undefined ? {} : { agent });
    await say(session, 500, "small");
    await session.commit(answer);
    const { measurement } = await say(session, 2_000, "small");
    return { left: session.toolBudget.remaining, projected: measurement.total, session };
  }

  test.each<[string, Config, string | undefined, number]>([
    ["the window minus buffer and answer", {}, undefined, 70_000],
    ["context_budget", { agent: { context_budget: 30_000 } }, undefined, 30_000],
    [
      "the limit of the agent",
      { context_config: { per_agent: { coder: 20_000 } } },
      "coder",
      20_000,
    ],
  ])("results never get more room than %s", async (_, config, agent, limit) => {
    const { left, projected } = await remaining(config, agent);
    expect(left).toBeLessThanOrEqual(limit);
    // What was said before the results can make room for them.
    expect(left).toBeGreaterThan(limit - projected);
  });

  test.each<[Config, number]>([
    [{}, 70_000],
    [{ agent: { context_budget: 30_000 } }, 30_000],
  ])("with strict_limit, the room is exactly limit − projected: %j", async (config, limit) => {
    const strict = { ...config, agent: { ...config.agent, strict_limit: true } };
    const { left, projected, session } = await remaining(strict);
    expect(left).toBe(limit - projected);
    const call = { type: "tool_use", id: "toolu_1", name: "shell", input: {} };
    await session.commit({ ...answer, content: [call], stop_reason: "tool_use" });
    expect(session.toolBudget.remaining).toBeLessThan(left);
    const grant = session.toolBudget.reserve({ id: "toolu_1", name: "shell" }, "ok");
    expect(grant.kind).toBe("whole");
    await session.append(grant.message);
    const { remaining: now } = session.toolBudget;
    const { measurement } = await session.prepare({ target: "anthropic/small", cacheMarks: false });
    expect(Math.abs(now - (limit - measurement.total))).toBeLessThan(20);
  });

  /** A call, and a text for which there is not enough room. */
  async function afterCall(compaction: "auto" | "by_hand") {
    const agent = { strict_limit: true, context_budget: 6_000, compaction };
    const { session, left } = await remaining({ agent });
    const call = { type: "tool_use", id: "toolu_1", name: "shell", input: {} };
    await session.commit({ ...answer, content: [call], stop_reason: "tool_use" });
    return { session, output: prose(diceOf(3), left + 500) };
  }

  test("with strict_limit, a reference replaces a result over what is left, and the conversation goes on", async () => {
    const { session, output } = await afterCall("auto");
    const grant = session.toolBudget.reserve({ id: "toolu_1", name: "shell" }, output);
    expect(grant.kind).toBe("handle");
    expect(session.toolBudget.isExceeded).toBe(false);
    await session.append(grant.message);
    const next = await session.prepare({ target: "anthropic/small", cacheMarks: false });
    expect(next.outcome.kind).not.toBe("final");
  });

  test("with compaction: by_hand too, it exceeds the budget, and the next turn is the final one", async () => {
    const { session, output } = await afterCall("by_hand");
    const grant = session.toolBudget.reserve({ id: "toolu_1", name: "shell" }, output);
    expect(grant).toMatchObject({ kind: "denied", reason: "budget" });
    expect(session.toolBudget.isExceeded).toBe(true);
    expect(session.toolBudget.canExecute()).toBe(false);
    await session.append(grant.message);
    const next = await session.prepare({ target: "anthropic/small", cacheMarks: false });
    expect(next.outcome.kind).toBe("final");
  });
});

describe("with agent.compaction: by_hand, as in document B, which has no compaction", () => {
  const known = { contextWindow: 8_000, contextWindowBufferTokens: 500, maxOutputTokens: 500 };
  const small = { ...known, tokenizer: "tiktoken:o200k_base" };
  const byHand: Config = {
    agent: { compaction: "by_hand", strict_limit: true, warning_note: false },
  };
  const providers = { anthropic: { models: { small } }, openai: {} };

  /** Says something in each turn until a turn is not sent as it is. Returns the sizes of the requests and the last outcome. */
  async function talk(config: Config) {
    const plimsoll = await opened({ providers, ...config });
    const session = await plimsoll.session();
    const sizes: number[] = [];
    for (let turn = 0; turn < 40; turn++) {
      const { outcome, measurement, target } = await say(session, 400, "small");
      sizes.push(measurement.total);
      if (outcome.kind !== "passthrough" || target !== "anthropic/small")
        return { outcome, sizes, target, session, plimsoll };
      await session.commit(answer);
    }
    throw new Error("The window is not full.");
  }

  test("Counters only increase until turn commits: no request is smaller than the one before it, and the last is the final turn", async () => {
    const { outcome, sizes, session, plimsoll } = await talk(byHand);
    expect(outcome.kind).toBe("final");
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
    expect(sizes.at(-1)).toBeGreaterThan(7_000);
    expect(await plimsoll.steering.checkpoints(session.id)).toEqual([]);
  });

  test("When projections exceed limit, guard forces final turn, and by default Plimsoll compacts first", async () => {
    expect((await talk(byHand)).outcome.kind).toBe("final");
    expect((await talk({ agent: { strict_limit: true } })).outcome.kind).not.toBe("final");
  });

  test("skip: Skip this provider, try next: the next provider gets the whole conversation", async () => {
    const { target, outcome } = await talk({
      ...byHand,
      targets: { small: ["openai/gpt-4.1"] },
    });
    expect([target, outcome.kind]).toEqual(["openai/gpt-4.1", "passthrough"]);
  });

  test("whoever asks for a compaction gets one, and a milestone starts afresh", async () => {
    const plimsoll = await opened({ providers, ...byHand });
    const session = await plimsoll.session();
    for (let turn = 0; turn < 8; turn++) {
      await say(session, 400, "small");
      await session.commit(answer);
    }
    const done = await session.compact();
    expect(done.tokensAfter).toBeLessThan(done.tokensBefore);
    await session.milestone({ task: "ship-1" });
    expect((await say(session, 400, "small")).outcome.kind).toBe("recovered");
  });

  test("after the provider's own “too long”, nothing is taken out either", async () => {
    const plimsoll = await opened({ providers, ...byHand });
    const session = await plimsoll.session();
    for (let turn = 0; turn < 8; turn++) {
      await say(session, 400, "small");
      await session.commit(answer);
    }
    await say(session, 400, "small");
    const error = {
      type: "invalid_request_error",
      message: "prompt is too long: 9000 tokens > 7500 maximum",
    };
    const again = await session.overflowed({ status: 400, error: { type: "error", error } });
    expect(await plimsoll.steering.checkpoints(session.id)).toEqual([]);
    expect(again?.outcome.kind).not.toBe("compacted");
  });
});
