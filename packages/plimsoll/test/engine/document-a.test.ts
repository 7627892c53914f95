/** Sentences of document A, with the keys that give its behaviour where Plimsoll's default is another. */

import { afterEach, describe, expect, test, vi } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import type { Config } from "../../src/config/schema.ts";
import { type Engine, openEngine } from "../../src/engine.ts";
import { prose } from "../harness/words.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

type Breaking = NonNullable<NonNullable<Config["context_config"]>["breaking_strategy"]>;
type RecoveryMode = NonNullable<NonNullable<Config["context_config"]>["recovery_mode"]>;
type Session = Awaited<ReturnType<Engine["session"]>>;
type Tag = Parameters<Session["append"]>[1];

const small = {
  contextWindow: 6_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
/** Its tokens are only estimated. */
const guessed = { contextWindow: 6_000, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
const limit = 5_000;

async function opened(
  breaking_strategy: Breaking,
  recovery_mode?: RecoveryMode,
  more: NonNullable<Config["context_config"]> = {},
) {
  const plimsoll = await openEngine({
    store: "memory",
    config: {
      providers: { anthropic: { models: { small, guessed } } },
      context_config: {
        ...more,
        breaking_strategy,
        ...(recovery_mode === undefined ? {} : { recovery_mode }),
      },
    },
  });
  open.push(plimsoll);
  return plimsoll;
}

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

/** Talks until a turn is neither sent as it is nor as it was edited before. Returns its outcome and its request. */
async function untilFull(session: Session, tag?: Tag, model = "small") {
  const random = diceOf(4);
  for (let turn = 0; turn < 40; turn++) {
    const content = prose(random, 300);
    await session.append({ role: "user", content }, tag);
    const { request, outcome } = await session.prepare({ target: `anthropic/${model}` });
    await session.commit(answer);
    if (!["passthrough", "edited"].includes(outcome.kind))
      return { outcome, sent: JSON.stringify(request) };
  }
  throw new Error("40 turns, and the window is not full.");
}

async function codesOf(plimsoll: Engine): Promise<ReadonlySet<string>> {
  return new Set((await plimsoll.store.errors({ limit: 99 })).map(({ code }) => code));
}

/** A chain that takes out only what is not relevant, without truncation after it. */
const onlyRelevant: Breaking = {
  chain_order: ["prioritize_recent"],
  truncate: { last_resort: false },
};

describe("All breaking strategies failed, with truncate.last_resort: false", () => {
  test("BREAKER_FAILED: All strategies fail → force recovery: the conversation starts afresh", async () => {
    const plimsoll = await opened(onlyRelevant);
    const { outcome, sent } = await untilFull(await plimsoll.session(), { relevance: 1 });
    expect(outcome.kind).toBe("recovered");
    expect(outcome.tokensAfter).toBeLessThanOrEqual(limit);
    expect(sent).toContain("Handover.");
    expect([...(await codesOf(plimsoll))]).toEqual(
      expect.arrayContaining(["BREAKER_FAILED", "RECOVERY_TRIGGERED"]),
    );
  });

  test.each([
    ["the limit of an agent, in a window that has room", "small", { per_agent: { coder: 4_000 } }],
    ["a window whose tokens are only estimated", "guessed", {}],
  ])("the chain has failed as soon as the request is over %s", async (_name, model, more) => {
    const plimsoll = await opened(onlyRelevant, undefined, more);
    const session = await plimsoll.session({ agent: "coder" });
    const { outcome } = await untilFull(session, { relevance: 1 }, model);
    expect(outcome.kind).toBe("recovered");
    expect((await codesOf(plimsoll)).has("BREAKER_FAILED")).toBe(true);
  });

  test("with recovery_mode error, nothing is taken out, and the failure is recorded", async () => {
    const plimsoll = await opened(onlyRelevant, "error");
    const session = await plimsoll.session();
    const { outcome } = await untilFull(session, { relevance: 1 });
    expect(["final", "refused"]).toContain(outcome.kind);
    expect((await codesOf(plimsoll)).has("BREAKER_FAILED")).toBe(true);
    const edits = await plimsoll.store.edits(session.id);
    expect(edits.filter(({ action }) => action.kind !== "insert")).toEqual([]);
  });

  test("by default, truncation ends the chain, and no fresh start is needed", async () => {
    const plimsoll = await opened({ chain_order: ["prioritize_recent"] });
    const { outcome, sent } = await untilFull(await plimsoll.session(), { relevance: 1 });
    expect(outcome.kind).toBe("compacted");
    expect(sent).not.toContain("Handover.");
    expect((await codesOf(plimsoll)).has("BREAKER_FAILED")).toBe(false);
  });
});

describe("if (current.currentTokens <= current.limit) return", () => {
  const chain: Breaking = {
    chain_order: ["summarize_old"],
    summarize_old: { old_threshold: 0.3 },
  };

  test("with chain_stops: at_limit, one strategy runs if that is enough", async () => {
    const plimsoll = await opened({ ...chain, chain_stops: "at_limit" });
    const strategies: string[] = [];
    plimsoll.on("compaction-end", (event) => strategies.push(...event.strategies));
    const { outcome } = await untilFull(await plimsoll.session());
    expect(outcome.kind).toBe("compacted");
    await vi.waitFor(() => expect(strategies).toEqual(["summarize_old"]));
    expect(outcome.tokensAfter).toBeLessThanOrEqual(limit);
    expect(outcome.tokensAfter).toBeGreaterThan(limit / 2);
  });

  test("by default, the chain goes on to half of the limit", async () => {
    const plimsoll = await opened(chain);
    const strategies: string[] = [];
    plimsoll.on("compaction-end", (event) => strategies.push(...event.strategies));
    const { outcome } = await untilFull(await plimsoll.session());
    await vi.waitFor(() => expect(strategies).toEqual(["summarize_old", "truncate"]));
    expect(outcome.tokensAfter).toBeLessThan(limit * 0.6);
  });
});

test("Global Minimum Floor: 3,500 tokens, for the limits of agents and of types of models", async () => {
  const plimsoll = await opened({}, undefined, { per_agent: { coder: 1_000 } });
  const session = await plimsoll.session({ agent: "coder" });
  await session.append({ role: "user", content: "Hello" });
  const { limit: ofAgent } = await session.prepare({ target: "anthropic/small" });
  expect(ofAgent.limit).toBe(3_500);
});

describe("If all units high-rel, force fresh start", () => {
  /** The strategy before it finds nothing to shorten, so that relevance decides. */
  const longer: Breaking = {
    ...onlyRelevant,
    chain_order: ["content_type_chunking", "prioritize_recent"],
  };

  test.each([
    ["alone", onlyRelevant],
    ["after other strategies", longer],
  ])("with prioritize_recent last, %s: and only then", async (_, chain) => {
    const allRelevant = await (await opened(chain)).session();
    expect((await untilFull(allRelevant, { relevance: 0.9 })).outcome.kind).toBe("recovered");
    const noneRelevant = await (await opened(chain)).session();
    expect((await untilFull(noneRelevant, { relevance: 0.1 })).outcome.kind).toBe("compacted");
  });

  test("with another strategy after it, the chain goes on", async () => {
    const chain: Breaking = {
      ...onlyRelevant,
      chain_order: ["prioritize_recent", "summarize_old"],
    };
    const session = await (await opened(chain)).session();
    const { outcome, sent } = await untilFull(session, { relevance: 0.9 });
    expect(outcome.kind).toBe("compacted");
    expect(sent).not.toContain("Handover.");
  });
});

describe("the chain, “Default for most agents”", () => {
  const five = [
    "summarize_old",
    "prioritize_recent",
    "content_type_chunking",
    "discard_low_rel",
    "hybrid",
  ] as const;

  /** The strategies that a compaction tries, in their order, with one name for the rounds of hybrid. */
  async function tried(breaking: Breaking): Promise<readonly string[]> {
    const plimsoll = await opened(breaking);
    const names: string[] = [];
    plimsoll.on("context-breaking-update", ({ strategy = "none" }) =>
      names.push(strategy.split(":")[0] ?? ""),
    );
    await untilFull(await plimsoll.session(), { relevance: 1 });
    return [...new Set(names)];
  }

  test("with chain_order, the five strategies run in the order of the document", async () => {
    const names = await tried({
      chain_order: [...five],
      summarize_old: { old_threshold: 0.05 },
      discard_low_rel: { discard_percent: 0.05 },
    });
    expect(names.filter((name) => five.some((one) => one === name))).toEqual(five);
    expect(names).not.toContain("excerpt");
  });

  test("by default, excerpts and truncation run instead", async () => {
    const names = await tried({});
    expect(names).toContain("excerpt");
    expect(names.filter((name) => five.some((one) => one === name))).toEqual([]);
  });
});

test.each([
  ["with the limit of an agent, it comes at 80 %", { per_agent: { coder: 4_000 } }, 0.8, 0.95],
  ["with the limit of a window, only when a compaction starts", {}, 0.95, 1.1],
])("Detection is instant on warning: %s", async (_, context, least, most) => {
  const plimsoll = await opened({}, undefined, context);
  const filled: number[] = [];
  plimsoll.on("context-breaking-update", ({ phase, tokens, limit: of }) => {
    if (phase === "detection") filled.push(tokens / of);
  });
  await untilFull(await plimsoll.session({ agent: "coder" }));
  expect(filled).toHaveLength(1);
  expect(filled[0]).toBeGreaterThanOrEqual(least);
  expect(filled[0]).toBeLessThan(most);
});
