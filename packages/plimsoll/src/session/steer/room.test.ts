/** Steering by hand when the head is large or the limit is only a wish: what goes, what comes back, and what the user is told. */

import { afterEach, expect, test } from "vitest";
import {
  called,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
} from "../../../test/generate/bodies.ts";
import { receive } from "../../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../../test/harness/json.ts";
import type { Config } from "../../config/schema.ts";
import { type Engine, openEngine } from "../../engine.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

interface Scene {
  readonly config: Config;
  readonly toolTokens?: number;
  readonly resultTokens: number;
  readonly turns: number;
  readonly maxTokens?: number;
}

async function talk(scene: Scene): Promise<{ plimsoll: Engine; session: string }> {
  const { config, toolTokens = 10, resultTokens, turns, maxTokens = 4_000 } = scene;
  const plimsoll = await openEngine({ store: "memory", config });
  open.push(plimsoll);
  const messages: JsonObject[] = [said("Look at everything.")];
  let session = "";
  for (let turn = 0; turn < turns; turn++) {
    const head = {
      model: "mystery-1",
      tools: [tool("anthropic", tokensOfText(toolTokens))],
      max_tokens: maxTokens,
    };
    const { body } = requestOf("anthropic", messages, head);
    const asked = await receive(plimsoll, "anthropic", body);
    session = asked.session;
    const answer = called("anthropic", `c${turn}`);
    await asked.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [[answer]],
        usage: { inputTokens: asked.fitted.measured.total, outputTokens: 5 },
      },
    });
    messages.push(answer, result("anthropic", `c${turn}`, lines(turn, resultTokens)));
  }
  return { plimsoll, session };
}

function lines(turn: number, tokens: number): string {
  const line = (at: number): string => `row ${turn}.${at}: value = compute(${at * 7919})`;
  return Array.from({ length: Math.ceil((tokens * 4) / 38) }, (_, at) => line(at)).join("\n");
}

const anthropic = (settings: Record<string, unknown>, more: Config = {}): Config => ({
  ...more,
  providers: { anthropic: { tokenizer: "approximate", ...settings } },
});

test("a compaction by hand beside a large head leaves the conversation its part of the room", async () => {
  const config = anthropic({ contextWindow: 40_000 });
  const { plimsoll, session } = await talk({
    config,
    toolTokens: 26_000,
    resultTokens: 500,
    turns: 9,
  });
  const done = await plimsoll.steering.compact(session, {});
  expect(done.strategies).not.toContain("truncate");
  expect(done.messagesAfter).toBeGreaterThan(done.messagesBefore / 2);
  expect(done.tokensAfter).toBeLessThan(done.tokensBefore);
});

test("what was taken out by hand comes back where nobody knows how large the window is", async () => {
  const { plimsoll, session } = await talk({
    config: anthropic({}),
    resultTokens: 10_000,
    turns: 15,
  });
  const { tokensBefore, limit } = await plimsoll.steering.compact(session, {});
  expect(tokensBefore).toBeGreaterThan(limit ?? 0);
  const undone = await plimsoll.steering.undo(session, {});
  expect(undone.tokens).toBeGreaterThan(limit ?? 0);
});

const inTheWay: readonly (readonly [string, Scene, RegExp])[] = [
  [
    "a budget",
    {
      config: anthropic({ contextWindow: 200_000 }, { agent: { context_budget: 10_000 } }),
      resultTokens: 2_000,
      turns: 7,
    },
    /The window has room for it, but the configuration allows only 10000 tokens .*context_budget/,
  ],
  [
    "a budget beside a window that nobody knows",
    {
      config: anthropic({}, { agent: { context_budget: 10_000 } }),
      resultTokens: 2_000,
      turns: 7,
    },
    /the configuration allows only 10000/,
  ],
  [
    "what is kept free for the answer",
    {
      config: anthropic({ contextWindow: 40_000 }),
      resultTokens: 3_000,
      turns: 10,
      maxTokens: 10_000,
    },
    /some of the window must stay free for the answer, which leaves 25000 tokens/,
  ],
  [
    "the window",
    {
      config: anthropic({ contextWindow: 16_000, contextWindowBufferTokens: 100 }),
      resultTokens: 1_000,
      turns: 22,
      maxTokens: 100,
    },
    /use a model with a larger window/,
  ],
];
test.each(inTheWay)(
  "where %s is in the way of an undo, that is what is said",
  async (_what, scene, words) => {
    const { plimsoll, session } = await talk(scene);
    await expect(plimsoll.steering.undo(session, {})).rejects.toThrowError(words);
  },
);
