/**
 * How good compaction, recall and tool search are: `npm run bench:quality -- [--write] [--limit N] [--oracle]`. Prints the
 * page; with --write it becomes QUALITY.md. `--kinds tools` measures tool search only. It ends with 1 when an answer
 * breaks a hard rule. Data and scorer are no part of the project: they lie in ../shared, or in the folder that
 * PLIMSOLL_EVAL_DATA names.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeCommit, describeMachine, today } from "./machine.ts";
import { withFolder } from "./processes.ts";
import { answerFile, productProgram } from "./quality-answers.ts";
import { writeWrongQueries } from "./quality-control.ts";
import { readExamples } from "./quality-examples.ts";
import type { Measured } from "./quality-goals.ts";
import { type Page, pageOf, plotName } from "./quality-page.ts";
import { plotOf } from "./quality-plot.ts";
import {
  type AllCases,
  baselineAnswers,
  cached,
  type Evaluation,
  filterFile,
  findEvaluation,
  joinFiles,
  makeCases,
  type Scores,
  scoreFile,
  scoreOnce,
} from "./quality-scorer.ts";
import { measureTools, toolSection, violationsOf } from "./quality-tools.ts";
import { withReplayRegion } from "./replay-page.ts";

const baselineNames = ["clip", "tail", "middleout", "ledger"] as const;
const otherNames = ["langchain"] as const;
const questionSets = ["qa_locomo_NC", "qa_qmsum"] as const;
const allKinds = "future,evidence,recall";
const traceKinds = "future,recall";
const kindsToMeasure = ["all", "tools"] as const;
const pageFile = new URL("./QUALITY.md", import.meta.url);

const begin = performance.now();

function say(what: string): void {
  console.error(`${Math.round((performance.now() - begin) / 1000)} s: ${what} …`);
}

/** Files of one run. */
interface Workplace {
  readonly evaluation: Evaluation;
  readonly cases: AllCases;
  readonly folder: string;
}

interface OwnAnswers extends Pick<Page, "compaction" | "recall"> {
  readonly compactionFile: string;
  readonly all: string;
}

/** The answers stay, to be looked at. */
async function askProduct({ evaluation, cases }: Workplace): Promise<OwnAnswers> {
  const [compactionFile, recallFile, all] = ["compaction", "recall", "all"].map((name) =>
    join(evaluation.cache, `own-${name}.jsonl`),
  ) as [string, string, string];
  say("plimsoll compact --jsonl");
  const compaction = await answerFile(
    [productProgram, "compact", "--jsonl"],
    cases.compaction.cases,
    compactionFile,
  );
  say("plimsoll recall --jsonl");
  const recall = await answerFile(
    [productProgram, "recall", "--jsonl"],
    cases.recall.cases,
    recallFile,
  );
  joinFiles(all, [compactionFile, recallFile]);
  return { compaction, recall, compactionFile, all };
}

/** The scorer gives intervals of means over sets only, so a set is scored as if it were the only one. */
async function scoreSets(
  { evaluation, cases, folder }: Workplace,
  answers: string,
): Promise<ReadonlyMap<string, Scores>> {
  const scores = new Map<string, Scores>();
  for (const set of questionSets) {
    const file = join(folder, `${set}.jsonl`);
    await filterFile(cases.all.cases, file, (line) =>
      line.slice(0, 400).includes(`"set":"${set}"`),
    );
    const alone = { cases: file, gold: cases.all.gold };
    scores.set(set, await scoreFile(evaluation, alone, answers, "evidence,recall"));
  }
  return scores;
}

async function scoreBaseline(place: Workplace, name: string): Promise<Scores> {
  const { evaluation, cases, folder } = place;
  return scoreOnce(evaluation, name, async () => {
    say(`baseline ${name}`);
    const compaction = await baselineAnswers(evaluation, name, cases.compaction, "compaction");
    // Search is the same in all of them.
    const recall = await baselineAnswers(evaluation, "clip", cases.recall, "recall");
    const all = join(folder, "baseline.jsonl");
    joinFiles(all, [compaction, recall]);
    const kinds = name === "oracle" ? traceKinds : allKinds;
    return scoreFile(evaluation, cases.all, all, kinds);
  });
}

/** A context manager of others, from npm. It compacts; search is the baselines'. */
async function scoreOther(place: Workplace, name: string): Promise<Scores> {
  const { evaluation, cases, folder } = place;
  return scoreOnce(evaluation, name, async () => {
    say(`${name}`);
    const program = fileURLToPath(new URL(`./quality-${name}.ts`, import.meta.url));
    const compaction = join(folder, `${name}.jsonl`);
    await answerFile([program], cases.compaction.cases, compaction);
    const recall = await baselineAnswers(evaluation, "clip", cases.recall, "recall");
    const all = join(folder, "other.jsonl");
    joinFiles(all, [compaction, recall]);
    return scoreFile(evaluation, cases.all, all, allKinds);
  });
}

