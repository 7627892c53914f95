/**
 * Goal 2: a conversation that nobody knows, brought under its limit by a fresh process, beside the least that anyone
 * must do who counts exactly: count from the end until the limit is reached, and keep that.
 */

import type { ColdFigures } from "./cold-session.ts";
import { startChild, withFolder } from "./processes.ts";
import { atMost, type Benchmark, figure, type Outcome } from "./report.ts";
import { median, medianRatio } from "./statistics.ts";

const sizes = [1_000, 10_000, 50_000] as const;
/** The longest takes half a minute each time, and is too far from the floor for more to matter. */
const roundsOf = (size: number): number => (size < 50_000 ? 3 : 1);
const floor = "tail scan";
/** Each may find what the one before it left in its folder. */
const ways = [
  { name: floor, way: floor, isStored: false },
  { name: "prepare, in memory", way: "prepare", isStored: false },
  { name: "receive, in memory", way: "receive", isStored: false },
  { name: "receive, SQLite", way: "receive", isStored: true },
  { name: "prepare, SQLite", way: "prepare", isStored: true },
  { name: "resumed from SQLite", way: "resume", isStored: true },
] as const;

type Rounds = ReadonlyMap<string, ColdFigures[]>;

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
    for (const { name, way, isStored } of ways) {
      const child = await startChild(new URL("./cold-session.ts", import.meta.url), {
        arguments: [way, String(size), isStored ? folder : "", session],
      });
      const figures = child.greeting as ColdFigures;
      await child.stop();
      rounds.get(name)?.push(figures);
      session = figures.session;
    }
  });
}

function outcomeOf(all: ReadonlyMap<number, Rounds>): Outcome {
  const table = (title: string, key: "milliseconds" | "processorMilliseconds") => ({
    title,
    columns: ["", ...sizes.map((size) => `${size.toLocaleString("en-US")} messages`)],
    rows: ways.map(({ name }) => [
      name,
      ...[...all.values()].map((rounds) =>
        figure(median((rounds.get(name) ?? []).map((figures) => figures[key]))),
      ),
    ]),
  });
  const compared = ways.filter(({ way }) => way === "prepare" || way === "receive");
  return {
    tables: [
      table("Time, ms", "milliseconds"),
      table("Processor time of all threads, ms", "processorMilliseconds"),
    ],
    checks: compared.map(({ name }) =>
      atMost(
        `${name}: processor time beside the tail scan, worst size`,
        Math.max(...[...all.values()].map((rounds) => besideFloor(rounds, name))),
        1.5,
        "×",
      ),
    ),
  };
}

function besideFloor(rounds: Rounds, name: string): number {
  const times = (of: string): readonly number[] =>
    (rounds.get(of) ?? []).map((figures) => figures.processorMilliseconds);
  return medianRatio(times(name), times(floor));
}
