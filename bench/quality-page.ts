/** The page QUALITY.md: tables of what was measured, what they do not say, and results to look at. */

import { readFileSync } from "node:fs";
import type { Answered } from "./quality-answers.ts";
import { goalsTable, type Measured, percent } from "./quality-goals.ts";
import type { Kind, Metric, ScoreRow, Scores } from "./quality-scorer.ts";
import { type FoundTools, toolSection } from "./quality-tools.ts";
import { figure, type Table, toMarkdown } from "./report.ts";
import { median, percentile } from "./statistics.ts";

export interface Page {
  readonly measured: Measured;
  /** Search with queries of other conversations: ours, and the baselines'. */
  readonly control: { readonly own: Scores; readonly bm25: Scores };
  /** With a handle in the notice, as in a session. */
  readonly withHandles: Scores;
  readonly compaction: Answered;
  readonly recall: Answered;
  readonly tools: FoundTools;
  readonly examples: readonly { readonly title: string; readonly text: string }[];
  readonly machine: string;
  readonly command: string;
  readonly commit: string;
  readonly date: string;
  readonly limit: number;
}

const budgets = [10, 25, 50] as const;
const own = "Plimsoll";

/** The picture next to the page. */
export const plotName = "quality.svg";

export function pageOf(page: Page): string {
  const { measured, limit } = page;
  return `${[
    "# Quality",
    `Written by \`${page.command}\` on ${page.date}, commit ${page.commit}, ${page.machine}. ${limit === 0 ? "All cases of the half of the data that is ours to look at." : `**Only ${limit} of each set: a quick look, too few to compare.**`}`,
    "How much of what an agent needs later is still there after compaction, and how well the rest is found again, on recorded conversations and without any language model. Each case is answered by a child process, `plimsoll compact --jsonl` or `plimsoll recall --jsonl`, with default settings, without a configuration, counted in o200k tokens. A case is written only after the one before it was answered; those with queries are in another process than those without. Baselines and metrics are those of the scorer in `../shared/eval`, whose README defines them.",
    toMarkdown(goalsTable(measured, limit === 0)),
    goalNotes,
    `![Each figure against the budget: Plimsoll, clip, tail, middle-out and LangChain's trimMessages.](${plotName})`,
    "## By set",
    ...futureTables(measured).map(toMarkdown),
    toMarkdown(evidenceTable(measured)),
    toMarkdown(recallTable(measured)),
    toMarkdown(violationsTable(measured.own)),
    ...toolSection(page.tools),
    "## Time",
    ...timeTables(page).map(toMarkdown),
    "Measured from outside: from writing a line to having read its answer, with parsing and the pipe. The machine was shared with other work, so times are only good to about a factor of two.",
    "## What a handle costs",
    handleNote,
    toMarkdown(handleTable(page)),
    "## What these numbers do not say",
    toMarkdown(controlTable(page)),
    notes,
    "## Results to look at",
    `The shortest results of conversations with at least 25 messages, of two sets (MIT licence), as the model would see them. \`── role\` and \`→ tool\` stand for the structure of the messages; "(…)" is where this page leaves something out, everything else is the product's.`,
    ...page.examples.map(({ title, text }) => `### ${title}\n\n~~~~text\n${text}\n~~~~`),
    readFileSync(new URL("./quality-eyes.md", import.meta.url), "utf8").trim(),
  ].join("\n\n")}\n`;
}

const goalNotes = `Intervals are bootstraps over whole recordings. LoCoMo has four conversations here, so its intervals are rough. \`ledger\` is a bare list of names: it wins FRR-reach among the baselines, and loses FRR-place by far; \`clip\` is the baseline to beat. \`langchain\` is LangChain's \`trimMessages\` on the messages after the head, as its documentation has it; it knows nothing of the scorer's duties (the user's words, the newest exchange), so most of its answers break one, and score zero. An answer that breaks a hard rule scores zero.`;

const handleNote = `A file on the command line has no archive, so the notice in the results above names no handle. In a session it does, and that costs tokens. Here the same chain ran in process with a handle in every notice that would have one. Windows of a few hundred tokens suffer most: there the handle can push out what must stay, which counts as a violation.`;

