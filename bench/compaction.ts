/**
 * What a compaction takes: fifty units through the whole chain, a summary without a model, and a long conversation that
 * nobody knows, beside what other libraries do to the same one.
 */

import { type Config, openPlimsoll } from "plimsoll";
import { loadTokenizer } from "../packages/plimsoll/src/budget/tokenizer.ts";
import { summarise } from "../packages/plimsoll/src/compact/summary/summary.ts";
import { type Message, messageText } from "../packages/plimsoll/src/message/message.ts";
import { splitUnits } from "../packages/plimsoll/src/message/unit.ts";
import { simulateConversation } from "../packages/plimsoll/src/simulate/simulate.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import type { CompactionFigures } from "./compaction-session.ts";
import { startChild, TookTooLong } from "./processes.ts";
import { atMost, type Benchmark, figure, type Table } from "./report.ts";
import { median, medianRatio } from "./statistics.ts";

const sizes = [1_000, 10_000] as const;
const own = "Plimsoll";
const ways = [own, "trimMessages", "summarizationMiddleware", "pruneMessages"] as const;
const timeoutMs = 120_000;
const roundsOf = (size: number): number => (size < 10_000 ? 5 : 3);

const leftOut: readonly (readonly [string, string])[] = [
  [own, "a model: its texts are quotations. Everything is kept, and the model is told its handle"],
  ["trimMessages (startOn human)", "everything that is cut is gone, without a notice"],
  [
    "summarizationMiddleware",
    "the time of a model: a stub answers at once. It reads the newest 4,000 tokens of what it cuts; no archive",
  ],
  ["pruneMessages", "tokens and a limit; only calls and results go; no archive, no notice"],
];
const unitCount = 50;
/** Of the conversation, so that every step of a chain has something to do. */
const budgetShare = 0.25;
const summarisedTokens = 2_000;
const summaryTokens = 300;

const chains: readonly (readonly [string, Config])[] = [
  ["default", {}],
  [
    "chain_order with all five names",
    {
      context_config: {
        breaking_strategy: {
          chain_order: [
            "summarize_old",
            "prioritize_recent",
            "content_type_chunking",
            "discard_low_rel",
            "hybrid",
          ],
        },
      },
    },
  ],
];

export const compactionBenchmark: Benchmark = {
  name: "compaction",
  title: "Compaction: fifty units, a summary, and a long session beside other libraries",
  run: async ({ isQuick }) => {
    const rounds = isQuick ? 2 : 15;
    const { count } = await loadTokenizer("tiktoken:o200k_base");
    const tokens = (text: string): number => count(text).tokens;
    const chained: ChainRun[] = [];
    for (const [name, config] of chains) chained.push(await timeChain(name, config, rounds));
    const summary = timeSummary(tokens, rounds);
    const sessions = await timeSessions((size) => (isQuick ? 1 : roundsOf(size)));
    const slowest = Math.max(...chained.map(({ times }) => Math.max(...times)));
    return {
      tables: [
        chainTable(chained),
        {
          title: `A summary without a model: ${figure(summary.tokens)} tokens to ${summaryTokens}, ms`,
          columns: ["", "first", "later p50"],
          rows: [["summarise", ...firstAndLater(summary.times)]],
        },
        ...sessions,
        { title: "What each leaves out", columns: ["", "leaves out"], rows: leftOut },
      ],
      checks: [
        atMost(`${unitCount} units through a chain, slowest call`, slowest, 2_000, "ms"),
        atMost(
          `summary of ${figure(summary.tokens)} tokens, slowest call`,
          Math.max(...summary.times),
          500,
          "ms",
        ),
      ],
    };
  },
};

/** Units of every type, a different conversation in each round. */
function fiftyUnits(seed: number): readonly Message[] {
  const messages = simulateConversation({ tokens: 60_000, seed, toolCalls: 0.4 });
  const last = splitUnits(messages)[unitCount - 1]?.last ?? messages.length - 1;
  return messages.slice(0, last + 1);
}

interface ChainRun {
  readonly name: string;
  readonly times: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** That had a part in it, over all rounds. */
  readonly strategies: ReadonlySet<string>;
}

