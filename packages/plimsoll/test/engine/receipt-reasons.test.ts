/** The reason in a receipt is the true one: why this compaction was made, and not what the guard said about the size. */

import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll, type Strategy } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const idle: Strategy = { name: "idle", propose: () => [] };
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};
type Session = Awaited<ReturnType<Plimsoll["session"]>>;

interface Heard {
  readonly session: Session;
  readonly reasons: string[];
}

async function fresh(strategies?: readonly Strategy[]): Promise<Heard> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers: { anthropic: { models: { small } } } },
    ...(strategies === undefined ? {} : { parts: { strategies } }),
  });
  open.push(plimsoll);
  const reasons: string[] = [];
  plimsoll.on("compaction-end", ({ reason }) => reasons.push(reason));
  return { session: await plimsoll.session(), reasons };
}

async function say(session: Session, seed: number): Promise<void> {
  await session.append({ role: "user", content: prose(diceOf(seed), 300) });
  await session.prepare({ target: "anthropic/small", cacheMarks: false });
  await session.commit(said);
}

async function heard({ reasons }: Heard): Promise<readonly string[]> {
  await expect.poll(() => reasons.length).toBeGreaterThan(0);
  return reasons;
}

test("a milestone", async () => {
  const talk = await fresh();
  for (let turn = 0; turn < 6; turn++) await say(talk.session, turn);
  await talk.session.milestone({ reason: "P1 is complete." });
  await say(talk.session, 7);
  expect(await heard(talk)).toEqual(["milestone"]);
});

test("the provider's too long", async () => {
  const talk = await fresh();
  for (let turn = 0; turn < 8; turn++) await say(talk.session, turn);
  await talk.session.append({ role: "user", content: "And now?" });
  await talk.session.prepare({ target: "anthropic/small", cacheMarks: false });
  const message = "prompt is too long: 4000 tokens > 2500 maximum";
  const error = { type: "error", error: { type: "invalid_request_error", message } };
  expect(await talk.session.overflowed({ status: 400, error })).toBeDefined();
  await talk.session.commit(said);
  expect(await heard(talk)).toEqual(["too long"]);
});

test("a chain that was exhausted", async () => {
  const talk = await fresh([idle]);
  for (let turn = 0; turn < 30 && talk.reasons.length === 0; turn++) await say(talk.session, turn);
  expect(await heard(talk)).toEqual(["exhausted"]);
});

test("a window that was nearly full", async () => {
  const talk = await fresh();
  for (let turn = 0; turn < 30 && talk.reasons.length === 0; turn++) await say(talk.session, turn);
  expect((await heard(talk))[0]).toBeOneOf(["compact", "forced"]);
});
