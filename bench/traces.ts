/**
 * Replays recorded conversations through the product: `npm run bench:traces -- [--all] [--sets NAME,…]`.
 * Every request that goes out must be valid and fit its window; it ends with 1 when one is not. The recordings are no
 * part of the project: they lie in ../shared/data, or in the folder that PLIMSOLL_EVAL_DATA names.
 */

import { parseArgs } from "node:util";
import type { Config } from "plimsoll";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import {
  createFactsReader,
  type FactsReader,
} from "../packages/plimsoll/src/session/measure/message-facts.ts";
import { createTokenCounter } from "../packages/plimsoll/src/session/measure/token-counter.ts";
import { findRecordings, readRecordings, shuffled } from "./recordings.ts";
import { figure, type Table, toText } from "./report.ts";
import { median } from "./statistics.ts";
import { maxOutput, nothingYet, type Replayed, replay } from "./trace-replay.ts";
import { scriptFor, type Trace, type WireForm, wireForms } from "./trace-wires.ts";

const allSets = [
  "coding_miniswe",
  "support_taubench_airline",
  "mcp_livemcpbench",
  "session_claudecode_bookminder",
  "coding_editor_misc",
  "qa_locomo_NC",
  "qa_qmsum",
];
/** A sample has so many conversations at least, and goes on until it has so many requests. */
const sample = { conversations: 2, requests: 200 } as const;
const seed = "plimsoll-traces-1";
const largeWindow = 10_000_000;
/** Of the conversation; what stands before it comes on top. */
const share = 1 / 3;
/** Of the limit, as a reserve against counts that are too low. */
const bufferShare = 0.15;

type WindowName = "large" | "a third";

interface Run {
  readonly set: string;
  readonly form: WireForm;
  readonly window: WindowName;
  readonly results: readonly Replayed[];
  readonly degraded: readonly string[];
  readonly crashes: readonly string[];
}

function readSet(folder: string, set: string, isAll: boolean): readonly Trace[] {
  const traces = readRecordings(folder, set);
  return isAll ? traces : takeSample(traces);
}

function takeSample(traces: readonly Trace[]): readonly Trace[] {
  const taken: Trace[] = [];
  let requests = 0;
  for (const trace of shuffled(traces, seed)) {
    if (taken.length >= sample.conversations && requests >= sample.requests) break;
    taken.push(trace);
    requests += scriptFor(wireForms[0], trace, maxOutput).turns.length;
  }
  return taken;
}

interface Running {
  readonly set: string;
  readonly form: WireForm;
  readonly window: WindowName;
  readonly traces: readonly Trace[];
  readonly facts: FactsReader;
  /** Of each conversation. */
  readonly limits: readonly number[];
}

