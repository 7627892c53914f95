/**
 * Compresses real files of each language to half, and reads them again: what parsed must still parse.
 * Alone: `node bench/compressors.ts [--quick]` prints Markdown, and ends with 1 when a file stopped parsing.
 * Files come from node_modules, from packages of the npm registry that ship sources (kept in a folder below the
 * temporary one), and from the recorded conversations, where there are any.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { loadTokenizer } from "../packages/plimsoll/src/budget/tokenizer.ts";
import { cleannessOf, parseCode } from "../packages/plimsoll/src/compact/content/code/parse.ts";
import { compressContent } from "../packages/plimsoll/src/compact/content/content.ts";
import { parseObject, stringOr } from "../packages/plimsoll/src/message/json.ts";
import {
  atLeast,
  atMost,
  type Benchmark,
  figure,
  type Outcome,
  tablesOf,
  toMarkdown,
} from "./report.ts";
import { median, percentile } from "./statistics.ts";
import type { Trace } from "./trace-wires.ts";

/** Whole repositories that someone once published, by accident or because they are built where they are installed. */
const packages = [
  "node-gyp@13.1.0",
  "skulpt@1.2.0",
  "thrift@0.9.3",
  "deltachat-node@1.138.0",
  "cordova-android@15.1.0",
  "cldr-core@48.2.0",
  "i18n-iso-countries@7.14.0",
] as const;

interface SourceKind {
  readonly name: string;
  /** Of the parser; undefined: JSON. */
  readonly grammar?: string;
  readonly matches: RegExp;
  readonly wanted: number;
  /** Another parser, for a second opinion. */
  readonly own?: OwnParser;
}

/** Of each text, whether it is read without complaint; undefined when there is no such parser here. */
type OwnParser = (texts: readonly string[]) => readonly boolean[] | undefined;

const kinds: readonly SourceKind[] = [
  {
    name: "TypeScript",
    grammar: "TypeScript",
    matches: /(?<!\.d)\.[cm]?ts$/,
    wanted: 250,
    own: readBySwc,
  },
  { name: "TypeScript declarations", grammar: "TypeScript", matches: /\.d\.[cm]?ts$/, wanted: 250 },
  {
    name: "JavaScript",
    grammar: "JavaScript",
    matches: /\.[cm]?js$/,
    wanted: 250,
    own: readBySwc,
  },
  { name: "JSON", matches: /\.json$/, wanted: 250 },
  { name: "Python", grammar: "python", matches: /\.py$/, wanted: 250, own: readByPython },
  { name: "Go", grammar: "go", matches: /\.go$/, wanted: 60 },
  { name: "Rust", grammar: "rust", matches: /\.rs$/, wanted: 60 },
  { name: "Java", grammar: "java", matches: /\.java$/, wanted: 60 },
];

const ratio = 0.5;
const size = { least: 1_000, most: 400_000 } as const;
const root = fileURLToPath(new URL("..", import.meta.url));

export const compressorsBenchmark: Benchmark = {
  name: "compressors",
  title: "Compressors: real files to half of their tokens, without weights",
  run: async ({ isQuick }) => {
    const { count } = await loadTokenizer("tiktoken:o200k_base");
    const tokens = (text: string): number => count(text).tokens;
    const files = collectFiles();
    const results = kinds.map((kind) => {
      const wanted = isQuick ? Math.ceil(kind.wanted / 10) : kind.wanted;
      return measure(kind, take(files, kind, wanted), tokens);
    });
    return outcomeOf(results);
  },
};

function collectFiles(): readonly string[] {
  const folders = [
    join(root, "node_modules"),
    join(root, "packages/plimsoll/test/wire-fixtures"),
    ...packages.map(fetchPackage),
  ];
  return folders.flatMap((folder) =>
    existsSync(folder)
      ? globSync("**/*.{ts,mts,cts,js,mjs,cjs,json,py,go,rs,java}", { cwd: folder }).map((file) =>
          join(folder, file),
        )
      : [],
  );
}