const notes = `- **The metric of search is mostly blind to the query.** The table above asks the same archives with queries from another conversation of the same set. What those reach was found by being central to the conversation, not by being asked for. FRR-reach flatters every search that returns important passages; the question sets do not have this weakness.
- **The same string is not the same use.** An atom counts when its line stands where it stood. Whether the agent needed it, or could work from the excerpt, was not tested. No model took part.
- **FRR and FRR-far count loose words.** A bare list of names scores high on them. FRR-place is the number to read first.
- **LoCoMo is for evaluation only** (CC BY-NC 4.0); nothing of it is in this project.
- **One half of each set was seen** while the product was made. Weights were set by hand on this half; the other half is kept apart.`;

function cell(rows: readonly ScoreRow[], kind: Kind, set: string, metric: Metric): string {
  return budgets
    .map((budget) =>
      percent(
        rows.find((row) => row.kind === kind && row.set === set && row.budget === budget)?.[metric],
      ),
    )
    .join(" / ");
}

function setsOf({ rows }: Scores, kind: Kind): readonly string[] {
  return [...new Set(rows.filter((row) => row.kind === kind).map(({ set }) => set))];
}

function futureTables({ own: scores, baselines }: Measured): readonly Table[] {
  const metrics: readonly (readonly [Metric, string])[] = [
    ["place", "FRR-place: where it stood"],
    [
      "farPlace",
      "FRR-far-place: last said before the final quarter; in its place, or in a statement",
    ],
    ["open", "Requests that look open, though they were answered; less is better"],
    ["effects", "Changes that nothing names any more; less is better"],
    ["silent", "JSON that lost members and does not say so; less is better"],
    ["husks", "Messages of which only marks are left; less is better"],
    ["cutWords", "Shortened texts that are cut inside a word; less is better"],
    ["line", "FRR-line: the line, anywhere"],
    ["frr", "FRR: the word, anywhere"],
    ["reach", "FRR-reach: in the view, or found by search"],
  ];
  const all = [[own, scores] as const, ...baselines];
  return metrics.map(([metric, name]) => ({
    title: `${name}; % at 10 / 25 / 50 %`,
    columns: ["set", "cuts", ...all.map(([who]) => who)],
    rows: [
      ...setsOf(scores, "future").map((set) => [
        set,
        String(scores.rows.find((row) => row.kind === "future" && row.set === set)?.n ?? 0),
        ...all.map(([, { rows }]) => cell(rows, "future", set, metric)),
      ]),
      [
        "mean over sets (without coding_editor_misc)",
        "",
        ...all.map(([, { macro }]) => cell(macro, "future", "macro mean", metric)),
      ],
    ],
  }));
}

function evidenceTable({ own: scores, baselines }: Measured): Table {
  const all = [[own, scores] as const, ...baselines];
  const metrics: readonly (readonly [Metric, string])[] = [
    ["erMean", "ER mean"],
    ["erAll", "ER all"],
    ["answerTokens", "answer words"],
  ];
  return {
    title: "Talk, question unknown; % at 10 / 25 / 50 %",
    columns: ["set", "", ...all.map(([who]) => who)],
    rows: setsOf(scores, "evidence").flatMap((set) =>
      metrics.map(([metric, name]) => [
        set,
        name,
        ...all.map(([, { rows }]) => cell(rows, "evidence", set, metric)),
      ]),
    ),
  };
}

function recallTable({ own: scores, baselines }: Measured): Table {
  const [bm25] = [...baselines.values()];
  const values = (rows: readonly ScoreRow[], set: string): readonly string[] => {
    const found = rows.find((row) => row.kind === "recall" && row.set === set);
    return [found?.erMean, found?.erAll, found?.answerTokens].map(percent);
  };
  return {
    title: "Recall, question known, 1,024 tokens; %",
    columns: ["set", "", "ER mean", "ER all", "answer words"],
    rows: setsOf(scores, "recall").flatMap((set) => [
      [set, own, ...values(scores.rows, set)],
      [set, "BM25", ...values(bm25?.rows ?? [], set)],
    ]),
  };
}

