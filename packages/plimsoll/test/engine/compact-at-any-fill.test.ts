/** A compaction that somebody asks for makes room however full the window is: by the model, by the user, by a program. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 16_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted, and on to the next." }],
  stop_reason: "end_turn",
};
const tools = [{ name: "look", parameters: { type: "object" } }];
type Session = Awaited<ReturnType<Plimsoll["session"]>>;

async function filledTo(turns: number): Promise<Session> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers: { anthropic: { models: { small } } }, own_tools: "first-request" },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  const random = diceOf(5);
  for (let turn = 0; turn < turns; turn++) {
    await session.append({ role: "user", content: prose(random, 300) });
    await session.prepare({ target: "anthropic/small", tools, cacheMarks: false });
    await session.commit(said);
  }
  return session;
}

/** Tools and the first message, which stay. All talks begin with the same message. */
async function headTokens(): Promise<number> {
  const session = await filledTo(0);
  await session.append({ role: "user", content: prose(diceOf(5), 300) });
  const { measurement } = await session.prepare({ target: "anthropic/small", tools });
  return measurement.total;
}

/** About 10 %, 20 %, 45 %, 65 %, 75 % and 90 % of the window. */
describe.each([5, 8, 18, 28, 33, 38])("after %i turns", (turns) => {
  test("/compact leaves at most 60 % of the conversation", async () => {
    const session = await filledTo(turns);
    const { tokensBefore, tokensAfter, messagesBefore, messagesAfter, strategies } =
      await session.compact();
    const head = await headTokens();
    expect(tokensAfter - head).toBeLessThanOrEqual((tokensBefore - head) * 0.6);
    expect(messagesAfter).toBeLessThanOrEqual(messagesBefore);
    expect(strategies.length).toBeGreaterThan(0);
    await expect(session.compact()).rejects.toThrow("There is nothing to take out");
  });

  test("compact_context makes the conversation smaller", async () => {
    const session = await filledTo(turns);
    await session.append({ role: "user", content: "Now make room for something large." });
    const turn = await session.prepare({ target: "anthropic/small", tools, cacheMarks: false });
    const use = { type: "tool_use", id: "toolu_1", name: "compact_context", input: {} };
    const answer = { ...said, content: [use], stop_reason: "tool_use" };
    await session.commit(answer);
    const [call] = turn.toolCalls(answer);
    if (call === undefined) throw new Error("There is no call.");
    const own = await session.answer(call);
    expect(own?.isError, own?.text).toBe(false);
    const [before = 0, after = 0] = (own?.text.match(/[\d,]{3,}/g) ?? []).map((figure) =>
      Number(figure.replaceAll(",", "")),
    );
    expect(after, own?.text).toBeLessThan(before * 0.8);
  });
});

/** Document C, "`/compact` Command": who asks again gets more room only if the request says how much. */
test("`/compact` again with `keep` or `budget` takes out more, although nothing new was said", async () => {
  const session = await filledTo(18);
  const { tokensAfter: first } = await session.compact();
  await expect(session.compact()).rejects.toThrow("There is nothing to take out");
  const { tokensAfter: second } = await session.compact({ keep: "half" });
  expect(second).toBeLessThan(first);
  const { tokensAfter: third } = await session.compact({ budget: Math.floor(second * 0.7) });
  expect(third).toBeLessThanOrEqual(second * 0.7);
});
