/** Document A, "Overflow Sims": "15+ scenarios (10k token chats → verify under limit, coherence >0.85)", with the default chain. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openPlimsoll,
  type Plimsoll,
  type Simulation,
  simulateConversation,
  simulatedAreas,
} from "../../src/index.ts";
import type { CompactionEndEvent } from "../../src/message/event.ts";
import { wires } from "../../src/wire/wires.ts";

const limit = 5_000;

async function opened(breaking?: { readonly coherence: number }): Promise<Plimsoll> {
  return openPlimsoll({
    store: "memory",
    config: {
      priority_areas: simulatedAreas.map(({ patterns, ...area }) => ({
        ...area,
        patterns: [...patterns],
      })),
      context_config: {
        per_agent: { Coding: limit },
        ...(breaking === undefined ? {} : { breaking_strategy: breaking }),
      },
      providers: {
        openai: { models: { local: { contextWindow: 32_000, tokenizer: "tiktoken:o200k_base" } } },
      },
    },
  });
}

/** The end of the compaction that the conversation needs. */
async function compacted(
  plimsoll: Plimsoll,
  simulation: Omit<Simulation, "tokens">,
): Promise<CompactionEndEvent> {
  const session = await plimsoll.session({ agent: "Coding" });
  const ended = new Promise<CompactionEndEvent>((resolve) => {
    session.on("compaction-end", resolve);
  });
  for (const message of simulateConversation({ ...simulation, tokens: 10_000 }))
    await session.append(message);
  await session.prepare({ target: "openai/local" });
  return ended;
}

let plimsoll: Plimsoll;
let without: Plimsoll;
beforeAll(async () => {
  [plimsoll, without] = await Promise.all([opened(), opened({ coherence: 0 })]);
});
afterAll(() => Promise.all([plimsoll.close(), without.close()]));

const scenarios: readonly Omit<Simulation, "tokens">[] = [
  {},
  { p1Share: 0 },
  { p1Share: 0.3 },
  { p1Share: 0.6 },
  { p1Share: 1 },
  { toolCalls: 0 },
  { toolCalls: 1 },
  { languages: ["de", "zh", "ru", "en"] },
  { types: ["log", "message"] },
  { types: ["code", "other", "plan_ref"] },
  { types: ["code"] },
  { types: ["log"] },
  { types: ["message"] },
  { shape: "misclassified" },
  { shape: "fragmented" },
  { shape: "giant" },
];

describe("a chat of 10,000 tokens and an agent with a limit of 5,000", () => {
  test.each(scenarios.map((scenario, index) => ({ seed: index + 1, ...scenario })))(
    "%j: it ends under the limit, and its coherence is above 0.85",
    async (simulation) => {
      const { tokensBefore, tokensAfter, receipt } = await compacted(plimsoll, simulation);
      expect(tokensBefore).toBeGreaterThan(limit);
      expect(tokensAfter).toBeLessThanOrEqual(limit);
      expect(receipt?.coherence).toBeGreaterThan(0.85);
    },
  );

  test("breaking_strategy.coherence asks for it without a limit of an agent too", async () => {
    const anyone = await opened({ coherence: 0.85 });
    try {
      const messages = wires["openai-chat"].messages.encode(
        simulateConversation({ tokens: 10_000, seed: 11, types: ["code"] }),
      );
      const task = { wire: "openai-chat" as const, messages, budget: 2_500 };
      const coherenceBy = async (by: Plimsoll) =>
        (await (await by.compactMessages(task)).receipt()).coherence;
      expect(await coherenceBy(anyone)).toBeGreaterThan(0.85);
      expect(await coherenceBy(without)).toBeLessThan(await coherenceBy(anyone));
    } finally {
      await anyone.close();
    }
  });

  test("coherence: 0 turns it off, and some of them are below", async () => {
    const scores: number[] = [];
    for (const [index, scenario] of scenarios.entries()) {
      const { receipt } = await compacted(without, { seed: index + 1, ...scenario });
      scores.push(receipt?.coherence ?? 1);
    }
    expect(Math.min(...scores)).toBeLessThan(0.85);
  });
});
