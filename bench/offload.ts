/**
 * Large results leave the window: `npm run bench:offload -- [--all] [--sets NAME,…]`. Recorded conversations are sent until they
 * are compacted, at about half of their length; once with references alone, once with the usual chain. With references every large
 * result that the model had answered to must be behind a handle of its own; with the usual chain, which chooses lines where
 * references are not enough, behind some handle or shown whole. What is behind a handle must come back byte for byte. It ends
 * with 1 when something is not so. The recordings lie in ../shared/data, or in the folder that PLIMSOLL_EVAL_DATA names.
 */

import { parseArgs } from "node:util";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import type { Strategy } from "../packages/plimsoll/src/message/strategy.ts";
import { answeredResults } from "../packages/plimsoll/src/offload/answered-results.ts";
import { createFactsReader } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import { createTokenCounter } from "../packages/plimsoll/src/session/measure/token-counter.ts";
import {
  type Offloaded,
  offloadTrace,
  type PlannedTrace,
  planTrace,
  sumOf,
} from "./offload-trace.ts";
import { findRecordings, readRecordings, shuffled } from "./recordings.ts";
import { figure, toText } from "./report.ts";
import { maxOutput } from "./trace-replay.ts";
import { type Trace, type WireForm, wireForms } from "./trace-wires.ts";

const allSets = [
  "coding_miniswe",
  "support_taubench_airline",
  "mcp_livemcpbench",
  "session_claudecode_bookminder",
  "coding_editor_misc",
  "qa_locomo_NC",
  "qa_qmsum",
];
/** Of each set, unless all are wanted. */
const sampled = 8;
const seed = "plimsoll-offload-1";
const largeWindow = 10_000_000;
const bufferShare = 0.15;

function readSet(folder: string, set: string, isAll: boolean): readonly Trace[] {
  const traces = shuffled(readRecordings(folder, set), seed);
  return isAll ? traces : traces.slice(0, sampled);
}

interface Run {
  readonly set: string;
  readonly form: WireForm;
  readonly traces: number;
  /** With references alone, and with the usual chain. */
  readonly alone: readonly Offloaded[];
  readonly usual: readonly Offloaded[];
}

async function runSet(set: string, form: WireForm, traces: readonly Trace[]): Promise<Run> {
  const counter = createTokenCounter();
  const facts = createFactsReader(counter);
  const roomy = await openEngine({
    store: "memory",
    config: {
      providers: { roomy: { wire: form.family, contextWindow: largeWindow } },
      agent: { context_budget: "window" },
    },
  });
  const planned: PlannedTrace[] = [];
  for (const trace of traces) {
    const plan = await planTrace(roomy, facts, form, trace);
    if (plan !== undefined) planned.push(plan);
  }
  await roomy.close();
  await counter.close();
  const alone = await runAll(form, planned, () => [answeredResults()]);
  const usual = await runAll(form, planned, (chain) => chain);
  return { set, form, traces: traces.length, alone, usual };
}

async function runAll(
  form: WireForm,
  planned: readonly PlannedTrace[],
  strategies: (usual: readonly Strategy[]) => readonly Strategy[],
): Promise<readonly Offloaded[]> {
  const providers = planned.map(({ limit }, index) => {
    const buffer = Math.ceil(limit * bufferShare);
    const contextWindow = limit + buffer + maxOutput;
    const settings = { wire: form.family, contextWindow, contextWindowBufferTokens: buffer };
    return [`trace-${index}`, settings] as const;
  });
  const engine = await openEngine({
    store: "memory",
    // A note would move the compaction to an earlier request.
    config: {
      providers: Object.fromEntries(providers),
      agent: { context_budget: "window", warning_note: false },
    },
    parts: { strategies },
  });
  const results: Offloaded[] = [];
  for (const [index, plan] of planned.entries())
    results.push(await offloadTrace({ engine, form, provider: `trace-${index}`, plan }));
  await engine.close();
  return results;
}

const columns = [
  "wire",
  "conversations",
  "with large results",
  "large results",
  "bytes",
  "tokens before",
  "with references",
  "saved",
  "own handle",
  "usual chain: own handle",
  "step's handle",
  "shown whole",
  "references enough",
];

function rowOf(wire: string, runs: readonly Run[]): readonly string[] {
  const alone = sumOf(runs.flatMap((run) => run.alone));
  const usual = sumOf(runs.flatMap((run) => run.usual));
  const saved = alone.before === 0 ? Number.NaN : (1 - alone.after / alone.before) * 100;
  const shown = (count: number): string => count.toLocaleString("en-US");
  return [
    wire,
    shown(runs.reduce((sum, { traces }) => sum + traces, 0)),
    shown(alone.compactions),
    shown(alone.results),
    shown(alone.bytes),
    shown(alone.before),
    shown(alone.after),
    Number.isNaN(saved) ? "–" : `${figure(saved)} %`,
    alone.results === 0 ? "–" : `${figure((alone.own / alone.results) * 100)} %`,
    shown(usual.own),
    shown(usual.shared),
    shown(usual.whole),
    `${usual.enough} of ${usual.compactions}`,
  ];
}

function wrongIn({ set, form, alone, usual }: Run): readonly string[] {
  const missing = sumOf(alone).results - sumOf(alone).own;
  return [
    ...[...alone, ...usual].flatMap(({ wrong }) => wrong),
    ...(missing === 0 ? [] : [`${missing} results have no handle of their own`]),
  ].map((line) => `${set}, ${form.wire}: ${line}`);
}

const examplesMax = 20;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { all: { type: "boolean", default: false }, sets: { type: "string" } },
  });
  const folder = findRecordings("coding_miniswe");
  if (folder === undefined) {
    console.log(
      "The recorded conversations are not here: put them into ../shared/data, or name their folder in PLIMSOLL_EVAL_DATA.",
    );
    return;
  }
  const sets = values.sets?.split(",") ?? allSets;
  const unknown = sets.find((set) => !allSets.includes(set));
  if (unknown !== undefined)
    throw new Error(`There is no set "${unknown}": choose of ${allSets.join(", ")}.`);
  const begin = performance.now();
  console.log(
    values.all
      ? "Every conversation of each set."
      : `${sampled} conversations of each set, the same in every run; --all takes everything.`,
  );
  const runs: Run[] = [];
  for (const set of sets) {
    const traces = readSet(folder, set, values.all);
    const ofSet: Run[] = [];
    for (const form of wireForms) ofSet.push(await runSet(set, form, traces));
    const rows = ofSet.map((run) => rowOf(run.form.wire, [run]));
    console.log(`\n${toText({ title: set, columns, rows })}`);
    runs.push(...ofSet);
  }
  const rows = wireForms.map(({ wire }) =>
    rowOf(
      wire,
      runs.filter(({ form }) => form.wire === wire),
    ),
  );
  console.log(`\n${toText({ title: "All sets", columns, rows })}`);
  const wrong = runs.flatMap(wrongIn);
  for (const line of wrong.slice(0, examplesMax)) console.log(line);
  console.log(
    wrong.length === 0
      ? "\nEvery large result is where it must be, and comes back byte for byte."
      : `\nNot as it must be: ${wrong.length} times.`,
  );
  console.log(`(${Math.round((performance.now() - begin) / 1000)} s)`);
  if (wrong.length > 0) process.exitCode = 1;
}

await main();
