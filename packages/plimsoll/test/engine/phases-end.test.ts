/** Every compaction ends with a last phase, also one that does not help, and every phase after the first has its priority area. */

import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll, type Strategy } from "../../src/index.ts";
import type { ContextBreakingUpdateEvent } from "../../src/message/event.ts";
import { isLastPhase } from "../../src/watch/phase-words.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 5_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

/** The phases of a talk that is too long for its window. */
async function phasesOf(
  contextConfig: Config["context_config"],
  strategies?: readonly Strategy[],
): Promise<readonly ContextBreakingUpdateEvent[]> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      providers: { anthropic: { models: { small } } },
      priority_areas: [{ name: "To Do List", priority: 1, patterns: ["the to do list"] }],
      ...(contextConfig === undefined ? {} : { context_config: contextConfig }),
    },
    ...(strategies === undefined ? {} : { parts: { strategies } }),
  });
  open.push(plimsoll);
  const phases: ContextBreakingUpdateEvent[] = [];
  plimsoll.on("context-breaking-update", (event) => phases.push(event));
  const session = await plimsoll.session();
  for (let turn = 0; turn < 16; turn++) {
    const words = turn === 0 ? "Keep the to do list. " : "";
    await session.append({ role: "user", content: `${words}${prose(diceOf(turn), 300)}` });
    await session.prepare({ target: "anthropic/small", cacheMarks: false });
    await session.commit(said);
  }
  return phases;
}

/** The last phase of each run of phases. A run begins with the detection. */
function endsOf(phases: readonly ContextBreakingUpdateEvent[]): readonly string[] {
  return phases.flatMap((event, index) => {
    const next = phases[index + 1];
    return next === undefined || next.phase === "detection" ? [event.phase] : [];
  });
}

test.each<[string, Config["context_config"], readonly Strategy[] | undefined, string]>([
  ["one that helps", undefined, undefined, "success"],
  ["one that is exhausted", undefined, [], "handover"],
  ["one that does not help", { recovery_mode: "error" }, [], "failed"],
])("%s", async (_, contextConfig, strategies, last) => {
  const phases = await phasesOf(contextConfig, strategies);
  const ends = endsOf(phases);
  expect(ends.length).toBeGreaterThan(0);
  expect(ends).toContain(last);
  for (const phase of phases.filter((one) => endsOf(phases).includes(one.phase)))
    expect(isLastPhase(phase)).toBe(true);
  const named = phases.filter(({ phase }) => ["recovery", "handover", "success"].includes(phase));
  for (const { priority } of named) expect(priority).toEqual({ level: 1, area: "To Do List" });
});

test("a failed compaction says that nothing was removed", async () => {
  const phases = await phasesOf({ recovery_mode: "error" }, []);
  const failed = phases.find(({ phase }) => phase === "failed");
  expect(failed?.message).toMatch(/^Nothing was removed: [\d,]+ \/ 4,000 tokens$/);
});
