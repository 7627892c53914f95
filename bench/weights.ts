/**
 * Whether the learned weights are better than those set by hand: `npm run bench:weights -- [--write]`. For each set of recorded
 * conversations, trees are learned from the other sets only, and both kinds of weights answer the cases of that set. The
 * difference has a 95 % interval, by a bootstrap over whole recordings. With --write the table goes into QUALITY-WEIGHTS.md.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { withFolder } from "./processes.ts";
import { answerFile, type Case, type ChatMessage, productProgram } from "./quality-answers.ts";
import {
  type Cases,
  casesOf,
  type Evaluation,
  findEvaluation,
  linesOfFile,
  root,
} from "./quality-scorer.ts";
import { type Table, toMarkdown } from "./report.ts";

const budgets = [10, 25, 50] as const;
/** Too small to count in the mean. */
const smallSet = "coding_editor_misc";
const resamples = 2_000;

/** The parts of the scorer that are used here. */
interface Scorer {
  readonly checks: { findViolations(item: Case, answer: unknown): readonly string[] };
  readonly places: {
    placesOfAtoms(messages: readonly ChatMessage[], atoms: unknown, folder: unknown): unknown;
  };
  readonly metrics: {
    futureMetrics(
      item: Case,
      gold: Gold,
      places: unknown,
      messages: readonly ChatMessage[],
      isRecalled: false,
    ): { readonly place: number };
  };
}

interface Gold {
  readonly id: string;
  readonly cut: string;
  readonly atoms: unknown;
  readonly root: unknown;
}

async function loadScorer({ scorer }: Evaluation): Promise<Scorer> {
  const load = (name: string): Promise<unknown> =>
    import(pathToFileURL(join(scorer, `${name}.mjs`)).href);
  const [checks, places, metrics] = await Promise.all(["checks", "places", "metrics"].map(load));
  return { checks, places, metrics } as Scorer;
}

/** A copy of the built package with other trees. It is below node_modules, so that it finds the same packages. */
function packageWith(trees: string): string {
  const from = join(root, "packages", "plimsoll");
  const folder = join(root, "node_modules", ".cache", "plimsoll-weights");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of ["bin", "dist", "data", "package.json"])
    cpSync(join(from, part), join(folder, part), { recursive: true });
  cpSync(trees, join(folder, "data", "mention_trees.js"));
  return join(folder, "bin", "plimsoll.mjs");
}

function train(withoutSet: string, out: string): void {
  const script = join(root, "scripts", "train-weights.mjs");
  const { status } = spawnSync(process.execPath, [script, "--without", withoutSet, "--out", out], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`The training without ${withoutSet} failed.`);
}

/** FRR-place of each case, by trace and budget. */
interface Placed {
  readonly trace: string;
  readonly budget: number;
  readonly place: number;
}

interface Answer {
  readonly id: string;
  readonly messages?: readonly ChatMessage[];
}

async function placesOf(
  command: readonly string[],
  scorer: Scorer,
  { cases, gold }: Cases,
  answers: string,
): Promise<readonly Placed[]> {
  await answerFile(command, cases, answers);
  const golds = new Map<string, Gold>();
  for await (const line of linesOfFile(gold)) {
    const one = JSON.parse(line) as Gold;
    golds.set(one.id, one);
  }
  const answered = new Map<string, Answer>();
  for await (const line of linesOfFile(answers)) {
    const one = JSON.parse(line) as Answer;
    answered.set(one.id, one);
  }
  const placed: Placed[] = [];
  for await (const line of linesOfFile(cases)) {
    const item = JSON.parse(line) as Case;
    const own = golds.get(item.id ?? "");
    if (own === undefined) continue;
    const answer = answered.get(item.id ?? "");
    const isValid = scorer.checks.findViolations(item, answer).length === 0;
    const places = scorer.places.placesOfAtoms(item.messages ?? [], own.atoms, own.root);
    const messages = isValid ? (answer?.messages ?? []) : [];
    const { place } = scorer.metrics.futureMetrics(item, own, places, messages, false);
    placed.push({
      trace: own.cut.replace(/@\d+$/, ""),
      budget: item.percent ?? 0,
      place: place * 100,
    });
  }
  return placed;
}