/** The same archives with queries of other conversations. */
async function scoreControl(place: Workplace, compactionFile: string): Promise<Page["control"]> {
  const { evaluation, cases, folder } = place;
  const { cache } = evaluation;
  const queries = await cached(join(cache, "control-queries.jsonl"), (file) =>
    writeWrongQueries(cases.recall.cases, file),
  );
  const judged = await cached(join(cache, "control-cases.jsonl"), async (file) => {
    const future = join(folder, "future.jsonl");
    await filterFile(cases.compaction.cases, future, isFuture);
    joinFiles(file, [future, queries]);
  });
  const all = { cases: judged, gold: cases.all.gold };
  const answers = join(folder, "control.jsonl");
  say("control: queries of other conversations");
  await answerFile([productProgram, "recall", "--jsonl"], queries, answers);
  const joined = join(folder, "control-all.jsonl");
  joinFiles(joined, [compactionFile, answers]);
  const own = await scoreFile(evaluation, all, joined, traceKinds);
  const bm25 = await scoreOnce(evaluation, "control-bm25", async () => {
    const asked = { cases: queries, gold: cases.recall.gold };
    const recall = await baselineAnswers(evaluation, "clip", asked, "control");
    const compaction = await baselineAnswers(evaluation, "clip", cases.compaction, "compaction");
    joinFiles(joined, [compaction, recall]);
    return scoreFile(evaluation, all, joined, traceKinds);
  });
  return { own, bm25 };
}

function isFuture(line: string): boolean {
  return line.slice(0, 400).includes('"kind":"future"');
}

async function scoreHandles({ evaluation, cases, folder }: Workplace): Promise<Scores> {
  const future = join(folder, "handles-cases.jsonl");
  await filterFile(cases.compaction.cases, future, isFuture);
  const answers = join(folder, "handles.jsonl");
  say("the same with handles");
  const program = fileURLToPath(new URL("./quality-handles.ts", import.meta.url));
  await answerFile([program], future, answers);
  const judged = { cases: future, gold: cases.compaction.gold };
  return scoreFile(evaluation, judged, answers, "future");
}

async function measure(
  place: Workplace,
  { limit, withOracle }: { readonly limit: number; readonly withOracle: boolean },
): Promise<Page> {
  const { evaluation, cases } = place;
  const answers = await askProduct(place);
  say("scores");
  const own = await scoreFile(evaluation, cases.all, answers.all, allKinds);
  const ownBySet = await scoreSets(place, answers.all);
  const baselines = new Map<string, Scores>();
  for (const name of baselineNames) baselines.set(name, await scoreBaseline(place, name));
  for (const name of otherNames) baselines.set(name, await scoreOther(place, name));
  const oracle = withOracle ? { oracle: await scoreBaseline(place, "oracle") } : {};
  const measured: Measured = { own, ownBySet, baselines, ...oracle };
  return {
    measured,
    control: await scoreControl(place, answers.compactionFile),
    withHandles: await scoreHandles(place),
    compaction: answers.compaction,
    recall: answers.recall,
    tools: await measureTools(evaluation, place.folder, say),
    examples: await readExamples(cases.compaction.cases, answers.compactionFile),
    machine: describeMachine(),
    command: `npm run bench:quality -- --write${withOracle ? " --oracle" : ""}${limit > 0 ? ` --limit ${limit}` : ""}`,
    commit: describeCommit(),
    date: today(),
    limit,
  };
}

async function main(): Promise<void> {
  const { limit, kinds, isWritten, withOracle } = readOptions();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const evaluation = findEvaluation(limit);
  if (typeof evaluation === "string") {
    console.log(`${evaluation} Nothing was measured.`);
    return;
  }
  await withFolder(async (folder) => {
    if (kinds === "tools") return showTools(evaluation, folder);
    say("cases");
    const cases = await makeCases(evaluation);
    const page = await measure({ evaluation, cases, folder }, { limit, withOracle });
    const text = withReplayRegion(pageOf(page), pageFile);
    if (isWritten) {
      writeFileSync(pageFile, text);
      writeFileSync(new URL(plotName, pageFile), plotOf(page.measured));
    } else console.log(text);
    say(
      `${isWritten ? "bench/QUALITY.md is written" : "done"}; the answers are in ${evaluation.cache}`,
    );
    if (page.measured.own.violationTotal + violationsOf(page.tools) > 0) process.exitCode = 1;
  });
}

interface Options {
  readonly limit: number;
  readonly kinds: (typeof kindsToMeasure)[number];
  readonly isWritten: boolean;
  readonly withOracle: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      write: { type: "boolean", default: false },
      oracle: { type: "boolean", default: false },
      limit: { type: "string", default: "0" },
      kinds: { type: "string", default: "all" },
    },
  });
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 0)
    throw new Error(`--limit ${values.limit}: give a whole number of cases per set.`);
  const kinds = kindsToMeasure.find((name) => name === values.kinds);
  if (kinds === undefined)
    throw new Error(`--kinds ${values.kinds}: give one of ${kindsToMeasure.join(", ")}.`);
  if (kinds !== "all" && values.write)
    throw new Error("--write needs everything measured: leave --kinds out.");
  return { limit, kinds, isWritten: values.write, withOracle: values.oracle };
}

async function showTools(evaluation: Evaluation, folder: string): Promise<void> {
  const tools = await measureTools(evaluation, folder, say);
  console.log(toolSection(tools).join("\n\n"));
  say(`done; the answers are in ${evaluation.cache}`);
  if (violationsOf(tools) > 0) process.exitCode = 1;
}

await main();
