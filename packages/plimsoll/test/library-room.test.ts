/** What a library agent has room for when a count, a budget or a window is only a guess: its results are seen, its turns go on. */

import { openPlimsoll, type Plimsoll, type PreparedTurn } from "plimsoll";
import { afterEach, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { tokensOfText } from "./generate/bodies.ts";
import { prose } from "./harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

type Config = NonNullable<NonNullable<Parameters<typeof openPlimsoll>[0]>["config"]>;
interface Request extends Record<string, unknown> {
  readonly max_tokens: number;
  readonly tools: readonly { readonly name: string }[];
}

interface Scene {
  readonly config: Config;
  readonly model?: string;
  /** Tokens of the system prompt, as we count. */
  readonly system: number;
  /** Tokens of each result. */
  readonly result: number;
  readonly turns: number;
  /** The provider's tokens for one of ours. */
  readonly factor?: number;
  readonly maxOutputTokens?: number;
}

interface Seen {
  readonly outcome: string;
  readonly tools: readonly string[];
  readonly grant: string;
}

const small = (contextWindow: number, more: Record<string, unknown> = {}): Config => ({
  providers: {
    anthropic: { models: { small: { contextWindow, tokenizer: "approximate", ...more } } },
  },
});
const tools = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];

/** An agent that looks at something in every turn, and whose provider reports what it has read. */
async function agent(scene: Scene): Promise<readonly Seen[]> {
  const { config, model = "small", factor = 1, maxOutputTokens = 4000 } = scene;
  const plimsoll = await openPlimsoll({ store: "memory", config });
  open.push(plimsoll);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Look at everything." });
  const random = diceOf(11);
  const seen: Seen[] = [];
  for (let turn = 0; turn < scene.turns; turn++) {
    const prepared = await session.prepare<Request>({
      target: `anthropic/${model}`,
      system: tokensOfText(scene.system),
      tools,
      maxOutputTokens,
      cacheMarks: false,
    });
    const { request, outcome } = prepared;
    await session.commit(answered(request, turn, factor));
    const call = { id: `c${turn}`, name: "look" };
    const grant = session.toolBudget.reserve(call, prose(random, scene.result));
    await session.append(grant.message);
    const names = request.tools.map(({ name }) => name);
    seen.push({ outcome: outcome.kind, tools: names, grant: grant.kind });
  }
  return seen;
}

function sizeOf(request: Request): number {
  return Math.ceil(JSON.stringify(request).length / 4);
}

function answered(request: Request, turn: number, factor: number): unknown {
  return {
    id: `m${turn}`,
    type: "message",
    role: "assistant",
    content: [{ type: "tool_use", id: `c${turn}`, name: "look", input: {} }],
    stop_reason: "tool_use",
    usage: { input_tokens: Math.ceil(sizeOf(request) * factor), output_tokens: 10 },
  };
}

const goesOn = (seen: readonly Seen[]): void => {
  for (const { outcome, tools: offered, grant } of seen) {
    expect(outcome).not.toBe("final");
    expect(offered).toContain("look");
    expect(grant).toBe("whole");
  }
};

test("a head that our count makes twice too large leaves results their room", async () => {
  goesOn(
    await agent({ config: small(32_768), system: 36_000, result: 800, turns: 5, factor: 0.5 }),
  );
});

test("beside a large head a fresh result is seen whole, and old ones make room for it", async () => {
  const seen = await agent({ config: small(32_768), system: 22_000, result: 800, turns: 12 });
  goesOn(seen);
  expect(seen.map(({ outcome }) => outcome)).toContain("compacted");
});

test("a budget below the head ends nothing that the window holds", async () => {
  const config = { ...small(200_000), agent: { context_budget: 10_000 } };
  goesOn(await agent({ config, system: 16_000, result: 2_400, turns: 6 }));
});

test("a window that nobody knows hides no result", async () => {
  const config: Config = { providers: { anthropic: { tokenizer: "approximate" } } };
  goesOn(await agent({ config, model: "mystery-1", system: 100, result: 10_000, turns: 16 }));
});