async function timeChain(name: string, config: Config, rounds: number): Promise<ChainRun> {
  const plimsoll = await openPlimsoll({ store: "memory", config });
  await plimsoll.warmUp();
  const [times, before, after]: [number[], number[], number[]] = [[], [], []];
  const strategies = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const messages = wires["openai-chat"].messages.encode(fiftyUnits(round + 1));
    const whole = await plimsoll.compactMessages({
      wire: "openai-chat",
      messages,
      budget: 10_000_000,
    });
    const budget = Math.floor(whole.tokensBefore * budgetShare);
    const begin = performance.now();
    const done = await plimsoll.compactMessages({ wire: "openai-chat", messages, budget });
    times.push(performance.now() - begin);
    before.push(done.tokensBefore);
    after.push(done.tokensAfter);
    for (const strategy of done.strategies) strategies.add(strategy);
  }
  await plimsoll.close();
  return { name, times, before, after, strategies };
}

function chainTable(runs: readonly ChainRun[]): Table {
  return {
    title: `${unitCount} units to a quarter of their tokens, ms`,
    columns: [
      "chain",
      "first",
      "later p50",
      "slowest",
      "tokens before",
      "after",
      "what had a part",
    ],
    rows: runs.map(({ name, times, before, after, strategies }) => [
      name,
      ...firstAndLater(times),
      figure(Math.max(...times)),
      figure(median(before)),
      figure(median(after)),
      [...strategies].join(", "),
    ]),
  };
}

function firstAndLater([first = Number.NaN, ...later]: readonly number[]): readonly string[] {
  return [figure(first), figure(median(later))];
}

interface SummaryRun {
  readonly tokens: number;
  readonly times: readonly number[];
}

function timeSummary(count: (text: string) => number, rounds: number): SummaryRun {
  const runs = Array.from({ length: rounds }, (_, round) => {
    const messages = simulateConversation({ tokens: summarisedTokens, seed: 100 + round });
    const numbered = messages.map((message, index) => ({ message, number: index + 1 }));
    const begin = performance.now();
    summarise({ messages: numbered, tokens: summaryTokens, count });
    return {
      time: performance.now() - begin,
      tokens: count(messages.map(messageText).join("\n")),
    };
  });
  return {
    tokens: median(runs.map(({ tokens }) => tokens)),
    times: runs.map(({ time }) => time),
  };
}

/** Undefined: it was ended after the timeout. */
type SessionRun = CompactionFigures | undefined;

async function timeSessions(rounds: (size: number) => number): Promise<readonly Table[]> {
  const tables: Table[] = [];
  for (const size of sizes) {
    const runs = new Map(ways.map((way) => [way as string, [] as SessionRun[]]));
    // What is too slow once is not waited for again.
    for (let round = 0; round < rounds(size); round++)
      for (const way of ways)
        if (!runs.get(way)?.includes(undefined)) runs.get(way)?.push(await runSession(way, size));
    tables.push(sessionTable(size, runs));
  }
  return tables;
}

async function runSession(way: string, size: number): Promise<SessionRun> {
  try {
    const child = await startChild(new URL("./compaction-session.ts", import.meta.url), {
      arguments: [way, String(size)],
      timeoutMs,
    });
    await child.stop();
    return child.greeting as CompactionFigures;
  } catch (error) {
    if (error instanceof TookTooLong) return undefined;
    throw error;
  }
}

function sessionTable(size: number, runs: ReadonlyMap<string, readonly SessionRun[]>): Table {
  const timesOf = (way: string): readonly number[] =>
    (runs.get(way) ?? []).map((run) => run?.milliseconds ?? timeoutMs);
  return {
    title: `${size.toLocaleString("en-US")} messages appended and brought under 100,000 tokens, cold, in memory`,
    columns: [
      "",
      "ms, median",
      "× Plimsoll",
      "processor ms",
      "tokens before",
      "tokens left",
      "messages left",
      "fault",
    ],
    rows: [...runs].map(([way, all]) => {
      const last = all.at(-1);
      if (last === undefined) return [way, `> ${timeoutMs}`, "", "", "", "", "", "took too long"];
      const processor = all.map((run) => run?.processorMilliseconds ?? Number.NaN);
      const counts = [last.tokensBefore, last.tokensAfter, last.messagesLeft];
      return [
        way,
        figure(median(timesOf(way))),
        medianRatio(timesOf(way), timesOf(own)).toPrecision(2),
        figure(median(processor)),
        ...counts.map((value) => value.toLocaleString("en-US")),
        last.fault,
      ];
    }),
  };
}
