/**
 * Runs the benchmarks: `node bench/main.ts [name…] [--quick] [--write] [--profile]`.
 * Results and pictures go to results/. With --write, the measured sections of PERFORMANCE.md and the pictures beside it are
 * written anew, one after the other. With --profile, profiles of the proxy go to results/.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { appendBenchmark } from "./append.ts";
import { coldBenchmark } from "./cold.ts";
import { compactionBenchmark } from "./compaction.ts";
import { compactionsBenchmark } from "./compactions.ts";
import { compressorsBenchmark } from "./compressors.ts";
import { dashboardBenchmark } from "./dashboard.ts";
import { diskBenchmark } from "./disk.ts";
import { editedBenchmark } from "./edited.ts";
import { incrementalBenchmark } from "./incremental.ts";
import { loadBenchmark } from "./load.ts";
import { describeCommit, describeMachine } from "./machine.ts";
import { memoryBenchmark } from "./memory.ts";
import { outsideBenchmark } from "./outside.ts";
import { peersBenchmark } from "./peers.ts";
import { type Finished, pageWith } from "./performance-page.ts";
import { proxyBenchmark } from "./proxy.ts";
import { type Benchmark, type Outcome, tablesOf, toText } from "./report.ts";
import { stallsBenchmark } from "./stalls.ts";
import { tokensBenchmark } from "./tokens.ts";

const benchmarks: readonly Benchmark[] = [
  proxyBenchmark,
  editedBenchmark,
  incrementalBenchmark,
  coldBenchmark,
  peersBenchmark,
  compactionBenchmark,
  compactionsBenchmark,
  loadBenchmark,
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

function choose(names: readonly string[]): readonly Benchmark[] {
  const unknown = names.find((name) => !benchmarks.some((benchmark) => benchmark.name === name));
  if (unknown !== undefined) {
    const known = benchmarks.map(({ name }) => name).join(", ");
    throw new Error(`There is no benchmark "${unknown}": choose from ${known}.`);
  }
  return names.length === 0 ? benchmarks : benchmarks.filter(({ name }) => names.includes(name));
}

function writePictures({ pictures = [] }: Outcome, folder: string): void {
  for (const { fileName, svg } of pictures) writeFileSync(`${folder}${fileName}`, svg);
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
  if (values.quick && values.write)
    throw new Error("--quick is too short to compare, so it cannot be combined with --write.");
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
    const one = { benchmark, outcome, seconds };
    finished.push(one);
    // After each benchmark, so that an interrupted run loses only the benchmark that was running.
    writePictures(outcome, `${resultsFolder}/`);
    if (values.write) {
      writePictures(outcome, fileURLToPath(new URL(".", pageFile)));
      writeFileSync(pageFile, pageWith(readFileSync(pageFile, "utf8"), benchmarks, one));
    }
  }
  const results = finished.map(({ benchmark, outcome: { tables, checks }, seconds }) => ({
    name: benchmark.name,
    seconds,
    tables,
    checks,
  }));
  const machine = `${describeMachine()}, commit ${describeCommit()}`;
  const json = JSON.stringify({ machine, isQuick: values.quick, results }, null, 2);
  writeFileSync(`${resultsFolder}/latest.json`, `${json}\n`);
}

await main();
