/** How well tools are found: asked, scored set by set, and shown beside plain BM25. */

import { join } from "node:path";
import { type Answered, answerFile, productProgram } from "./quality-answers.ts";
import { type Carried, deferralTable, isUnderATenth, measureDeferral } from "./quality-deferral.ts";
import { interval, type ToolScores, toolGoalsTable } from "./quality-goals.ts";
import {
  baselineAnswers,
  type Cases,
  casesOf,
  type Evaluation,
  filterFile,
  type Metric,
  type Scores,
  scoreFile,
  scoreOnce,
} from "./quality-scorer.ts";
import { figure, type Table, toMarkdown } from "./report.ts";
import { median, percentile } from "./statistics.ts";

const toolSets = ["sealtools", "toollinkos", "livemcp:task", "livemcp:agent_query"] as const;

export interface FoundTools extends ToolScores {
  readonly answered: Answered;
  readonly carried: readonly Carried[];
}

/** The answers stay, to be looked at. */
export async function measureTools(
  evaluation: Evaluation,
  folder: string,
  say: (what: string) => void,
): Promise<FoundTools> {
  const cases = await casesOf(evaluation, "tools", "tools");
  const answers = join(evaluation.cache, "own-tools.jsonl");
  say("plimsoll tool-search --jsonl");
  const command = [productProgram, "tool-search", "--jsonl"];
  const answered = await answerFile(command, cases.cases, answers);
  const baseline = await baselineAnswers(evaluation, "clip", cases, "tools");
  const own = new Map<string, Scores>();
  const bm25 = new Map<string, Scores>();
  for (const set of toolSets) {
    const alone = await casesOfSet(cases, set, folder);
    own.set(set, await scoreFile(evaluation, alone, answers, "tools"));
    const score = (): Promise<Scores> => scoreFile(evaluation, alone, baseline, "tools");
    bm25.set(set, await scoreOnce(evaluation, `tools-${set.replace(":", "-")}-bm25`, score));
  }
  say("a request with the tools of LiveMCP");
  return { own, bm25, answered, carried: await measureDeferral(cases.cases) };
}

/** The scorer gives intervals of means over sets only, so a set is scored as if it were the only one. */
async function casesOfSet({ cases, gold }: Cases, set: string, folder: string): Promise<Cases> {
  const file = join(folder, `tools-${set.replace(":", "-")}.jsonl`);
  await filterFile(cases, file, (line) => line.slice(0, 400).includes(`"set":"${set}"`));
  return { cases: file, gold };
}

/** Broken rules; a request with too many tools is one. */
export function violationsOf({ own, carried }: FoundTools): number {
  const broken = [...own.values()].reduce((sum, { violationTotal }) => sum + violationTotal, 0);
  return broken + (isUnderATenth(carried) ? 0 : 1);
}

/** The part of the page, in Markdown. */
export function toolSection(found: FoundTools): readonly string[] {
  return [
    "## Finding tools",
    "One query, a catalogue of tools, ten names, by `plimsoll tool-search --jsonl`. R@k is the share of the tools that were needed among the first k, MRR the mean of 1 / rank of the first of them.",
    toMarkdown(toolGoalsTable(found)),
    toMarkdown(setTable(found)),
    toMarkdown(timeTable(found.answered)),
    notes,
    toMarkdown(deferralTable(found.carried)),
  ];
}

const notes = `The two LiveMCP sets have few queries here and wide intervals: some points between two versions say nothing. The gold of an agent's query is often not what the query names (a query for a file tool whose gold is an encyclopedia), and some of these tools are described in Chinese only, so no search by these queries finds all. BM25 is the scorer's, over the same texts.`;

const metrics: readonly (readonly [Metric, string])[] = [
  ["r1", "R@1"],
  ["r5", "R@5"],
  ["r10", "R@10"],
  ["mrr", "MRR"],
];

function setTable({ own, bm25 }: ToolScores): Table {
  const row = (set: string, who: string, scores: Scores | undefined): readonly string[] => {
    const [mean] = scores?.macro ?? [];
    const values = metrics.map(([metric]) => interval(mean, metric, "with the value"));
    return [set, who, String(scores?.cases["tools"] ?? 0), ...values];
  };
  return {
    title: "By set; %, with the 95 % interval of the set alone",
    columns: ["set", "", "queries", ...metrics.map(([, name]) => name)],
    rows: [...own].flatMap(([set, scores]) => [
      row(set, "Plimsoll", scores),
      row(set, "BM25", bm25.get(set)),
    ]),
  };
}

function timeTable({ timings, seconds }: Answered): Table {
  const row = (what: string, isFirst: boolean): readonly string[] => {
    const times = timings
      .filter(({ isFirstOfArchive }) => isFirstOfArchive === isFirst)
      .map(({ milliseconds }) => milliseconds);
    const all = [median(times), percentile(times, 0.95), Math.max(...times)];
    return [what, String(times.length), ...all.map(figure)];
  };
  return {
    title: `ms per query; all: ${figure(seconds)} s`,
    columns: ["", "queries", "median", "p95", "slowest"],
    rows: [
      row("first of a catalogue, with reading and indexing it", true),
      row("later ones", false),
    ],
  };
}
