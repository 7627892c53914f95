/**
 * A busy service is killed at random moments and started again on the same data: every answer whose end had reached its
 * client is in the log with all that was said before it, and the conversations go on where they were. Their window is
 * so small that they are compacted again and again: every handle that ever reached the provider opens what was cut.
 */

import { rm } from "node:fs/promises";
import { stdout } from "node:process";
import { afterAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { call, reasoning, reply, text } from "./harness/answer.ts";
import type { Reply } from "./harness/answer-parts.ts";
import { effort, seedOr } from "./harness/effort.ts";
import type { JsonObject, Wire } from "./harness/json.ts";
import { handlesIn } from "./harness/kept.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { essence } from "./harness/reading.ts";
import {
  chainTo,
  type LogEntry,
  makeDataFolder,
  readArchive,
  readLog,
  readSessions,
  type Service,
  startService,
} from "./harness/service.ts";
import { nextMessage } from "./harness/talk.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, pause, within } from "./harness/waiting.ts";
import { providersAt } from "./harness/wires.ts";

const SEED = seedOr(9);
const KILLS_COUNT = effort(5, 40);
const CONVERSATIONS_COUNT = 8;
/** A conversation that has grown to this many messages makes room for a new one. */
const MESSAGES_MAX = 40;
const random = diceOf(SEED);
/** A kill comes after so many more acknowledged turns, so that a busy machine gets as far as an idle one, and a moment later. */
const KILL_AFTER = { turnsMin: 12, turnsMax: 60, msMax: 40 } as const;
const ROUND_LIMIT_MS = 45_000;
const PAGE_LENGTH = 7;

let answersCount = 0;
/** Every answer is different, so that a second answer to a repeated request cannot pass for the first. */
function neverTheSame(): Reply {
  answersCount += 1;
  const words = Array.from({ length: 6 }, (_, index) => `word ${index} of ${answersCount} `);
  const parts =
    answersCount % 3 === 0
      ? [text(...words), call(`call_${answersCount}`, "read_file", { path: `${answersCount}.txt` })]
      : [reasoning(`c2ln${answersCount}`, "hm"), text(...words)];
  return { ...reply(...parts), delayBetweenEventsMs: answersCount % 4 };
}

interface Conversation {
  readonly name: string;
  readonly wire: Wire;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends with an unanswered message while a turn is under way, and after one that was broken off. */
  readonly history: JsonObject[];
  /** How many messages of the history belong to acknowledged turns. */
  acknowledgedCount: number;
  turnsCount: number;
  sessionId: string;
}

let conversationsCount = 0;
/** One in four is known by a header of its client, the others by their history alone. */
function newConversation(): Conversation {
  conversationsCount += 1;
  const name = `conversation ${conversationsCount}`;
  const wires: readonly Wire[] = ["anthropic", "openai-chat", "anthropic", "gemini"];
  const wire = wires[conversationsCount % wires.length] ?? "anthropic";
  const headers =
    conversationsCount % 4 === 0 ? { "x-claude-code-session-id": `kill-${name}` } : {};
  return {
    name,
    wire,
    headers,
    history: [],
    acknowledgedCount: 0,
    turnsCount: 0,
    sessionId: "",
  };
}

function isBrokenOff({ history, acknowledgedCount }: Conversation): boolean {
  return history.length > acknowledgedCount;
}

/** One turn. Repeats the last request where it was not acknowledged. */
async function takeTurn(service: Service, conversation: Conversation): Promise<Asked> {
  const { name, wire, headers, history } = conversation;
  if (!isBrokenOff(conversation)) {
    history.push(nextMessage(wire, history.at(-1), `Message ${history.length} of ${name}`));
  }
  const stream = conversation.turnsCount % 4 !== 3;
  // Every round has a new provider, which would not know what an earlier one has signed.
  const model = wire === "gemini" ? { model: "gemini-2.5-pro" } : {};
  const body = bodyOf(wire, history, { stream, ...model });
  const apiKey = "key-of-kill-nine";
  const asked = await ask(service.url, { wire, body, headers, apiKey });
  if (!asked.isComplete) return asked;
  history.push(asked.message);
  conversation.acknowledgedCount = history.length;
  conversation.turnsCount += 1;
  // One answer alone proves nothing: who repeats a question behind it may be somebody else.
  if (conversation.turnsCount > 2) expect(asked.sessionId).toBe(conversation.sessionId);
  conversation.sessionId = asked.sessionId;
  return asked;
}

/** From one start of the service to its kill. */
interface Round {
  readonly upstream: Upstream;
  readonly service: Service;
  isKilled: boolean;
}

const data = await makeDataFolder();
let upstream: Upstream | undefined;
let service: Service | undefined;

async function startRound(): Promise<Round> {
  upstream = await startUpstream({ script: neverTheSame });
  const settings = {
    contextWindow: 700,
    maxOutputTokens: 300,
    contextWindowBufferTokens: 50,
    tokenizer: "tiktoken:o200k_base",
  };
  service = await startService({
    upstreams: {},
    data,
    config: {
      providers: providersAt(upstream.url, settings),
    },
  });
  return { upstream, service, isKilled: false };
}

afterAll(async () => {
  await service?.kill("SIGKILL");
  await upstream?.close();
  await rm(data, { recursive: true, force: true });
});

interface Run {
  /** The conversations that go on side by side. */
  readonly active: Conversation[];
  readonly retired: Conversation[];
}

function isFull(conversation: Conversation): boolean {
  return conversation.history.length >= MESSAGES_MAX && !isBrokenOff(conversation);
}

/** Turn after turn until the service is killed. An error before that is a failure of the test. */
async function talkUntilKilled(current: Round, run: Run, seat: number): Promise<void> {
  while (!current.isKilled) {
    const sitting = run.active[seat] ?? newConversation();
    if (isFull(sitting)) run.retired.push(sitting);
    const conversation = isFull(sitting) ? newConversation() : sitting;
    run.active[seat] = conversation;
    try {
      const { status, isComplete } = await takeTurn(current.service, conversation);
      if (current.isKilled) return;
      expect({ status, isComplete }).toEqual({ status: 200, isComplete: true });
    } catch (error) {
      if (!current.isKilled || !(error instanceof TypeError)) throw error;
    }
  }
}

function turnsOf({ active, retired }: Run): number {
  return [...retired, ...active].reduce((sum, { turnsCount }) => sum + turnsCount, 0);
}

async function killInTheMiddle(current: Round, run: Run): Promise<void> {
  const talks = Promise.all(run.active.map((_, seat) => talkUntilKilled(current, run, seat)));
  const { turnsMin, turnsMax, msMax } = KILL_AFTER;
  const wanted = turnsOf(run) + turnsMin + Math.floor(random() * (turnsMax - turnsMin));
  const enough = eventually(ROUND_LIMIT_MS, "enough turns", () =>
    Promise.resolve(turnsOf(run) >= wanted ? true : undefined),
  );
  // A talk ends before the kill only by failing.
  await Promise.race([talks, enough.then(() => pause(random() * msMax))]);
  current.isKilled = true;
  await current.service.kill("SIGKILL");
  await within(ROUND_LIMIT_MS, "the end of the talks", talks);
  await current.upstream.close();
}

/** The acknowledged part of the conversation is one chain of the log, message by message. */
async function expectKept(service: Service, conversation: Conversation): Promise<void> {
  const { acknowledgedCount, history, name, sessionId } = conversation;
  if (acknowledgedCount === 0) return;
  const log = await readLog(service, sessionId, PAGE_LENGTH);
  const acknowledged = history.slice(0, acknowledgedCount).map(essence);
  const lastAnswer = JSON.stringify(acknowledged.at(-1));
  const found = log.find((entry) => JSON.stringify(essence(entry.message)) === lastAnswer);
  expect(found, `the last acknowledged answer of ${name}`).toBeDefined();
  const chain = chainTo(log, found?.seq ?? -1);
  expect(chain.map((entry) => essence(entry.message))).toEqual(acknowledged);
  expect(chain.filter((entry) => entry.incomplete)).toEqual([]);
}

/** What was sent with a handle in it was on disk before it was sent. */
async function expectHandlesOpen(service: Service, handles: ReadonlySet<string>): Promise<void> {
  for (const handle of handles) {
    const content = await readArchive(service, handle, 500);
    expect(JSON.parse(content), handle).toEqual(expect.arrayContaining([expect.any(Object)]));
  }
}

/** Every page of every log can be read, also of sessions that no client ever heard of. */
async function expectReadable(service: Service): Promise<void> {
  for (const { id } of await readSessions(service)) {
    const log = await readLog(service, id, PAGE_LENGTH);
    for (const entry of log) expectWholeEntry(entry);
    for (const { seq } of log) chainTo(log, seq);
  }
}

function expectWholeEntry(entry: LogEntry): void {
  expect(entry).toMatchObject({
    seq: expect.any(Number),
    role: expect.any(String),
    hash: expect.any(String),
    message: expect.objectContaining({ role: expect.toBeOneOf([entry.role, "model"]) }),
  });
}

test(
  `${KILLS_COUNT} kills of a busy service, by the seed ${SEED}, lose no acknowledged turn`,
  async () => {
    const run: Run = {
      active: Array.from({ length: CONVERSATIONS_COUNT }, newConversation),
      retired: [],
    };
    let checkedCount = 0;
    let brokenOffCount = 0;
    const handles = new Set<string>();
    for (let kill = 1; kill <= KILLS_COUNT; kill += 1) {
      const current = await startRound();
      const unchecked = [...run.retired.slice(checkedCount), ...run.active];
      for (const conversation of unchecked) await expectKept(current.service, conversation);
      checkedCount = run.retired.length;
      await killInTheMiddle(current, run);
      for (const { body } of current.upstream.requests)
        for (const handle of handlesIn(body.toString("utf8"))) handles.add(handle);
      brokenOffCount += run.active.filter(isBrokenOff).length;
    }
    const last = await startRound();
    for (const conversation of [...run.retired, ...run.active]) {
      await expectKept(last.service, conversation);
    }
    await expectReadable(last.service);
    expect(handles.size).toBeGreaterThan(2);
    await expectHandlesOpen(last.service, handles);
    for (const conversation of run.active) {
      expect(await takeTurn(last.service, conversation)).toMatchObject({ isComplete: true });
      await expectKept(last.service, conversation);
    }
    report(run, brokenOffCount, handles.size);
  },
  (KILLS_COUNT + 1) * ROUND_LIMIT_MS,
);

function report(run: Run, brokenOffCount: number, handlesCount: number): void {
  const all = [...run.retired, ...run.active];
  const turnsCount = turnsOf(run);
  expect(turnsCount).toBeGreaterThan(KILLS_COUNT);
  const parts = [
    `${KILLS_COUNT} kills`,
    `${all.length} conversations`,
    `${turnsCount} acknowledged turns, 0 lost`,
    `${brokenOffCount} broken off and repeated`,
    `${handlesCount} handles, all open`,
  ];
  stdout.write(`kill-nine: ${parts.join(", ")}\n`);
}