function violationsTable({ violations, cases }: Scores): Table {
  const kinds = Object.keys(violations).filter((kind) => (cases[kind] ?? 0) > 0);
  const names = Object.keys(violations[kinds[0] ?? ""] ?? {});
  return {
    title: "Hard violations",
    columns: ["kind", "cases", ...names],
    rows: kinds.map((kind) => [
      kind,
      String(cases[kind]),
      ...names.map((name) => String(violations[kind]?.[name] ?? 0)),
    ]),
  };
}

function timeTables({ compaction, recall }: Page): readonly Table[] {
  const rowsOf = ({ timings }: Answered): readonly (readonly string[])[] =>
    [...new Set(timings.map(({ set }) => set))].map((set) => {
      const times = timings.filter((timing) => timing.set === set);
      return [set, ...statisticsOf(times.map(({ milliseconds }) => milliseconds))];
    });
  const first = recall.timings.filter(({ isFirstOfArchive }) => isFirstOfArchive);
  const later = recall.timings.filter(({ isFirstOfArchive }) => !isFirstOfArchive);
  const speed = ({ timings, seconds, characters }: Answered): string =>
    `${figure(seconds)} s, ${figure(timings.length / seconds)} answers/s, ${figure(characters / 1e6 / seconds)} MB of JSON/s`;
  const all = compaction.timings.map(({ milliseconds }) => milliseconds);
  const columns = ["", "cases", "median", "p95", "slowest"];
  return [
    {
      title: `Compaction, ms per case; all: ${speed(compaction)}`,
      columns,
      rows: [...rowsOf(compaction), ["all", ...statisticsOf(all)]],
    },
    {
      title: `Recall, ms per query; all: ${speed(recall)}`,
      columns,
      rows: [
        [
          "first of an archive, with reading and indexing it",
          ...statisticsOf(first.map(({ milliseconds }) => milliseconds)),
        ],
        ["later ones", ...statisticsOf(later.map(({ milliseconds }) => milliseconds))],
      ],
    },
  ];
}

function statisticsOf(times: readonly number[]): readonly string[] {
  return [
    String(times.length),
    figure(median(times)),
    figure(percentile(times, 0.95)),
    figure(Math.max(...times)),
  ];
}

function handleTable({ measured: { own: scores }, withHandles }: Page): Table {
  const sets = setsOf(scores, "future");
  const row = (name: string, set: string, key: "rows" | "macro"): readonly string[] => [
    name,
    cell(scores[key], "future", set, "place"),
    cell(withHandles[key], "future", set, "place"),
    cell(scores[key], "future", set, "far"),
    cell(withHandles[key], "future", set, "far"),
  ];
  return {
    title: `% at 10 / 25 / 50 %; hard violations with handles: ${withHandles.violationTotal}`,
    columns: ["set", "FRR-place", "with a handle", "FRR-far", "with a handle"],
    rows: [
      ...sets.map((set) => row(set, set, "rows")),
      row("mean over sets", "macro mean", "macro"),
    ],
  };
}

function controlTable({ measured, control }: Page): Table {
  const [bm25] = [...measured.baselines.values()];
  const values = (scores: Scores | undefined): readonly string[] => {
    const search = scores?.macro.find(({ kind }) => kind === "search");
    const reach = budgets.map((budget) =>
      percent(scores?.macro.find((row) => row.kind === "future" && row.budget === budget)?.reach),
    );
    return [percent(search?.frr), percent(search?.far), reach.join(" / ")];
  };
  return {
    title: "Search alone, 1,500 tokens per query, and FRR-reach with it at 10 / 25 / 50 %; %",
    columns: ["", "FRR", "FRR-far", "FRR-reach"],
    rows: [
      [own, ...values(measured.own)],
      [`${own}, queries of other conversations`, ...values(control.own)],
      ["clip + BM25", ...values(bm25)],
      ["clip + BM25, queries of other conversations", ...values(control.bm25)],
    ],
  };
}
