/**
 * Reduces code to a skeleton by its syntax. Imports, signatures and headers stay, and comments replace bodies. Lines that matter
 * stay, with the structure around them. If the code parsed without errors before the cut, it also does so afterwards.
 */

import {
  type Attempt,
  attempt,
  type Compressor,
  type CutOptions,
  mistaken,
  whole,
} from "../cut/compressor.ts";
import { weightsOf } from "../cut/lines.ts";
import { chooseEdits } from "./choose.ts";
import { type CodeEdit, candidatesOf, markText, type Outline, settle } from "./elisions.ts";
import { guessLanguages, type Language, languageOfEnding, languages } from "./languages.ts";
import { type Numbered, stripNumbers } from "./numbered-lines.ts";
import { LineIndex, outlineOf } from "./outline.ts";
import { type Cleanness, cleannessOf, parseCode, type SyntaxNode } from "./parse.ts";

const maxChars = 8_000_000;

/** Tried before all other compressors, for files with a code extension. Accepts only code that parses without errors. */
export const namedCodeCompressor: Compressor = {
  kind: "code",
  detects: ({ ending }) => isCodeEnding(ending),
  compress: (text, options) => compressCode(text, options, "only if clean"),
};

export const codeCompressor: Compressor = {
  kind: "code",
  detects: ({ lines, ending }) => {
    if (isCodeEnding(ending)) return true;
    if (ending === "md" || ending === "txt" || ending === "rst") return false;
    const bare = lines.map((line) => line.replace(/^\s{0,8}\d{1,7}(?:\t|→|: )/, ""));
    const isMarked = bare.some((line) => /^\s*(?:`{3,}|~{3,})/.test(line));
    return !isMarked && guessLanguages(bare).length > 0;
  },
  compress: (text, options) => compressCode(text, options, "even if broken"),
};

function isCodeEnding(ending: string | undefined): boolean {
  return ending !== undefined && languageOfEnding(ending) !== undefined;
}

function compressCode(
  text: string,
  options: CutOptions,
  when: "only if clean" | "even if broken",
): Attempt {
  if (text.length > maxChars) return mistaken;
  const numbered = stripNumbers(text);
  const code = numbered?.code ?? text;
  const read = readCode(code, options.path ?? pathIn(numbered?.before ?? ""));
  if (read === undefined || (read.cleanness === "broken" && when === "only if clean"))
    return mistaken;
  const shorter = shorten({ ...read, code, options, numbered });
  if (read.cleanness === "clean") return shorter === undefined ? whole : attempt(shorter.text);
  // Text with parse errors may not be code at all. Cutting such text by lines is no worse than using a poor outline of it.
  const isEnough = shorter !== undefined && shorter.tokens <= options.count(text) * options.ratio;
  return isEnough ? attempt(shorter.text) : mistaken;
}

/** The file name that a file-reading tool prints above its lines. */
function pathIn(text: string): string | undefined {
  return /[\w@./+-]{1,200}\.\w{1,5}(?=\W|$)/.exec(text.slice(0, 1_000))?.[0];
}

interface Read {
  readonly language: Language;
  readonly root: SyntaxNode;
  readonly cleanness: Cleanness;
}

/**
 * Tries the likely languages in order, and returns the first parse without errors. If every parse has errors, returns the parse
 * with the likeliest language.
 */
function readCode(code: string, path: string | undefined): Read | undefined {
  let broken: Read | undefined;
  for (const language of likely(code, path)) {
    const root = parseCode(language.name, code);
    if (root === undefined) continue;
    const read = { language, root, cleanness: cleannessOf(root) };
    if (read.cleanness === "clean") return read;
    broken ??= read;
  }
  return broken;
}

/** For each grammar, the related grammars, which may accept code that this grammar rejects. */
const relatives: Readonly<Record<string, readonly string[]>> = {
  TypeScript: ["Tsx"],
  JavaScript: ["Tsx", "TypeScript"],
  Tsx: ["TypeScript"],
  c: ["cpp"],
  cpp: ["c"],
};

function likely(code: string, path: string | undefined): readonly Language[] {
  const ending = /\.([\w+]+)$/.exec(path ?? "")?.[1]?.toLowerCase();
  const named = ending === undefined ? undefined : languageOfEnding(ending);
  const first =
    named === undefined ? guessLanguages(code.slice(0, 20_000).split(/\r?\n/)) : [named];
  const names = first.flatMap(({ name }) => [name, ...(relatives[name] ?? [])]);
  return [...new Set(names)].flatMap((name) =>
    languages.filter((language) => language.name === name),
  );
}

interface Task extends Read {
  readonly code: string;
  readonly options: CutOptions;
  readonly numbered: Numbered | undefined;
}

interface Trial {
  readonly needed: number;
  readonly tokens: number;
}

/**
 * Interpolates between a trial that saved too little and a trial that saved more than enough, so that the result is just below
 * the goal.
 */
function nextTrial(little: Trial, much: Trial | undefined, goal: number): number {
  if (much === undefined) return little.needed + (little.tokens - goal) * 1.15;
  const aim = goal * ((1 + nearGoal) / 2);
  const share = (little.tokens - aim) / Math.max(1, little.tokens - much.tokens);
  return little.needed + (much.needed - little.needed) * Math.min(0.9, Math.max(0.1, share));
}

/**
 * Thresholds for the relative weight, tried in order until enough can be removed. Lines with a weight above the threshold are
 * protected.
 */
const protectedFrom = [0, 0.35, 0.7, 2] as const;
/** As long as important lines are protected, a result may have up to this many times the tokens of the goal. */
const worthMore = 1.15;

function weightsIn(lines: LineIndex, options: CutOptions): Float64Array | undefined {
  if (options.weigh === undefined) return undefined;
  const texts = lines.starts.map((_, line) => lines.textOf(line));
  return weightsOf(texts, options);
}

function shorten(task: Task): Shortened | undefined {
  const { code, options, language, numbered } = task;
  const lines = new LineIndex(code);
  const outline = outlineOf(task.root, language, lines);
  const weights = weightsIn(lines, options);
  const whole = numbered === undefined ? code : numbered.before + code + numbered.after;
  const before = options.count(whole);
  const goal = before * options.ratio;
  let best: Shortened | undefined;
  for (const from of weights === undefined ? [2] : protectedFrom) {
    const parts: Outline = {
      lines,
      language,
      root: outline,
      isProtected: (line) => (weights?.[line] ?? 0) > from,
      allowsInline: numbered === undefined,
    };
    const shorter = elide(parts, task, goal, before);
    if (shorter !== undefined && shorter.tokens < (best?.tokens ?? before)) best = shorter;
    if (best !== undefined && best.tokens <= goal * (from < 1 ? worthMore : 1)) break;
  }
  return best;
}

interface Shortened {
  readonly text: string;
  readonly tokens: number;
}

const rounds = 5;
/** The search ends with a result between this share of the goal and the whole goal. */
const nearGoal = 0.93;
/** If the code has parse errors, only candidates up to this tier may be removed: bodies, literals, comments and strings. */
const maxBrokenTier = 2;

function elide(outline: Outline, task: Task, goal: number, before: number): Shortened | undefined {
  const { lines } = outline;
  const edits = sound(bestEdits(outline, task, goal, before), task, lines);
  if (edits.length === 0) return undefined;
  const text = apply(edits, task, lines);
  return { text, tokens: task.options.count(text) };
}

/**
 * The edits whose result is closest to the goal without exceeding it. If every result exceeds the goal, the edits with the
 * smallest result.
 */
function bestEdits(
  outline: Outline,
  task: Task,
  goal: number,
  before: number,
): readonly CodeEdit[] {
  const { lines } = outline;
  const candidates = candidatesOf(outline).filter(
    ({ tier }) => task.cleanness === "clean" || tier <= maxBrokenTier,
  );
  const charsPerToken = task.code.length / Math.max(1, before);
  let best: { readonly edits: readonly CodeEdit[]; readonly tokens: number } = {
    edits: [],
    tokens: before,
  };
  let little: Trial = { needed: 0, tokens: before };
  let much: Trial | undefined;
  let needed = before - goal;
  for (let round = 0; round < rounds; round++) {
    const edits = settle(chooseEdits(candidates, lines, needed * charsPerToken), lines);
    const tokens = task.options.count(apply(edits, task, lines));
    const isBetter =
      best.tokens > goal ? tokens < best.tokens : tokens <= goal && tokens > best.tokens;
    if (isBetter) best = { edits, tokens };
    if (tokens <= goal && tokens >= goal * nearGoal) break;
    if (tokens > goal) little = { needed, tokens };
    else much = { needed, tokens };
    needed = nextTrial(little, much, goal);
  }
  return best.edits;
}

function edited(edits: readonly CodeEdit[], lines: LineIndex): string {
  const parts: string[] = [];
  let at = 0;
  for (const edit of edits) {
    parts.push(lines.text.slice(at, edit.start), markText(edit, lines));
    at = edit.end;
  }
  parts.push(lines.text.slice(at));
  return parts.join("");
}

function apply(edits: readonly CodeEdit[], { numbered }: Task, lines: LineIndex): string {
  if (numbered === undefined) return edited(edits, lines);
  const parts: string[] = [numbered.before];
  let line = 0;
  const keepTo = (end: number): void => {
    for (; line < end && line < numbered.prefixes.length; line++)
      parts.push(
        numbered.prefixes[line] ?? "",
        lines.text.slice(lines.startOf(line), lines.startOf(line + 1)),
      );
  };
  for (const edit of edits) {
    if (edit.lines === undefined) continue;
    keepTo(edit.lines.first);
    const width = numbered.prefixes[line]?.length ?? 0;
    parts.push(" ".repeat(width), markText(edit, lines));
    line = edit.lines.last + 1;
    parts.push(lines.text.slice(lines.endOf(line - 1), lines.startOf(line)));
  }
  keepTo(numbered.prefixes.length);
  parts.push(numbered.after);
  return parts.join("");
}

const maxParses = 24;

/**
 * The edits after which the program still parses without errors: all edits, or as many as can be found with at most `maxParses`
 * parses.
 */
function sound(edits: readonly CodeEdit[], task: Task, lines: LineIndex): readonly CodeEdit[] {
  if (task.cleanness === "broken") return edits;
  let parses = 0;
  const isSound = (some: readonly CodeEdit[]): boolean => {
    parses++;
    const root = parseCode(task.language.name, edited(some, lines));
    return root !== undefined && cleannessOf(root) === "clean";
  };
  const most = (some: readonly CodeEdit[]): readonly CodeEdit[] => {
    if (some.length === 0 || (parses < maxParses && isSound(some))) return some;
    if (some.length === 1 || parses >= maxParses) return [];
    const half = some.length >> 1;
    const one = most(some.slice(0, half));
    const other = most(some.slice(half));
    const both = [...one, ...other];
    if (one.length === 0 || other.length === 0) return both;
    return parses < maxParses && isSound(both) ? both : one;
  };
  const wholeLines = edits.filter((edit) => edit.lines !== undefined);
  if (isSound(edits)) return edits;
  return wholeLines.length < edits.length && isSound(wholeLines) ? wholeLines : most(edits);
}
