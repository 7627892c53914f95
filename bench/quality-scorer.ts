/**
 * The black-box scorer beside the project, step by step: cases, baselines, scores. What does not depend on the product
 * is kept in a folder below the temporary one, by the content of scorer and data.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

export interface Evaluation {
  readonly data: string;
  readonly scorer: string;
  /** Cases per set; 0 takes all. */
  readonly limit: number;
  /** For what does not depend on the product. */
  readonly cache: string;
}

/** A sentence: what is missing here. */
export function findEvaluation(limit: number): Evaluation | string {
  const named = process.env["PLIMSOLL_EVAL_DATA"];
  const beside = fileURLToPath(new URL("../../shared", import.meta.url));
  const data = [named, named && join(named, "data"), join(beside, "data")].find(
    (folder) =>
      folder !== undefined && folder !== "" && existsSync(join(folder, "coding_miniswe.jsonl.gz")),
  );
  if (data === undefined)
    return "There are no recorded conversations here: put them into ../shared/data, or name their folder in PLIMSOLL_EVAL_DATA.";
  const scorer = [join(data, "../eval"), join(beside, "eval")].find((folder) =>
    existsSync(join(folder, "score.mjs")),
  );
  if (scorer === undefined)
    return "The scorer is not here: put it into ../shared/eval, or beside the folder of the data.";
  const key = keyOf([data, scorer], limit);
  const cache = join(tmpdir(), "plimsoll-bench-quality", key);
  mkdirSync(cache, { recursive: true });
  return { data, scorer, limit, cache };
}

