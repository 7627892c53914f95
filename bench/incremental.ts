/**
 * Goal 1: a turn costs what its new message costs, however long the session is, and whether it was ever edited.
 * Beside it what the one turn costs that compacts.
 */

import { openPlimsoll, type Plimsoll, type PreparedTurn, type Session } from "plimsoll";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { createFactsReader } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import {
  createTokenCounter,
  type SessionTokenCounter,
} from "../packages/plimsoll/src/session/measure/token-counter.ts";
import { validate } from "../packages/plimsoll/src/wire/validate/validate.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import {
  answerOf,
  type Conversation,
  configOf,
  createConversation,
  ruler,
} from "./conversation.ts";
import { atMost, type Benchmark, figure, type Outcome } from "./report.ts";
import { mean, median, percentile } from "./statistics.ts";
import { createTexts } from "./texts.ts";

const sizes = [1_000, 10_000, 50_000] as const;
const states = ["never edited", "compacted once"] as const;
/** About 310 tokens. */
const resultCharacters = 1_500;
const slackMicroseconds = 50;
/** So few that the shortest conversation does not come to its next warning. */
const turnsPerRound = 100;
const warmUpTurns = 10;
/** In the last ones of a round the list is read too; before, it would only make garbage. */
const listTurns = 10;

const fullShare = 0.97;

type State = (typeof states)[number];

/** All times in microseconds. */
interface Figures {
  readonly size: number;
  readonly state: State;
  readonly prepare: number[];
  /** The list of messages of the request: it is made when it is read. */
  readonly list: number[];
  /** Of the turns that compacted. */
  readonly compaction: number[];
  readonly left: number[];
}

interface Subject {
  readonly figures: Figures;
  readonly session: Session;
  readonly conversation: Conversation;
  readonly target: string;
}

export const incrementalBenchmark: Benchmark = {
  name: "incremental",
  title: "Library: one turn more in a long session",
  run: async ({ isQuick }) => {
    const counter = createTokenCounter();
    const limits = await limitsOf(counter);
    if (!isQuick) await measureRound(noFigures(), limits, { counter, round: 0 });
    const all = noFigures();
    const counting: number[] = [];
    for (let round = 1; round <= (isQuick ? 1 : 4); round++)
      counting.push(...(await measureRound(all, limits, { counter, round })));
    await counter.close();
    return outcomeOf(all, counting);
  },
};

function noFigures(): readonly Figures[] {
  return sizes.flatMap((size) =>
    states.map((state) => ({ size, state, prepare: [], list: [], compaction: [], left: [] })),
  );
}

/** Such that a session of this length is full, whatever its seed; "large" holds every one. */
async function limitsOf(counter: SessionTokenCounter): Promise<Readonly<Record<string, number>>> {
  const facts = createFactsReader(counter);
  const limits: Record<string, number> = { large: 1_000_000_000 };
  for (const size of sizes) {
    const bytes = createConversation(size).messages.map(bytesOf);
    const learned = await facts.learn(wires["openai-chat"], bytes, ruler);
    const tokens = learned.reduce((sum, message) => sum + message.tokens, 0);
    limits[String(size)] = Math.floor(tokens * fullShare);
  }
  return limits;
}

function bytesOf(message: JsonObject): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(message));
}

interface Round {
  readonly counter: SessionTokenCounter;
  readonly round: number;
}

/** Gives the times of counting alone: as many texts, none of them seen before. */
async function measureRound(
  all: readonly Figures[],
  limits: Readonly<Record<string, number>>,
  { counter, round }: Round,
): Promise<readonly number[]> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: configOf(limits),
  });
  try {
    const subjects: Subject[] = [];
    // Each with texts of its own: what one has counted, another would find counted.
    for (const [index, figures] of all.entries())
      subjects.push(await openSubject(plimsoll, figures, 2 + round * all.length + index));
    const texts = createTexts(1_000 + round);
    const counting: number[] = [];
    for (let turn = 0; turn < turnsPerRound; turn++) {
      for (const subject of subjects) {
        const alone = texts.text(resultCharacters);
        const before = performance.now();
        await counter.count(ruler.tokenizer, [alone]);
        counting.push((performance.now() - before) * 1000);
        await takeTurn(subject, turn);
      }
    }
    return counting;
  } finally {
    await plimsoll.close();
  }
}

