/**
 * Other libraries on the same messages, with the same counter where they take one, in the same run: what a turn takes, and
 * how that grows with the conversation. They do not do the same work, so what each leaves out is beside its times; what comes
 * out of every call is counted and judged.
 */

import { existsSync, readFileSync } from "node:fs";
import { type Growth, growthPlotOf } from "./growth-plot.ts";
import type { PeerFigures } from "./peers-session.ts";
import { startChild, TookTooLong } from "./processes.ts";
import { atMost, type Benchmark, figure, type Outcome, type Table } from "./report.ts";
import { growthExponent, median } from "./statistics.ts";

const sizes = [100, 1_000, 10_000, 50_000] as const;
const own = "Plimsoll";
const usualExchanges = 8;
const judgedSize = 1_000;
const judgedTurns = 30;
const timeoutMs = 90_000;

interface Library {
  readonly way: string;
  readonly from: string;
  readonly leavesOut: string;
}

/** Contract: as many as growth-plot.ts has colours. */
const libraries: readonly Library[] = [
  {
    way: own,
    from: "plimsoll",
    leavesOut:
      "a model: its texts are quotations. Every message is kept, the model is told its handle, counts are exact, and each result is validated",
  },
  {
    way: "trimMessages, startOn human",
    from: "@langchain/core",
    leavesOut:
      "archive, notice to the model, memory between turns (all is summed up again in each)",
  },
  {
    way: "summarizationMiddleware",
    from: "langchain",
    leavesOut:
      "archive, handles; the time of a model: a stub answers at once. It summarises the newest 4,000 tokens of what it cuts, and forgets the rest: later turns look at what is left",
  },
  {
    way: "pruneMessages",
    from: "ai",
    leavesOut:
      "tokens and a limit, archive, notice; only calls and results go, and all of them but the newest",
  },
  {
    way: "Mastra TokenLimiter",
    from: "@mastra/core",
    leavesOut: "exact counts (it estimates), notice, handles, memory between turns",
  },
  {
    way: "Strands sliding window",
    from: "@strands-agents/sdk",
    leavesOut:
      "tokens and a limit, archive, notice: it keeps the newest 40 messages, whatever their size, and forgets the rest",
  },
  {
    way: "pi compaction",
    from: "@earendil-works/pi-agent-core",
    leavesOut:
      "exact counts (it takes four characters for a token), handles; the time of a model: a stub answers at once. Later turns look at what is left, which is 20,000 tokens",
  },
];
/** As somebody may use it who does not read on. It is judged, and not timed: its times are those with startOn. */
const careless = "trimMessages";

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
      for (const { way } of libraries)
        runs.push(await runPeer({ way, size, exchanges: usualExchanges }, turns));
    const others = [
      await runPeer({ way: careless, size: judgedSize, exchanges: usualExchanges }, judgedTurns),
    ];
    for (const way of [...libraries.map((library) => library.way), careless])
      others.push(await runPeer({ way, size: judgedSize, exchanges: Infinity }, judgedTurns));
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
  const growths = libraries.map(({ way }) => growthOf(way, runs));
  const title = "Time of a later turn, by the length of the conversation";
  const note = "Not the same work: see what each leaves out.";
  return {
    pictures: [{ fileName: "peers.svg", title, svg: growthPlotOf(title, growths, note) }],
    tables: [
      growthTable(growths),
      timesOf(runs),
      leftOf("What came out of each call; the user speaks every 8 exchanges", runs),
      leftOf("The same of other ways and, where it says ∞, of a loop after one question", others),
      {
        title: "What each leaves out",
        columns: ["way", "package", "leaves out"],
        rows: libraries.map(({ way, from, leavesOut }) => [way, describePackage(from), leavesOut]),
      },
    ],
    checks: [
      atMost("Plimsoll: calls over the limit", count("overLimit"), 0, "calls"),
      atMost("Plimsoll: calls with a broken rule", count("invalid"), 0, "calls"),
      atMost(
        "Plimsoll: p50 of a later turn at 50,000 messages beside 1,000",
        laterOf(own, 50_000, runs) / laterOf(own, 1_000, runs),
        1.3,
        "×",
      ),
    ],
  };
}

/** The p50 of later turns, or NaN. */
function laterOf(way: string, size: number, runs: readonly Run[]): number {
  const run = runs.find((one) => one.way === way && one.size === size);
  return median(run?.figures?.laterMilliseconds ?? []);
}

function growthOf(way: string, runs: readonly Run[]): Growth {
  const points = sizes.map((size) => [size, laterOf(way, size, runs)] as const);
  return { name: way, points: points.filter(([, time]) => Number.isFinite(time)) };
}

function growthTable(growths: readonly Growth[]): Table {
  return {
    title:
      "p50 of a later turn, ms, most of them without a new compaction, and the power of the length with which it grows",
    columns: ["", ...sizes.map((size) => size.toLocaleString("en-US")), "exponent", "last step"],
    rows: growths.map(({ name, points }) => [
      name,
      ...sizes.map((size) => milliseconds(points.find(([length]) => length === size)?.[1])),
      figure(growthExponent(points)),
      figure(growthExponent(points.slice(-2))),
    ]),
  };
}

/** A turn that only looks at a short list takes microseconds. */
function milliseconds(value: number | undefined): string {
  if (value === undefined) return `> ${timeoutMs / 1000} s`;
  return value < 0.1 ? value.toPrecision(2) : figure(value);
}

function timesOf(runs: readonly Run[]): Table {
  return {
    title: "Time of a turn, ms: the first, and p50 of those after it, two messages longer each",
    columns: ["", "messages", "first", "later p50", "first × Plimsoll", "later × Plimsoll"],
    rows: runs.map(({ way, size, figures }) => {
      const ours = runs.find((run) => run.way === own && run.size === size)?.figures;
      const first = figures?.firstMilliseconds;
      const later = figures && median(figures.laterMilliseconds);
      const beside = [
        (first ?? Number.NaN) / (ours?.firstMilliseconds ?? Number.NaN),
        (later ?? Number.NaN) / median(ours?.laterMilliseconds ?? []),
      ];
      const times = [first, later].map(milliseconds);
      return [way, size.toLocaleString("en-US"), ...times, ...beside.map(ratio)];
    }),
  };
}

function ratio(value: number): string {
  return Number.isFinite(value) && value < 0.1 ? value.toPrecision(2) : figure(value);
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

/** With version and licence. A package of this workspace is beside this file or in the root. */
function describePackage(name: string): string {
  const file = ["./node_modules/", "../node_modules/"]
    .map((folder) => new URL(`${folder}${name}/package.json`, import.meta.url))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) return name;
  const { version, license } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  return `${name} ${version}, ${license}`;
}