function keyOf(folders: readonly string[], limit: number): string {
  const hash = createHash("sha256").update(`1:${limit}`);
  for (const folder of folders)
    for (const name of readdirSync(folder).toSorted())
      hash.update(`\0${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}

export interface Cases {
  readonly cases: string;
  readonly gold: string;
}

/** Blind ones and those with queries are apart: who compacts has never seen a query. */
export interface AllCases {
  readonly compaction: Cases;
  readonly recall: Cases;
  readonly all: Cases;
}

export async function makeCases(evaluation: Evaluation): Promise<AllCases> {
  const compaction = await casesOf(evaluation, "compaction", "future,evidence");
  const recall = await casesOf(evaluation, "recall", "recall");
  const all = {
    cases: joined(evaluation, "all-cases.jsonl", [compaction.cases, recall.cases]),
    gold: joined(evaluation, "all-gold.jsonl", [compaction.gold, recall.gold]),
  };
  return { compaction, recall, all };
}

export async function casesOf(evaluation: Evaluation, name: string, kinds: string): Promise<Cases> {
  const { cache, data, limit } = evaluation;
  const gold = join(cache, `${name}-gold.jsonl`);
  const cases = await cached(join(cache, `${name}-cases.jsonl`), async (file) => {
    const options = ["--gold", gold, "--kinds", kinds, "--limit", String(limit)];
    await runScript(evaluation, "cases.mjs", [data, ...options], file);
  });
  return { cases, gold };
}

function joined({ cache }: Evaluation, name: string, parts: readonly string[]): string {
  const file = join(cache, name);
  if (!existsSync(file)) joinFiles(file, parts);
  return file;
}

export function joinFiles(file: string, parts: readonly string[]): void {
  const fresh = `${file}.${process.pid}`;
  const [first = "", ...others] = parts;
  copyFileSync(first, fresh);
  for (const part of others) appendFileSync(fresh, readFileSync(part));
  renameSync(fresh, file);
}

/** Made once; a file that was begun and not finished does not count. */
export async function cached(
  file: string,
  make: (fresh: string) => Promise<void>,
): Promise<string> {
  if (existsSync(file)) return file;
  const fresh = `${file}.${process.pid}`;
  try {
    await make(fresh);
    renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
  return file;
}

/** Answers of one of the scorer's own strategies to one file of cases. */
export function baselineAnswers(
  evaluation: Evaluation,
  name: string,
  { cases, gold }: Cases,
  label: string,
): Promise<string> {
  const options = name === "oracle" ? ["--gold", gold, "--kinds", "future"] : [];
  return cached(join(evaluation.cache, `${label}-${name}.jsonl`), (file) =>
    runScript(evaluation, "baselines.mjs", [cases, name, ...options], file),
  );
}

export type Metric =
  | "place"
  | "line"
  | "frr"
  | "far"
  | "farPlace"
  | "open"
  | "effects"
  | "silent"
  | "broken"
  | "husks"
  | "cutWords"
  | "reach"
  | "erMean"
  | "erAll"
  | "answerTokens"
  | "r1"
  | "r5"
  | "r10"
  | "mrr";
export type Kind = "future" | "search" | "evidence" | "recall" | "tools";

export interface ScoreRow extends Readonly<Partial<Record<Metric, number>>> {
  readonly kind: Kind;
  readonly set: string;
  /** Per cent for compactions, tokens for questions, names for tools, null for search alone. */
  readonly budget: number | null;
  readonly n: number;
}

export interface MacroRow extends ScoreRow {
  /** 95 %. */
  readonly interval: Readonly<Partial<Record<Metric, readonly [number, number]>>>;
}

export interface Scores {
  readonly rows: readonly ScoreRow[];
  readonly macro: readonly MacroRow[];
  readonly cases: Readonly<Record<string, number>>;
  readonly violations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly violationTotal: number;
}

export async function scoreFile(
  evaluation: Evaluation,
  { cases, gold }: Cases,
  answers: string,
  kinds: string,
): Promise<Scores> {
  const file = join(evaluation.cache, `score.${process.pid}.json`);
  try {
    const options = [cases, gold, answers, "--kinds", kinds, "--json"];
    await runScript(evaluation, "score.mjs", options, file);
    return JSON.parse(readFileSync(file, "utf8")) as Scores;
  } finally {
    rmSync(file, { force: true });
  }
}

/** The same, and kept: for answers that do not depend on the product. */
export async function scoreOnce(
  evaluation: Evaluation,
  name: string,
  score: () => Promise<Scores>,
): Promise<Scores> {
  const file = await cached(join(evaluation.cache, `${name}.score.json`), async (fresh) =>
    writeFileSync(fresh, JSON.stringify(await score())),
  );
  return JSON.parse(readFileSync(file, "utf8")) as Scores;
}

/** It takes the tokenizer from the folder that it runs in. The one that scores ends with 1 when a hard rule is broken. */
async function runScript(
  { scorer }: Evaluation,
  script: string,
  options: readonly string[],
  output: string,
): Promise<void> {
  const target = openSync(output, "w");
  const child = spawn(process.execPath, [join(scorer, script), ...options], {
    cwd: root,
    stdio: ["ignore", target, "inherit"],
  });
  closeSync(target);
  const kill = (): void => void child.kill();
  process.once("exit", kill);
  const [code] = (await once(child, "exit")) as [number | null];
  process.off("exit", kill);
  if (code !== 0 && !(code === 1 && script === "score.mjs"))
    throw new Error(`${script} ${options.join(" ")} ended with ${code}.`);
}

/** At line feeds only: other separators may stand inside JSON strings. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield line;
  }
  if (rest !== "") yield rest;
}

export function linesOfFile(file: string): AsyncGenerator<string> {
  return linesOf(createReadStream(file, { highWaterMark: 1 << 20 }));
}

/** Lines of a file that pass, in a file of their own. */
export async function filterFile(
  source: string,
  target: string,
  isWanted: (line: string) => boolean,
): Promise<void> {
  const kept: string[] = [];
  for await (const line of linesOfFile(source)) if (isWanted(line)) kept.push(line);
  writeFileSync(target, kept.map((line) => `${line}\n`).join(""));
}
