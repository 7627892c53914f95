/** Goal 1: a turn costs what its new message costs, however long the session is. */

import { openPlimsoll, type Plimsoll, type Session } from "plimsoll";
import { createTokenCounter } from "../packages/plimsoll/src/session/token-counter.ts";
import { fillSession, result, target, toolAnswer } from "./library-session.ts";
import { atMost, type Benchmark, figure } from "./report.ts";
import { median, percentile } from "./statistics.ts";
import { createTexts, type TextSource } from "./texts.ts";

const tokenizer = "tiktoken:o200k_base";
/** About 300 tokens. */
const resultCharacters = 1_500;
const fillerCharacters = 60;
const slackMicroseconds = 50;

interface Subject {
  readonly messages: number;
  readonly session: Session;
  readonly times: number[];
}

export const incrementalBenchmark: Benchmark = {
  name: "incremental",
  title: "Library: one turn more in a long session",
  run: async ({ isQuick }) => {
    const plimsoll = await openPlimsoll({ store: "memory" });
    try {
      const texts = createTexts(1);
      const subjects = await openSubjects(plimsoll, texts);
      const counting = await measureTurns(subjects, texts, isQuick ? 200 : 1_500);
      return outcomeOf(subjects, counting);
    } finally {
      await plimsoll.close();
    }
  },
};

async function openSubjects(plimsoll: Plimsoll, texts: TextSource): Promise<readonly Subject[]> {
  const subjects: Subject[] = [];
  for (const messages of [1_000, 10_000, 50_000]) {
    const session = await plimsoll.session();
    await fillSession(session, { messages, texts, characters: fillerCharacters });
    subjects.push({ messages, session, times: [] });
  }
  return subjects;
}

/** Gives the times of counting alone: as many texts, none of them seen before. */
async function measureTurns(
  subjects: readonly Subject[],
  texts: TextSource,
  turns: number,
): Promise<readonly number[]> {
  const counter = createTokenCounter();
  const counting: number[] = [];
  const warmUp = turns / 10;
  for (let turn = -warmUp; turn < turns; turn++) {
    for (const { session, times } of subjects) {
      const alone = texts.text(resultCharacters);
      const beforeCount = performance.now();
      await counter.count(tokenizer, [alone]);
      const afterCount = performance.now();
      const message = result(texts.text(resultCharacters));
      const beforeTurn = performance.now();
      await session.append(message);
      await session.prepare({ target });
      const afterTurn = performance.now();
      await session.commit(toolAnswer);
      if (turn < 0) continue;
      counting.push((afterCount - beforeCount) * 1000);
      times.push((afterTurn - beforeTurn) * 1000);
    }
  }
  await counter.close();
  return counting;
}

function outcomeOf(
  subjects: readonly Subject[],
  counting: readonly number[],
): Awaited<ReturnType<Benchmark["run"]>> {
  const alone = median(counting);
  const [shortest] = subjects;
  const longest = subjects.at(-1);
  const row = (name: string, times: readonly number[]): readonly string[] => [
    name,
    figure(median(times)),
    figure(percentile(times, 0.99)),
    figure(median(times) / alone),
  ];
  return {
    tables: [
      {
        title: "A result of 300 tokens, µs",
        columns: ["", "p50", "p99", "× counting"],
        rows: [
          row("counting its text alone", counting),
          ...subjects.map(({ messages, times }) =>
            row(`append + prepare at ${messages.toLocaleString("en-US")} messages`, times),
          ),
        ],
      },
    ],
    checks: [
      ...subjects.map(({ messages, times }) =>
        atMost(
          `turn at ${messages.toLocaleString("en-US")} messages: 1.25 × counting + 50 µs`,
          median(times),
          alone * 1.25 + slackMicroseconds,
          "µs",
        ),
      ),
      atMost(
        "p50 at 50,000 messages beside 1,000",
        median(longest?.times ?? []) / median(shortest?.times ?? []),
        1.3,
        "×",
      ),
    ],
  };
}
