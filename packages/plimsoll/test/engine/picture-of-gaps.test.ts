/** The picture of a window counts only what is there: messages that left no mark behind have no tokens. */

import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 60_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};

test("after a compaction, short answers that are gone take no room in the picture", async () => {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      providers: { anthropic: { models: { small } } },
      context_config: { breaking_strategy: { chain_order: ["summarize_old", "discard_low_rel"] } },
    },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  const random = diceOf(4);
  for (let turn = 0; turn < 30; turn++) {
    await session.append({ role: "user", content: prose(random, 120) });
    await session.prepare({ target: "anthropic/small", cacheMarks: false });
    await session.commit({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Aye." }],
      stop_reason: "end_turn",
    });
  }
  await session.compact({ budget: 2_000 });
  const { units, tokens } = await plimsoll.picture(session.id);
  const gone = units.filter(({ begins, edits }) => edits !== undefined && begins === "");
  expect(gone.length).toBeGreaterThan(0);
  expect(gone.map((unit) => unit.tokens)).toEqual(gone.map(() => 0));
  const shown = units.reduce((sum, unit) => sum + unit.tokens, 0);
  expect(shown).toBe(tokens);
});