/** The first turn passes in every state: what compacts the session is the turn after it, with a smaller window. */
async function openSubject(plimsoll: Plimsoll, figures: Figures, seed: number): Promise<Subject> {
  const { size, state } = figures;
  const session = await plimsoll.session();
  const conversation = createConversation(size, seed);
  const [waiting] = conversation.messages.slice(-1);
  for (const message of conversation.messages.slice(0, -1)) await session.append(message);
  const first = await session.prepare({ target: "bench/large" });
  expectOutcome(first, "passthrough", figures);
  await session.commit(answerOf(waiting ?? {}, first.measurement.total));
  const target = state === "never edited" ? "bench/large" : `bench/${size}`;
  const subject = { figures, session, conversation, target };
  if (state === "compacted once") await compactOnce(subject);
  return subject;
}

async function compactOnce({ figures, session, conversation, target }: Subject): Promise<void> {
  await session.append(conversation.result(resultCharacters));
  const before = performance.now();
  const turn = await session.prepare({ target });
  figures.compaction.push((performance.now() - before) * 1000);
  expectOutcome(turn, "compacted", figures);
  expectValid(turn, figures);
  figures.left.push(turn.outcome.tokensAfter / turn.outcome.tokensBefore);
  await session.commit(answerOf(conversation.call(), turn.measurement.total));
}

async function takeTurn(subject: Subject, index: number): Promise<void> {
  const { figures, session, conversation, target } = subject;
  const message = conversation.result(resultCharacters);
  const before = performance.now();
  await session.append(message);
  const turn = await session.prepare({ target });
  const prepared = performance.now();
  if (index >= turnsPerRound - listTurns) {
    if (!Array.isArray(turn.request["messages"])) throw new Error("There must be a list.");
    figures.list.push((performance.now() - prepared) * 1000);
  } else if (index >= warmUpTurns) figures.prepare.push((prepared - before) * 1000);
  expectOutcome(turn, figures.state === "never edited" ? "passthrough" : "edited", figures);
  if (turn.measurement.total > turn.limit.limit)
    throw new Error(`At ${figures.size} messages, ${figures.state}, a turn is over its limit.`);
  if (index === turnsPerRound - 1) expectValid(turn, figures);
  await session.commit(answerOf(conversation.call(), turn.measurement.total));
}

function expectOutcome({ outcome }: PreparedTurn, kind: string, { size, state }: Figures): void {
  if (outcome.kind !== kind)
    throw new Error(`At ${size} messages, ${state}, a turn was ${outcome.kind} and not ${kind}.`);
}

function expectValid({ request }: PreparedTurn, { size, state }: Figures): void {
  const [found] = validate({ wire: "openai-chat", body: request });
  if (found !== undefined)
    throw new Error(
      `At ${size} messages, ${state}, rule ${found.rule} is broken: ${found.message}`,
    );
}

function outcomeOf(all: readonly Figures[], counting: readonly number[]): Outcome {
  const alone = median(counting);
  const named = all.map((figures) => ({ ...figures, name: nameOf(figures) }));
  const compacted = named.filter(({ compaction }) => compaction.length > 0);
  return {
    tables: [
      {
        title: "append + prepare of a result of 310 tokens, µs",
        columns: ["", "p50", "p99", "× counting", "list of messages read, p50"],
        rows: [
          ["counting its text alone", ...times(counting), "1.00", ""],
          ...named.map(({ name, prepare, list }) => [
            name,
            ...times(prepare),
            figure(median(prepare) / alone),
            figure(median(list)),
          ]),
        ],
      },
      {
        title: "The turn that compacts, tokens counted before",
        columns: ["messages", "ms", "µs for each message", "share left"],
        rows: compacted.map(({ size, compaction, left }) => [
          size.toLocaleString("en-US"),
          figure(median(compaction) / 1000),
          figure(median(compaction) / size),
          figure(mean(left)),
        ]),
      },
    ],
    checks: [
      ...named.map(({ name, prepare }) =>
        atMost(
          `turn at ${name}: 1.25 × counting + 50 µs`,
          median(prepare),
          alone * 1.25 + slackMicroseconds,
          "µs",
        ),
      ),
      ...states.map((state) => {
        const [shortest, , longest] = named.filter((figures) => figures.state === state);
        return atMost(
          `${state}: p50 at 50,000 messages beside 1,000`,
          median(longest?.prepare ?? []) / median(shortest?.prepare ?? []),
          1.3,
          "×",
        );
      }),
    ],
  };
}

function nameOf({ size, state }: Figures): string {
  return `${size.toLocaleString("en-US")} messages, ${state}`;
}

function times(values: readonly number[]): readonly [string, string] {
  return [figure(median(values)), figure(percentile(values, 0.99))];
}
