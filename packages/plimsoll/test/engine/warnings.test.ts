/** From the warning threshold on, people get an event and the model a note, once each time that it is crossed. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 8_000,
  contextWindowBufferTokens: 500,
  maxOutputTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};
const noteBegins = "[Plimsoll: this conversation fills";

/** Talks in steps of some tokens up to a size, and returns the fill in each event, and the notes of each request. */
async function talk(config: Config, { step = 400, upTo = 6_900 } = {}) {
  const providers = { anthropic: { models: { small } } };
  const plimsoll = await openPlimsoll({ store: "memory", config: { providers, ...config } });
  open.push(plimsoll);
  const session = await plimsoll.session({ agent: "coder" });
  const events: number[] = [];
  plimsoll.on("context-warning", ({ filled }) => events.push(filled));
  const say = async () => {
    await session.append({ role: "user", content: prose(diceOf(events.length), step) });
    const { request } = await session.prepare({ target: "anthropic/small", cacheMarks: false });
    await session.commit(answer);
    return JSON.stringify(request);
  };
  const requests: string[] = [];
  for (let said = step; said <= upTo; said += step) requests.push(await say());
  const noted = requests.map((request) => request.split(noteBegins).length - 1);
  return { session, say, events, requests, noted };
}

const byHand: Config = { agent: { compaction: "by_hand" } };

describe.each<[string, Config]>([
  ["by default", {}],
  ["with compaction: by_hand", byHand],
])("%s", (_, config) => {
  test("the first request over 80 % has the note, and there is one event", async () => {
    const { events, noted, requests } = await talk(config, { upTo: 6_200 });
    expect(events).toHaveLength(1);
    expect(events[0]).toBeGreaterThanOrEqual(0.8);
    expect(events[0]).toBeLessThan(0.9);
    expect(noted.at(-1)).toBe(1);
    expect(requests.filter((request) => request.includes(noteBegins)).length).toBeLessThan(3);
  });

  test("with warning_note: false, people still get the event, and the model gets no note", async () => {
    const agent = { ...config.agent, warning_note: false };
    const { events, noted } = await talk({ agent }, { upTo: 6_200 });
    expect(events).toHaveLength(1);
    expect(noted).toEqual(noted.map(() => 0));
  });
});

test("with compaction: by_hand, a jump over 95 % comes with the event too", async () => {
  const { events } = await talk(byHand, { step: 3_400 });
  expect(events).toHaveLength(1);
  expect(events[0]).toBeGreaterThan(0.95);
});

test("with compaction: by_hand, the limit of an agent warns at 80 %, where others are compacted", async () => {
  const context_config = { per_agent: { coder: 4_000 } };
  const { events, noted } = await talk({ ...byHand, context_config }, { upTo: 3_600 });
  expect(events).toHaveLength(1);
  expect(events[0]).toBeLessThan(0.95);
  expect(noted.at(-1)).toBe(1);
});

test("with compaction: by_hand, the note does not announce what nobody does, and the next crossing has another", async () => {
  const { session, say, events, requests } = await talk(byHand, { upTo: 6_200 });
  expect(requests.at(-1)).toContain("Nothing is taken out until somebody asks for it");
  expect(requests.at(-1)).not.toContain("will soon replace");
  await session.compact();
  let last = "";
  for (let turn = 0; turn < 9 && events.length < 2; turn++) last = await say();
  expect(events).toHaveLength(2);
  expect(last.split(noteBegins)).toHaveLength(2);
});