/** By trace: how much better the learned weights are in each of its cases. */
type Gains = ReadonlyMap<string, readonly number[]>;

function gainsAt(budget: number, byHand: readonly Placed[], learned: readonly Placed[]): Gains {
  const gains = new Map<string, number[]>();
  for (const [at, { trace, budget: own, place }] of learned.entries()) {
    if (own !== budget) continue;
    gains.set(trace, [...(gains.get(trace) ?? []), place - (byHand[at]?.place ?? 0)]);
  }
  return gains;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** The mean over sets, and its interval if whole traces are drawn with replacement. */
function interval(sets: readonly Gains[]): readonly [mean: number, low: number, high: number] {
  let state = 21;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const drawn = (gains: Gains): number => {
    const traces = [...gains.values()];
    return mean(traces.flatMap(() => traces[random(traces.length)] ?? []));
  };
  const means = Array.from({ length: resamples }, () => mean(sets.map(drawn))).toSorted(
    (one, other) => one - other,
  );
  const at = (share: number): number => means[Math.floor(share * (resamples - 1))] ?? 0;
  return [mean(sets.map((gains) => mean([...gains.values()].flat()))), at(0.025), at(0.975)];
}

const digits = (value: number): string => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(1);
const cell = ([middle, low, high]: readonly [number, number, number]): string =>
  `${digits(middle)} (${digits(low)} to ${digits(high)})`;

async function measure(evaluation: Evaluation, folder: string): Promise<Table> {
  const scorer = await loadScorer(evaluation);
  const all = await casesOf(evaluation, "compaction", "future,evidence");
  const bySet = new Map<string, string[]>();
  for await (const line of linesOfFile(all.cases)) {
    const { kind, set } = JSON.parse(line) as Case;
    if (kind === "future") bySet.set(set, [...(bySet.get(set) ?? []), line]);
  }
  const config = join(folder, "config.yaml");
  writeFileSync(config, "learned_weights: true\n");
  const hand = [productProgram, "compact", "--jsonl"];
  const measured: { readonly set: string; readonly gains: readonly Gains[] }[] = [];
  for (const [set, lines] of bySet) {
    console.error(`${set} …`);
    const cases = { cases: join(folder, `${set}.jsonl`), gold: all.gold };
    writeFileSync(cases.cases, `${lines.join("\n")}\n`);
    const trees = join(folder, `${set}.js`);
    train(set, trees);
    const byHand = await placesOf(hand, scorer, cases, join(folder, "by-hand.jsonl"));
    const command = [packageWith(trees), "compact", "--jsonl", "--config", config];
    const learned = await placesOf(command, scorer, cases, join(folder, "learned.jsonl"));
    measured.push({ set, gains: budgets.map((budget) => gainsAt(budget, byHand, learned)) });
  }
  const counted = measured.filter(({ set }) => set !== smallSet);
  return {
    title:
      "FRR-place of learned weights compared with those set by hand, in points, with the 95 % interval; learned without the set",
    columns: ["set", ...budgets.map((budget) => `${budget} %`)],
    rows: [
      ...measured.map(({ set, gains }) => [set, ...gains.map((own) => cell(interval([own])))]),
      [
        `mean over sets (without ${smallSet})`,
        ...budgets.map((_, at) =>
          cell(interval(counted.map(({ gains }) => gains[at] ?? new Map()))),
        ),
      ],
    ],
  };
}

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const evaluation = findEvaluation(0);
if (typeof evaluation === "string") {
  console.error(evaluation);
  process.exitCode = 2;
} else {
  await withFolder(async (folder) => {
    const text = toMarkdown(await measure(evaluation, folder));
    const page = `# Learned weights\n\nWritten by \`npm run bench:weights -- --write\`.\n\n${text}\n`;
    if (values.write) writeFileSync(new URL("./QUALITY-WEIGHTS.md", import.meta.url), page);
    console.log(text);
  });
}
