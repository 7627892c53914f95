/**
 * A conversation that nobody knows, brought under its limit by a fresh process. Beside it, in the same rounds: LangChain's
 * trimMessages, which counts all of the same messages with the same counter; and, as information, the least that anyone must do
 * who counts exactly: count from the end until the limit is reached, and keep that, without an archive, notice or validation.
 */

import type { ColdFigures } from "./cold-session.ts";
import { startChild, TookTooLong, withFolder } from "./processes.ts";
import { atMost, type Benchmark, type Check, figure, type Outcome, type Table } from "./report.ts";
import { median, medianRatio } from "./statistics.ts";

const sizes = [1_000, 10_000, 50_000] as const;
const longest = 50_000;
/** The longest takes long, and is far from its goal in every round if it is in one. */
const roundsOf = (size: number): number => (size < longest ? 3 : 1);
const timeoutMs = 60_000;
const peer = "trimMessages, LangChain";
const first = "first request";
/** Each may find what the one before it left in its folder. */
const ways = [
  { name: "tail scan", way: "tail scan", isStored: false, kind: "other" },
  { name: peer, way: "trimMessages", isStored: false, kind: "other" },
  { name: "prepare, in memory", way: "prepare", isStored: false, kind: first },
  { name: "receive, in memory", way: "receive", isStored: false, kind: first },
  { name: "receive, SQLite", way: "receive", isStored: true, kind: first },
  { name: "prepare, SQLite", way: "prepare", isStored: true, kind: first },
  { name: "resumed from SQLite", way: "resume", isStored: true, kind: "resumed" },
] as const;
const goals = { besidePeer: 1, longestMs: 2_000, heldMs: 50 };

type Rounds = ReadonlyMap<string, ColdFigures[]>;
type AllRounds = ReadonlyMap<number, Rounds>;
type FigureOf = (figures: ColdFigures) => number;

/** Without figures: infinite if it was ended after the timeout, NaN if there was nothing to begin with. */
function withoutFigures(value: number): ColdFigures {
  return {
    milliseconds: value,
    processorMilliseconds: value,
    heldMilliseconds: value,
    later: { processorMilliseconds: value, heldMilliseconds: value },
    session: "",
  };
}

const time: FigureOf = ({ milliseconds }) => milliseconds;
const held: FigureOf = ({ heldMilliseconds }) => heldMilliseconds;
const heldLater: FigureOf = ({ later }) => later.heldMilliseconds;

export const coldBenchmark: Benchmark = {
  name: "cold",
  title: "Cold: the first request of a fresh process brings a conversation under 100,000 tokens",
  run: async ({ isQuick }) => {
    const all = new Map<number, Rounds>();
    for (const size of sizes) {
      const rounds = new Map(ways.map(({ name }) => [name as string, [] as ColdFigures[]]));
      for (let round = 0; round < (isQuick ? 1 : roundsOf(size)); round++)
        await measureRound(size, rounds);
      all.set(size, rounds);
    }
    return outcomeOf(all);
  },
};

async function measureRound(size: number, rounds: Rounds): Promise<void> {
  await withFolder(async (folder) => {
    let session = "";
    for (const way of ways.filter((one) => isMeasured(one, size))) {
      const figures = await measure([way.way, String(size), way.isStored ? folder : "", session]);
      rounds.get(way.name)?.push(figures);
      session = figures.session;
    }
  });
}

/** The longest conversation once for each entrance: what is kept in memory only is not slower. */
function isMeasured({ kind, isStored }: (typeof ways)[number], size: number): boolean {
  return size < longest || isStored || kind === "other";
}

async function measure(wanted: readonly string[]): Promise<ColdFigures> {
  // Nothing was stored that could be resumed.
  if (wanted[0] === "resume" && wanted.at(-1) === "") return withoutFigures(Number.NaN);
  try {
    const child = await startChild(new URL("./cold-session.ts", import.meta.url), {
      arguments: wanted,
      timeoutMs,
    });
    await child.stop();
    return child.greeting as ColdFigures;
  } catch (error) {
    if (error instanceof TookTooLong) return withoutFigures(Infinity);
    throw error;
  }
}

function outcomeOf(all: AllRounds): Outcome {
  return {
    tables: [
      tableOf("Time until the request is ready, ms", time, all),
      tableOf(
        "Processor time of all threads until then, ms",
        ({ processorMilliseconds }) => processorMilliseconds,
        all,
      ),
      tableOf(
        "Processor time of all threads after that, until the process is quiet, ms",
        ({ later }) => later.processorMilliseconds,
        all,
      ),
      tableOf("Longest hold of the event loop until the request is ready, ms", held, all),
      tableOf("Longest hold of the event loop after that, ms", heldLater, all),
    ],
    checks: ways.filter(({ kind }) => kind !== "other").flatMap((way) => checksOf(way, all)),
  };
}

function tableOf(title: string, figureOf: FigureOf, all: AllRounds): Table {
  return {
    title,
    columns: ["", ...sizes.map((size) => `${size.toLocaleString("en-US")} messages`)],
    rows: ways.map(({ name }) => [
      name,
      ...sizes.map((size) => cellOf(medianOf(name, size, figureOf, all))),
    ]),
  };
}

function cellOf(value: number): string {
  return value === Infinity ? `ended after ${timeoutMs / 1000} s` : figure(value);
}

function checksOf(way: (typeof ways)[number], all: AllRounds): readonly Check[] {
  const { name, kind } = way;
  const holds = sizes
    .filter((size) => isMeasured(way, size))
    .flatMap((size) => [held, heldLater].map((of) => medianOf(name, size, of, all)));
  const checks = [
    atMost(
      `${name}: longest hold of the event loop, worst size`,
      Math.max(...holds),
      goals.heldMs,
      "ms",
    ),
  ];
  if (kind !== first) return checks;
  const beside = medianRatio(timesOf(name, 10_000, time, all), timesOf(peer, 10_000, time, all));
  checks.push(
    atMost(`${name}: 10,000 messages beside trimMessages`, beside, goals.besidePeer, "×"),
  );
  if (isMeasured(way, longest))
    checks.push(
      atMost(`${name}: 50,000 messages`, medianOf(name, longest, time, all), goals.longestMs, "ms"),
    );
  return checks;
}

function medianOf(name: string, size: number, figureOf: FigureOf, all: AllRounds): number {
  return median(timesOf(name, size, figureOf, all));
}

function timesOf(
  name: string,
  size: number,
  figureOf: FigureOf,
  all: AllRounds,
): readonly number[] {
  return (all.get(size)?.get(name) ?? []).map(figureOf);
}