function fetchPackage(name: string): string {
  const cache = join(tmpdir(), "plimsoll-bench-sources");
  const folder = join(cache, name.replaceAll("/", "_"));
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  spawnSync("npm", ["pack", name, "--silent", "--ignore-scripts"], { cwd: fresh });
  const [archive] = readdirSync(fresh).filter((file) => file.endsWith(".tgz"));
  if (archive === undefined) {
    console.error(`${name} could not be fetched: its files are missing here.`);
    return fresh;
  }
  spawnSync("tar", ["xzf", archive], { cwd: fresh });
  renameSync(fresh, folder);
  return folder;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** In the order of a hash of their content, no content twice: the same ones in every run. */
function take(
  files: readonly string[],
  { matches, grammar }: SourceKind,
  wanted: number,
): readonly SourceFile[] {
  const byHash = new Map<string, SourceFile>();
  const isRead = (text: string): boolean => stillParses(grammar, text);
  for (const path of files.filter((file) => matches.test(file))) {
    const found = statSync(path);
    // Packages have names such as "highlight.js".
    if (!found.isFile() || found.size < size.least || found.size > size.most) continue;
    const text = readFileSync(path, "utf8");
    byHash.set(createHash("sha256").update(text).digest("hex"), { path, text });
  }
  if (grammar === "python")
    for (const file of filesInTraces())
      byHash.set(createHash("sha256").update(file.text).digest("hex"), file);
  const taken: SourceFile[] = [];
  for (const [, file] of [...byHash].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    if (taken.length >= wanted) break;
    if (isRead(file.text)) taken.push(file);
  }
  return taken;
}

/** What agents printed of Python files with `cat`. */
function filesInTraces(): readonly SourceFile[] {
  const folder = process.env["PLIMSOLL_EVAL_DATA"] ?? join(root, "../shared/data");
  const archive = join(folder, "coding_miniswe.jsonl.gz");
  if (!existsSync(archive)) return [];
  const lines = gunzipSync(readFileSync(archive)).toString().split("\n");
  return lines
    .filter((line) => line !== "")
    .flatMap((line) => {
      const { messages } = JSON.parse(line) as Trace;
      return messages.flatMap(({ content }, index) => {
        const call = messages[index - 1]?.tool_calls?.[0]?.function.arguments ?? "";
        const command = stringOr(parseObject(call)?.["command"], "");
        const path = /^(?:cd \S+ && )?cat (\S+\.py)$/.exec(command.trim())?.[1];
        const text = /<output>\n([\s\S]*)<\/output>/.exec(content ?? "")?.[1];
        return path === undefined || text === undefined || text.length < size.least
          ? []
          : [{ path, text }];
      });
    });
}

function stillParses(grammar: string | undefined, text: string): boolean {
  if (grammar === undefined) {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
  const parsed = parseCode(grammar, text);
  return parsed !== undefined && cleannessOf(parsed) === "clean";
}

interface Result {
  readonly kind: SourceKind;
  readonly files: number;
  readonly broken: readonly string[];
  /** Left as they were. */
  readonly untouched: number;
  readonly left: readonly number[];
  readonly millisecondsPerMegabyte: number;
  readonly own: string;
}

function measure(
  kind: SourceKind,
  files: readonly SourceFile[],
  count: (text: string) => number,
): Result {
  const broken: string[] = [];
  const left: number[] = [];
  const texts: string[] = [];
  let milliseconds = 0;
  let characters = 0;
  let untouched = 0;
  for (const { path, text } of files) {
    const begin = performance.now();
    const compressed = compressContent(text, { ratio, count, path });
    milliseconds += performance.now() - begin;
    characters += text.length;
    if (compressed === undefined) untouched++;
    left.push(compressed === undefined ? 1 : compressed.tokens / count(text));
    const shorter = compressed?.text ?? text;
    texts.push(shorter);
    if (!stillParses(kind.grammar, shorter)) broken.push(path);
  }
  const millisecondsPerMegabyte = (milliseconds / characters) * 1_000_000;
  const own = secondOpinion(kind, files, texts);
  return { kind, files: files.length, broken, untouched, left, millisecondsPerMegabyte, own };
}

/** Of the files that the other parser read before, how many it still reads. */
function secondOpinion(
  { own }: SourceKind,
  files: readonly SourceFile[],
  texts: readonly string[],
): string {
  const before = own?.(files.map(({ text }) => text));
  const after = own?.(texts);
  if (before === undefined || after === undefined) return "";
  const read = before.filter((is) => is).length;
  const still = before.filter((is, index) => is && after[index] === true).length;
  return `${still} of ${read}`;
}

function readBySwc(texts: readonly string[]): readonly boolean[] {
  return texts.map((text) => {
    try {
      stripTypeScriptTypes(text, { mode: "transform" });
      return true;
    } catch {
      return false;
    }
  });
}

const pythonProgram = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
def reads(text):
    try:
        ast.parse(text)
        return True
    except Exception:
        return False
print(json.dumps([reads(text) for text in json.load(sys.stdin)]))
`;

function readByPython(texts: readonly string[]): readonly boolean[] | undefined {
  const { status, stdout } = spawnSync("python3", ["-c", pythonProgram], {
    input: JSON.stringify(texts),
    maxBuffer: 64 * 1024 * 1024,
  });
  return status === 0 ? (JSON.parse(stdout.toString()) as boolean[]) : undefined;
}

function outcomeOf(results: readonly Result[]): Outcome {
  const parsing = ({ files, broken }: Result): number => (100 * (files - broken.length)) / files;
  for (const { broken } of results) for (const path of broken) console.error(`broken: ${path}`);
  return {
    tables: [
      {
        title: `Goal: ${ratio} of the tokens (o200k). Times are with counting`,
        columns: [
          "",
          "files",
          "still parse, %",
          "left, median",
          "left, 90 % of files at most",
          "left as they were",
          "ms per MB",
          "still read by another parser",
        ],
        rows: results.map((result) => [
          result.kind.name,
          String(result.files),
          figure(parsing(result)),
          figure(median(result.left)),
          figure(percentile(result.left, 0.9)),
          String(result.untouched),
          figure(result.millisecondsPerMegabyte),
          result.own,
        ]),
      },
    ],
    checks: results.flatMap((result) => [
      atLeast(`${result.kind.name}: still parse`, parsing(result), 100, "%"),
      atMost(`${result.kind.name}: left of the tokens, median`, median(result.left), 0.8, "×"),
    ]),
  };
}

if (import.meta.main) {
  const outcome = await compressorsBenchmark.run({ isQuick: process.argv.includes("--quick") });
  console.log(tablesOf(outcome).map(toMarkdown).join("\n\n"));
  const hasBroken = outcome.checks.some(({ unit, isMet }) => unit === "%" && !isMet);
  if (hasBroken) process.exitCode = 1;
}
