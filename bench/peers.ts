/**
 * Goal 7, and the second half of goal 2: other libraries on the same messages with the same counter. They do not do the
 * same work, so what each leaves out stands beside its times; what comes out of every call is counted and judged.
 */

import type { PeerFigures } from "./peers-session.ts";
import { startChild, TookTooLong } from "./processes.ts";
import { atLeast, atMost, type Benchmark, figure, type Outcome, type Table } from "./report.ts";
import { median } from "./statistics.ts";

const sizes = [1_000, 10_000, 50_000] as const;
const own = "Plimsoll";
const documented = "trimMessages, startOn human";
const timed = [own, documented, "pruneMessages"] as const;
const judged = [own, documented, "trimMessages", "pruneMessages"] as const;
const usualExchanges = 8;
const judgedTurns = 30;
const timeoutMs = 180_000;

const leftOut: readonly (readonly [string, string])[] = [
  [own, "a summary of what was cut; every message is kept, and the model is told its handle"],
  [
    "@langchain/core trimMessages",
    "archive, notice to the model, memory between turns (all is summed up again in each); pairs are whole only with startOn",
  ],
  [
    "ai pruneMessages",
    "tokens and a limit, archive, notice; only calls and results go, and all of them but the newest",
  ],
];

interface Run {
  readonly way: string;
  readonly size: number;
  readonly exchanges: number;
  /** Undefined: it was ended after the timeout. */
  readonly figures: PeerFigures | undefined;
}

export const peersBenchmark: Benchmark = {
  name: "peers",
  title: "Peers: a growing conversation kept under 100,000 tokens",
  run: async ({ isQuick }) => {
    const turns = isQuick ? 5 : 30;
    const runs: Run[] = [];
    for (const size of sizes)
      for (const way of timed)
        runs.push(await runPeer({ way, size, exchanges: usualExchanges }, turns));
    const [smallest] = sizes;
    const others: Run[] = [];
    for (const exchanges of [usualExchanges, Number.POSITIVE_INFINITY])
      for (const way of exchanges === usualExchanges ? ["trimMessages"] : judged)
        others.push(await runPeer({ way, size: smallest, exchanges }, judgedTurns));
    return outcomeOf(runs, others);
  },
};

async function runPeer(run: Omit<Run, "figures">, turns: number): Promise<Run> {
  const { way, size, exchanges } = run;
  try {
    const child = await startChild(new URL("./peers-session.ts", import.meta.url), {
      arguments: [way, String(size), String(turns), String(exchanges)],
      timeoutMs,
    });
    await child.stop();
    return { ...run, figures: child.greeting as PeerFigures };
  } catch (error) {
    if (error instanceof TookTooLong) return { ...run, figures: undefined };
    throw error;
  }
}

function outcomeOf(runs: readonly Run[], others: readonly Run[]): Outcome {
  const all = [...runs, ...others].filter(({ way }) => way === own);
  const count = (key: "overLimit" | "invalid"): number =>
    all.reduce((sum, { figures }) => sum + (figures?.[key] ?? Number.NaN), 0);
  const first = (way: string): number =>
    runs.find((run) => run.way === way && run.size === 10_000)?.figures?.firstMilliseconds ??
    timeoutMs;
  return {
    tables: [
      timesOf(runs),
      leftOf("What came out of each call; the user speaks every 8 exchanges", runs),
      leftOf("The same of other ways and, where it says ∞, of a loop after one question", others),
      { title: "What each leaves out", columns: ["library", "leaves out"], rows: leftOut },
    ],
    checks: [
      atMost("Plimsoll: calls over the limit", count("overLimit"), 0, "calls"),
      atMost("Plimsoll: calls with a broken rule", count("invalid"), 0, "calls"),
      atLeast(
        "first call at 10,000 messages: trimMessages beside Plimsoll",
        first(documented) / first(own),
        100,
        "×",
      ),
    ],
  };
}

function timesOf(runs: readonly Run[]): Table {
  const late = `> ${timeoutMs / 1000} s`;
  return {
    title: "Time of a call, ms: the first, and p50 of those after it, two messages longer each",
    columns: ["", "messages", "first", "later p50", "× Plimsoll"],
    rows: runs.map(({ way, size, figures }) => {
      const name = [way, size.toLocaleString("en-US")];
      if (figures === undefined) return [...name, late, late, "–"];
      const ours = runs.find((run) => run.way === own && run.size === size)?.figures;
      const later = median(figures.laterMilliseconds);
      const beside = later / median(ours?.laterMilliseconds ?? []);
      return [...name, figure(figures.firstMilliseconds), figure(later), figure(beside)];
    }),
  };
}

function leftOf(title: string, runs: readonly Run[]): Table {
  return {
    title,
    columns: [
      "",
      "messages",
      "exchanges",
      "calls",
      "over the limit",
      "invalid",
      "messages left",
      "tokens left",
    ],
    rows: runs.flatMap(({ way, size, exchanges, figures }) => {
      if (figures === undefined) return [];
      const { calls, overLimit, invalid, rules, messagesLeft, tokensLeft } = figures;
      const counts = [size, exchanges, calls, overLimit].map((count) =>
        count.toLocaleString("en-US"),
      );
      const broken = invalid === 0 ? "0" : `${invalid} (${rules.join(", ")})`;
      const left = [messagesLeft, tokensLeft].map((value) => value.toLocaleString("en-US"));
      return [[way, ...counts, broken, ...left]];
    }),
  };
}
