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
import { createTexts, type TextSource } from "./texts.ts";

const sizes = [1_000, 10_000, 50_000] as const;
interface State {
  readonly name: string;
  /** One after the other, before the timed turns. */
  readonly compactions: number;
  readonly slackMicroseconds: number;
}
const states: readonly State[] = [
  { name: "never edited", compactions: 0, slackMicroseconds: 50 },
  { name: "compacted once", compactions: 1, slackMicroseconds: 100 },
  { name: "compacted five times", compactions: 5, slackMicroseconds: 100 },
];
/** About 310 tokens. */
const resultCharacters = 1_500;
/** Setting up takes minutes and a turn less than a millisecond, so there is one round with many turns. */
const turnsOf = (isQuick: boolean): number => (isQuick ? 100 : 250);
/** Sessions from here on are measured in one state after the other: the timed turns hardly make them longer. */
const sharedFrom = 10_000;
const warmUpTurns = 30;
/** In the last ones the list is read too; before, it would only make garbage. */
const listTurns = 10;

const fullShare = 0.97;
/** Of the last window: each compaction after the first has a smaller one, so that it does not take as many messages again. */
const nextShare = 0.6;
/** Of the results that lead to the next compaction, and how many of them there may be. */
const fillingCharacters = 20_000;
const fillingTurnsMax = 400;
/** Of the timed turns: none of them comes to a warning. */
const roomy = "bench/large";

/** All times in microseconds. */
interface Figures {
  readonly size: number;
  readonly state: State;
  readonly prepare: number[];
  /** The list of messages of the request: it is made when it is read. */
  readonly list: number[];
  readonly compactions: CompactingTurn[];
}

interface CompactingTurn {
  readonly microseconds: number;
  /** Share of the tokens. */
  readonly left: number;
}

interface Opened {
  readonly session: Session;
  readonly conversation: Conversation;
  /** In order. */
  readonly compactions: CompactingTurn[];
}

interface Subject extends Opened {
  readonly figures: Figures;
}

type Counting = ReadonlyMap<State, readonly number[]>;

export const incrementalBenchmark: Benchmark = {
  name: "incremental",
  title: "Library: one turn more in a long session",
  run: async ({ isQuick }) => {
    const counter = createTokenCounter();
    const limits = await limitsOf(counter);
    const all = noFigures();
    const counting = await measureStates(all, limits, { counter, turns: turnsOf(isQuick) });
    await counter.close();
    return outcomeOf(all, counting);
  },
};

function noFigures(): readonly Figures[] {
  return sizes.flatMap((size) =>
    states.map((state) => ({ size, state, prepare: [], list: [], compactions: [] })),
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
    for (let number = 1; number <= 5; number++)
      limits[windowOf(size, number)] = Math.floor(tokens * fullShare * nextShare ** (number - 1));
  }
  return limits;
}

/** Of the compaction with this number. */
function windowOf(size: number, number: number): string {
  return `${size}-${number}`;
}

function bytesOf(message: JsonObject): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(message));
}

interface Run {
  readonly counter: SessionTokenCounter;
  readonly turns: number;
}

/** Gives the times of counting alone, in each state. */
async function measureStates(
  all: readonly Figures[],
  limits: Readonly<Record<string, number>>,
  run: Run,
): Promise<Counting> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: configOf(limits),
  });
  const counting = new Map<State, readonly number[]>();
  const opened = new Map<number, Opened>();
  try {
    for (const [seed, state] of states.entries()) {
      const subjects: Subject[] = [];
      for (const figures of all.filter((one) => one.state === state)) {
        const { size } = figures;
        // Each with texts of its own: what one has counted, another would find counted.
        const session = opened.get(size) ?? (await openSession(plimsoll, size, 2 + size + seed));
        if (size >= sharedFrom) opened.set(size, session);
        const subject = { figures, ...session };
        await compactUntil(subject, state.compactions);
        subjects.push(subject);
      }
      counting.set(state, await measureTurns(subjects, run, createTexts(1_000 + seed)));
    }
    return counting;
  } finally {
    await plimsoll.close();
  }
}

/** In turn with counting as many texts, none of them seen before. */
async function measureTurns(
  subjects: readonly Subject[],
  { counter, turns }: Run,
  texts: TextSource,
): Promise<readonly number[]> {
  const counting: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    for (const subject of subjects) {
      const alone = texts.text(resultCharacters);
      const before = performance.now();
      await counter.count(ruler.tokenizer, [alone]);
      if (turn >= warmUpTurns) counting.push((performance.now() - before) * 1000);
      await takeTurn(subject, turn, turns);
    }
  }
  return counting;
}

/** Its first turn passes: what compacts the session is a turn after it, with a smaller window. */
async function openSession(plimsoll: Plimsoll, size: number, seed: number): Promise<Opened> {
  const session = await plimsoll.session();
  const conversation = createConversation(size, seed);
  const [waiting] = conversation.messages.slice(-1);
  for (const message of conversation.messages.slice(0, -1)) await session.append(message);
  const first = await session.prepare({ target: roomy });
  if (first.outcome.kind !== "passthrough")
    throw new Error(`The first turn of ${size} messages was ${first.outcome.kind}.`);
  await session.commit(answerOf(waiting ?? {}, first.measurement.total));
  return { session, conversation, compactions: [] };
}

