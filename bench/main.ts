/**
 * Runs the benchmarks: `node bench/main.ts [name…] [--quick] [--write] [--profile]`.
 * Results go to results/latest.json; with --write also to PERFORMANCE.md; with --profile, profiles of the
 * proxy go to results/. Times hold for one machine and one hour; the ratios are what counts.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { appendBenchmark } from "./append.ts";
import { coldBenchmark } from "./cold.ts";
import { compactionBenchmark } from "./compaction.ts";
import { compressorsBenchmark } from "./compressors.ts";
import { dashboardBenchmark } from "./dashboard.ts";
import { diskBenchmark } from "./disk.ts";
import { incrementalBenchmark } from "./incremental.ts";
import { memoryBenchmark } from "./memory.ts";
import { outsideBenchmark } from "./outside.ts";
import { peersBenchmark } from "./peers.ts";
import { proxyBenchmark } from "./proxy.ts";
import { type Benchmark, type Outcome, tablesOf, toMarkdown, toText } from "./report.ts";
import { stallsBenchmark } from "./stalls.ts";
import { tokensBenchmark } from "./tokens.ts";

const benchmarks: readonly Benchmark[] = [
  proxyBenchmark,
  incrementalBenchmark,
  coldBenchmark,
  peersBenchmark,
  compactionBenchmark,
  compressorsBenchmark,
  outsideBenchmark,
  appendBenchmark,
  diskBenchmark,
  memoryBenchmark,
  stallsBenchmark,
  tokensBenchmark,
  dashboardBenchmark,
];
const resultsFolder = fileURLToPath(new URL("./results", import.meta.url));
const pageFile = new URL("./PERFORMANCE.md", import.meta.url);

interface Finished {
  readonly benchmark: Benchmark;
  readonly outcome: Outcome;
  readonly seconds: number;
}

interface Machine {
  readonly date: string;
  readonly node: string;
  readonly processor: string;
  readonly memoryGigabytes: number;
  readonly kernel: string;
}

function describeMachine(): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    processor: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    memoryGigabytes: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
  };
}

function choose(names: readonly string[]): readonly Benchmark[] {
  const unknown = names.find((name) => !benchmarks.some((benchmark) => benchmark.name === name));
  if (unknown !== undefined) {
    const known = benchmarks.map(({ name }) => name).join(", ");
    throw new Error(`There is no benchmark "${unknown}": choose of ${known}.`);
  }
  return names.length === 0 ? benchmarks : benchmarks.filter(({ name }) => names.includes(name));
}

function pageOf(machine: Machine, finished: readonly Finished[]): string {
  const sections = finished.map(({ benchmark, outcome }) =>
    [`## ${benchmark.title}`, ...tablesOf(outcome).map(toMarkdown)].join("\n\n"),
  );
  const { date, node, processor, memoryGigabytes, kernel } = machine;
  return `${[
    "# Performance",
    `Written by \`npm run bench -- --write\` on ${date}: Node ${node}, ${processor}, ${memoryGigabytes} GB, Linux ${kernel}.`,
    "Times hold for this machine only. The ratios count: both sides of each were measured in turn, in one run, and are medians over its rounds.",
    ...sections,
  ].join("\n\n")}\n`;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
    },
  });
  // Children are ended when this process exits, and a signal alone would not run that.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  if (values.quick) console.log("Quick: shows that everything works; too short to compare.");
  mkdirSync(resultsFolder, { recursive: true });
  const finished: Finished[] = [];
  for (const benchmark of choose(positionals)) {
    console.log(`\n${benchmark.title}`);
    const begin = performance.now();
    const outcome = await benchmark.run({
      isQuick: values.quick,
      ...(values.profile ? { profileFolder: resultsFolder } : {}),
    });
    const seconds = Math.round((performance.now() - begin) / 1000);
    for (const table of tablesOf(outcome)) console.log(`\n  ${toText(table)}`);
    console.log(`\n  (${seconds} s)`);
    finished.push({ benchmark, outcome, seconds });
  }
  const machine = describeMachine();
  const results = finished.map(({ benchmark, outcome, seconds }) => ({
    name: benchmark.name,
    seconds,
    ...outcome,
  }));
  const json = JSON.stringify({ machine, isQuick: values.quick, results }, null, 2);
  writeFileSync(`${resultsFolder}/latest.json`, `${json}\n`);
  if (values.write) writeFileSync(pageFile, pageOf(machine, finished));
}

await main();