test("a call in a last turn is denied, and the turn after it is judged anew", async () => {
  const plimsoll = await openPlimsoll({ store: "memory", config: small(8_000) });
  open.push(plimsoll);
  const session = await plimsoll.session();
  const options = { target: "anthropic/small", tools, maxOutputTokens: 500, cacheMarks: false };
  await session.append({ role: "user", content: prose(diceOf(3), 5_000) });
  const kinds: string[] = [];
  for (const results of [40, 1, 1]) {
    const { request, outcome } = await session.prepare<Request>(options);
    kinds.push(outcome.kind);
    const ids = Array.from({ length: results }, (_, index) => `c${kinds.length}x${index}`);
    const content = ids.map((id) => ({ type: "tool_use", id, name: "look", input: {} }));
    await session.commit({ ...(answered(request, kinds.length, 1) as object), content });
    for (const id of ids) {
      const text = prose(diceOf(4), 400);
      await session.append(session.toolBudget.reserve({ id, name: "look" }, text).message);
    }
    expect(session.toolBudget.isExceeded).toBe(kinds.length < 3);
  }
  expect(kinds.slice(0, 2)).toEqual(["passthrough", "final"]);
  expect(kinds[2]).not.toBe("final");
});

test("a denial is taken back when the next turn goes to a model with a larger window", async () => {
  const models = {
    small: { contextWindow: 8_000, tokenizer: "approximate" },
    large: { contextWindow: 64_000, tokenizer: "approximate" },
  };
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers: { anthropic: { models } } },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: prose(diceOf(3), 5_000) });
  const options = { tools, maxOutputTokens: 500, cacheMarks: false };
  const { request } = await session.prepare<Request>({ ...options, target: "anthropic/small" });
  const ids = Array.from({ length: 40 }, (_, index) => `c${index}`);
  const content = ids.map((id) => ({ type: "tool_use", id, name: "look", input: {} }));
  await session.commit({ ...(answered(request, 0, 1) as object), content });
  for (const id of ids) {
    const text = prose(diceOf(4), 400);
    await session.append(session.toolBudget.reserve({ id, name: "look" }, text).message);
  }
  expect(session.toolBudget.isExceeded).toBe(true);
  const next = await session.prepare<Request>({ ...options, target: "anthropic/large" });
  expect(next.outcome.kind).not.toBe("final");
});

test.each([
  ["nobody names", {}],
  ["the configuration names", { maxOutputTokens: 8_000 }],
])(
  "an answer whose length %s is shorter where a large head leaves less",
  async (_who, configured) => {
    const plimsoll = await openPlimsoll({ store: "memory", config: small(32_768, configured) });
    open.push(plimsoll);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Look." });
    const random = diceOf(5);
    const prepare = (): Promise<PreparedTurn<Request>> =>
      session.prepare<Request>({
        target: "anthropic/small",
        system: tokensOfText(22_000),
        tools,
        cacheMarks: false,
      });
    for (let turn = 0; turn < 8; turn++) {
      const { request } = await prepare();
      expect(sizeOf(request) + request.max_tokens).toBeLessThanOrEqual(32_768);
      await session.commit(answered(request, turn, 1));
      const text = prose(random, 800);
      const result = { type: "tool_result", tool_use_id: `c${turn}`, content: text };
      await session.append({ role: "user", content: [result] });
    }
  },
);

test("a provider that has no room for an answer whose length we wrote is asked for a shorter one", async () => {
  const plimsoll = await openPlimsoll({ store: "memory", config: small(32_768) });
  open.push(plimsoll);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Look." });
  const first = await session.prepare<Request>({
    target: "anthropic/small",
    system: tokensOfText(22_000),
    cacheMarks: false,
  });
  const asked = first.request.max_tokens;
  const message = `input length and \`max_tokens\` exceed context limit: 25000 + ${asked} > 32768, decrease input length or \`max_tokens\` and try again`;
  const again = await session.overflowed<Request>({
    status: 400,
    error: { type: "error", error: { type: "invalid_request_error", message } },
  });
  expect(again?.request.max_tokens).toBeLessThanOrEqual(32_768 - 25_000);
  expect(again?.request.max_tokens).toBeGreaterThan(1_024);
});