async function compactUntil(subject: Subject, count: number): Promise<void> {
  const { compactions, figures } = subject;
  while (compactions.length < count)
    await compactOnce(subject, `bench/${windowOf(figures.size, compactions.length + 1)}`);
  figures.compactions.push(...compactions);
}

/** Adds large results until the window is full. */
async function compactOnce(subject: Subject, target: string): Promise<void> {
  const { figures, session, conversation, compactions } = subject;
  const isFirst = compactions.length === 0;
  for (let turns = 0; turns < fillingTurnsMax; turns++) {
    await session.append(conversation.result(isFirst ? resultCharacters : fillingCharacters));
    const before = performance.now();
    const turn = await session.prepare({ target });
    const microseconds = (performance.now() - before) * 1000;
    const { outcome, measurement } = turn;
    if (isFirst || outcome.kind !== "edited") {
      expectOutcome(turn, "compacted", figures);
      expectValid(turn, figures);
      compactions.push({ microseconds, left: outcome.tokensAfter / outcome.tokensBefore });
    }
    await session.commit(answerOf(conversation.call(), measurement.total));
    if (outcome.kind === "compacted") return;
  }
  throw new Error(`${nameOf(figures)}: ${target} was never full.`);
}

async function takeTurn(subject: Subject, index: number, turns: number): Promise<void> {
  const { figures, session, conversation } = subject;
  const message = conversation.result(resultCharacters);
  const before = performance.now();
  await session.append(message);
  const turn = await session.prepare({ target: roomy });
  const prepared = performance.now();
  if (index >= turns - listTurns) {
    if (!Array.isArray(turn.request["messages"])) throw new Error("There must be a list.");
    figures.list.push((performance.now() - prepared) * 1000);
  } else if (index >= warmUpTurns) figures.prepare.push((prepared - before) * 1000);
  expectOutcome(turn, figures.state.compactions === 0 ? "passthrough" : "edited", figures);
  if (index === turns - 1) expectValid(turn, figures);
  await session.commit(answerOf(conversation.call(), turn.measurement.total));
}

function expectOutcome({ outcome }: PreparedTurn, kind: string, figures: Figures): void {
  if (outcome.kind !== kind)
    throw new Error(`${nameOf(figures)}: a turn was ${outcome.kind} and not ${kind}.`);
}

function expectValid({ request }: PreparedTurn, figures: Figures): void {
  const [found] = validate({ wire: "openai-chat", body: request });
  if (found !== undefined)
    throw new Error(`${nameOf(figures)}: rule ${found.rule} is broken: ${found.message}`);
}

function outcomeOf(all: readonly Figures[], counting: Counting): Outcome {
  const named = all.map((figures) => ({
    ...figures,
    name: nameOf(figures),
    alone: median(counting.get(figures.state) ?? []),
  }));
  return {
    tables: [
      {
        title: "append + prepare of a result of 310 tokens, µs",
        columns: ["", "p50", "p99", "mean", "× counting", "list of messages read, p50"],
        rows: [
          ["counting its text alone", ...times([...counting.values()].flat()), "1.00", ""],
          ...named.map(({ name, prepare, list, alone }) => [
            name,
            ...times(prepare),
            figure(median(prepare) / alone),
            figure(median(list)),
          ]),
        ],
      },
      {
        title: "The turn that compacts, tokens counted before",
        columns: ["messages", "first, ms", "µs for each message", "fifth, ms", "share left"],
        rows: sizes.map((size) => {
          const compacted = all.filter((figures) => figures.size === size);
          const turns = compacted.flatMap(({ compactions }) => compactions);
          const nth = (index: number): number =>
            median(compacted.flatMap(({ compactions }) => compactions[index]?.microseconds ?? []));
          return [
            size.toLocaleString("en-US"),
            figure(nth(0) / 1000),
            figure(nth(0) / size),
            figure(nth(4) / 1000),
            figure(mean(turns.map(({ left }) => left))),
          ];
        }),
      },
    ],
    checks: [
      ...named.map(({ name, state: { slackMicroseconds }, prepare, alone }) =>
        atMost(
          `turn at ${name}: 1.25 × counting + ${slackMicroseconds} µs`,
          median(prepare),
          alone * 1.25 + slackMicroseconds,
          "µs",
        ),
      ),
      ...states.map((state) => {
        const [shortest, , longest] = named.filter((figures) => figures.state === state);
        return atMost(
          `${state.name}: p50 at 50,000 messages beside 1,000`,
          median(longest?.prepare ?? []) / median(shortest?.prepare ?? []),
          1.3,
          "×",
        );
      }),
    ],
  };
}

function nameOf({ size, state }: Figures): string {
  return `${size.toLocaleString("en-US")} messages, ${state.name}`;
}

/** The mean too: a turn in many that does the work of all others is in no percentile. */
function times(values: readonly number[]): readonly string[] {
  return [figure(median(values)), figure(percentile(values, 0.99)), figure(mean(values))];
}
