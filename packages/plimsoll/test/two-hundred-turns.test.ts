/** Conversations of 200 turns, with a restart in the middle: before the edit point no byte changes between two compactions. */

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { call, reply, text } from "./harness/answer.ts";
import type { Reply } from "./harness/answer-parts.ts";
import { WIRES } from "./harness/json.ts";
import { messageTexts } from "./harness/kept.ts";
import { bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, type Service, startService } from "./harness/service.ts";
import { Talk } from "./harness/talk.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { MODELS, providersAt } from "./harness/wires.ts";
import { prose } from "./harness/words.ts";

const TURNS = 200;
const RESTART_AFTER = 100;
/** The calls of an older Gemini model have no ids, and nothing is signed. */
const MODELS_USED = [
  ...WIRES.map((wire) => ({ wire, model: MODELS[wire] })),
  { wire: "gemini", model: "gemini-2.5-pro" },
] as const;
type Used = (typeof MODELS_USED)[number];
const settings = {
  contextWindow: 4_000,
  maxOutputTokens: 1_000,
  contextWindowBufferTokens: 200,
  tokenizer: "tiktoken:o200k_base",
};

interface Sent {
  readonly body: string;
  readonly action: string;
}

let upstream: Upstream;
let service: Service;
let data: string;
let answersCount = 0;
const sent = new Map<Used, Sent[]>();

/** Two of three answers call a tool. */
function script(): Reply {
  answersCount++;
  return answersCount % 3 === 0
    ? reply(text(`Done ${answersCount}.`))
    : reply(call(`call_${answersCount}`, "look", { at: answersCount }));
}

function start(): Promise<Service> {
  return startService({
    upstreams: {},
    data,
    config: {
      durability: "normal",
      providers: providersAt(upstream.url, settings),
    },
  });
}

/** Takes turns up to number `until`; the talk goes on from where an earlier one stopped. */
async function takeTurns(used: Used, before: Talk | undefined, until: number): Promise<Talk> {
  const { wire, model } = used;
  const question = { wire, apiKey: `key-of-${wire}-${model}` };
  const talk = new Talk(service.url, question, before?.history ?? []);
  const taken = sent.get(used) ?? [];
  sent.set(used, taken);
  const random = diceOf(until);
  while (taken.length < until) {
    await talk.say(prose(random, 60), (history) => bodyOf(wire, history, { model, stream: true }));
    taken.push({
      body: upstream.requests.at(-1)?.body.toString("utf8") ?? "",
      action: talk.answers.at(-1)?.headers.get("x-plimsoll-action") ?? "",
    });
  }
  return talk;
}

beforeAll(async () => {
  upstream = await startUpstream({ script });
  data = await makeDataFolder();
  service = await start();
  const talks = new Map<Used, Talk>();
  for (const used of MODELS_USED) talks.set(used, await takeTurns(used, undefined, RESTART_AFTER));
  await service.stop();
  service = await start();
  for (const used of MODELS_USED) await takeTurns(used, talks.get(used), TURNS);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

describe.each(MODELS_USED)("$wire with $model", (used) => {
  const { wire } = used;

  test(`${TURNS} turns, several compactions, and nothing that the provider refused`, () => {
    const turns = sent.get(used) ?? [];
    expect(turns).toHaveLength(TURNS);
    expect(turns.filter(({ action }) => action === "compacted").length).toBeGreaterThan(5);
    expect(upstream.refusals).toMatchObject({ overflow: 0, invalid: [] });
  });

  test("every message but the newest of a request stands in the next one, byte for byte", () => {
    const turns = sent.get(used) ?? [];
    let compared = 0;
    for (const [index, { body, action }] of turns.entries()) {
      const before = turns[index - 1];
      if (before === undefined || action === "compacted") continue;
      // The newest one may have carried the note that the window fills only from now on.
      const kept = messageTexts(wire, before.body).slice(0, -1);
      const now = messageTexts(wire, body).slice(0, kept.length);
      const differs = kept.findIndex((message, place) => message !== now[place]);
      expect(differs, `turn ${index}, message ${differs}`).toBe(-1);
      compared++;
    }
    expect(compared).toBeGreaterThan(TURNS / 2);
    expect(turns[RESTART_AFTER]?.action).toBeOneOf(["edited", "passthrough", "compacted"]);
  });
});