async function runSet({ set, form, window, traces, facts, limits }: Running): Promise<Run> {
  const engine = await openEngine({
    store: "memory",
    config: { providers: providersOf(form, limits), agent: { context_budget: "window" } },
  });
  const degraded: string[] = [];
  engine.on("degraded", ({ rung, reason }) => degraded.push(`${rung}: ${reason}`));
  const results: Replayed[] = [];
  const crashes: string[] = [];
  for (const [index, trace] of traces.entries()) {
    try {
      results.push(await replay({ engine, facts, form, provider: `trace-${index}`, trace }));
    } catch (error) {
      results.push(nothingYet());
      crashes.push(`${trace.meta.id}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  await engine.close();
  return { set, form, window, results, degraded, crashes };
}

function providersOf({ family }: WireForm, limits: readonly number[]): Config["providers"] {
  return Object.fromEntries(
    limits.map((limit, index) => {
      const buffer = Math.ceil(limit * bufferShare);
      const contextWindow = limit + buffer + maxOutput;
      const settings = { wire: family, contextWindow, contextWindowBufferTokens: buffer };
      return [`trace-${index}`, settings];
    }),
  );
}

async function runAll(folder: string, sets: readonly string[], isAll: boolean): Promise<Run[]> {
  const counter = createTokenCounter();
  const facts = createFactsReader(counter);
  const runs: Run[] = [];
  for (const set of sets) {
    const traces = readSet(folder, set, isAll);
    const ofSet: Run[] = [];
    for (const form of wireForms) {
      const running = { set, form, traces, facts };
      const limits = traces.map(() => largeWindow);
      const large = await runSet({ ...running, window: "large", limits });
      const thirds = large.results.map(({ headTokens, conversationTokens }) =>
        Math.ceil(headTokens + conversationTokens * share),
      );
      const third = await runSet({ ...running, window: "a third", limits: thirds });
      ofSet.push(large, third);
    }
    console.log(`\n${toText(tableOf(`${set}: ${traces.length} conversations`, ofSet))}`);
    runs.push(...ofSet);
  }
  await counter.close();
  return runs;
}

function tableOf(title: string, runs: readonly Run[]): Table {
  return {
    title,
    columns: [
      "wire",
      "window",
      "requests",
      "edited",
      "compactions",
      "left of the room",
      "new violations",
      "over the window",
      "refused",
      "final",
      "degraded",
      "mismeasured",
    ],
    rows: runs.map((run) => {
      const { form, window, results, degraded } = run;
      const sum = (pick: (result: Replayed) => number): string =>
        results.reduce((all, result) => all + pick(result), 0).toLocaleString("en-US");
      const left = results.flatMap(({ compactions }) => compactions);
      return [
        form.wire,
        window,
        sum(({ requests }) => requests),
        sum(({ edited }) => edited),
        left.length.toLocaleString("en-US"),
        left.length === 0
          ? ""
          : `${figure(median(left))} (${figure(Math.min(...left))}–${figure(Math.max(...left))})`,
        sum(({ violations }) => violations.length),
        sum(({ overWindow }) => overWindow.length),
        sum(({ refused }) => refused.length),
        sum(({ final }) => final),
        degraded.length.toLocaleString("en-US"),
        sum(({ mismeasured }) => mismeasured),
      ];
    }),
  };
}

const examplesMax = 12;

/** How often each; the most frequent first. */
function list(title: string, lines: readonly string[]): void {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  console.log(`\n${title}: ${lines.length === 0 ? "none" : ""}`);
  for (const [line, count] of sorted.slice(0, examplesMax)) console.log(`  ${count} × ${line}`);
  if (sorted.length > examplesMax) console.log(`  … and ${sorted.length - examplesMax} more`);
}

function summarize(runs: readonly Run[]): boolean {
  const from = (pick: (result: Replayed) => readonly string[]): readonly string[] =>
    runs.flatMap(({ set, form, window, results }) =>
      results.flatMap(pick).map((line) => `${set}, ${form.wire}, ${window}: ${line}`),
    );
  list(
    "The clients' own last requests, by rule (information)",
    runs.flatMap(({ form, window, results }) =>
      window === "large"
        ? results.flatMap(({ originalRules }) =>
            originalRules.map((rule) => `${form.wire} ${rule}`),
          )
        : [],
    ),
  );
  list(
    "Degraded",
    runs.flatMap(({ form, degraded }) => degraded.map((reason) => `${form.wire}: ${reason}`)),
  );
  list(
    "Refused",
    from(({ refused }) => refused),
  );
  const crashes = runs.flatMap((run) => run.crashes);
  list("Crashed", crashes);
  const violations = from(({ violations: found }) =>
    found.map(
      ({ trace, request, outcome, rule, message, place }) =>
        `${trace}, request ${request} (${outcome}): ${rule} ${message} ${place ?? ""}`,
    ),
  );
  list("New violations", violations);
  const over = from(({ overWindow }) => overWindow);
  list("Over the window", over);
  const isFine = violations.length === 0 && over.length === 0 && crashes.length === 0;
  console.log(
    isFine
      ? "\nEvery request that went out was valid and fit its window."
      : `\nNot as it must be: ${violations.length} new violations, ${over.length} requests over the window, ${crashes.length} crashes.`,
  );
  return isFine;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { all: { type: "boolean", default: false }, sets: { type: "string" } },
  });
  const folder = findRecordings("coding_miniswe");
  if (folder === undefined) {
    console.log(
      "There are no recorded conversations here: put them into ../shared/data, or name their folder in PLIMSOLL_EVAL_DATA.",
    );
    return;
  }
  const begin = performance.now();
  const sets = values.sets?.split(",") ?? allSets;
  const unknown = sets.find((set) => !allSets.includes(set));
  if (unknown !== undefined)
    throw new Error(`There is no set "${unknown}": choose of ${allSets.join(", ")}.`);
  console.log(
    values.all
      ? "Every conversation of each set."
      : `A sample of each set, the same in every run: at least ${sample.conversations} conversations and ${sample.requests} requests; --all takes everything.`,
  );
  const isFine = summarize(await runAll(folder, sets, values.all));
  console.log(`(${Math.round((performance.now() - begin) / 1000)} s)`);
  if (!isFine) process.exitCode = 1;
}

await main();
