/** What is said of a request is true also where its head or its answer, and not its conversation, takes the window. */

import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { called, requestOf, result, said, tokensOfText, tool } from "../../test/generate/bodies.ts";
import { receive } from "../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../test/harness/json.ts";
import { prose } from "../../test/harness/words.ts";
import { type Engine, openEngine } from "../engine.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function opened(): Promise<Engine> {
  const anthropic = { tokenizer: "approximate", contextWindow: 40_000 };
  const plimsoll = await openEngine({ store: "memory", config: { providers: { anthropic } } });
  open.push(plimsoll);
  return plimsoll;
}

test.each([
  ["input+output", "The provider said that the request and its answer are too long."],
  ["input", "The provider said that the request is too long."],
] as const)("a refusal for %s is recorded as what it is", async (kind, sentence) => {
  const plimsoll = await opened();
  const { body } = requestOf("anthropic", [said("Look.")], { max_tokens: 10_000 });
  const turn = await receive(plimsoll, "anthropic", body);
  await turn.overflowed({ kind, inputTokens: 31_000, limitTokens: 40_000 });
  await turn.end({ status: "failed" });
  const errors = await plimsoll.store.errors({ session: turn.session, limit: 10 });
  expect(errors.map(({ message }) => message)).toContain(sentence);
});

test("the model is warned of the room that its conversation has, which a large head makes less than the window", async () => {
  const plimsoll = await opened();
  const random = diceOf(2);
  const messages: JsonObject[] = [said("Look.")];
  let text = "";
  for (let turn = 0; turn < 12 && !text.includes("[Plimsoll: this conversation"); turn++) {
    const tools = [tool("anthropic", tokensOfText(26_000))];
    const { body } = requestOf("anthropic", messages, { tools, max_tokens: 4_000 });
    const asked = await receive(plimsoll, "anthropic", body);
    text = new TextDecoder().decode(asked.body ?? body);
    await asked.end({ status: "complete" });
    const id = `c${turn}`;
    messages.push(called("anthropic", id), result("anthropic", id, prose(random, 500)));
  }
  expect(text).toMatch(/this conversation fills \d+ % of its room\./);
});
