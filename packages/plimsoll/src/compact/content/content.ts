/**
 * Shortens old texts of a conversation according to their kind. The archive keeps the whole text, so the short version only has
 * to say truthfully what the text contained.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { alarmOf } from "../../text/trouble.ts";
import { codeCompressor, namedCodeCompressor } from "./code/code.ts";
import type {
  CompressInner,
  Compressor,
  ContentKind,
  CutOptions,
  Sample,
} from "./cut/compressor.ts";
import { cutLines } from "./cut/lines.ts";
import { jsonCompressor } from "./json/json.ts";
import { base64Compressor } from "./kinds/base64.ts";
import { diffCompressor } from "./kinds/diff.ts";
import { htmlCompressor } from "./kinds/html.ts";
import { logCompressor } from "./kinds/log.ts";
import { documentCompressor, proseCompressor } from "./kinds/prose.ts";
import { searchCompressor } from "./kinds/search-results.ts";
import { traceCompressor } from "./kinds/stack-trace.ts";
import { tableCompressor } from "./kinds/table.ts";
import { testCompressor } from "./kinds/test-output.ts";

export type { ContentKind, CutOptions } from "./cut/compressor.ts";

export interface Compressed {
  readonly kind: ContentKind;
  readonly text: string;
  readonly tokens: number;
}

/**
 * The compressors, in the order in which they are tried. The first compressor that recognises a text shortens it. If it then
 * finds that the text is of another kind, the next compressor that recognises the text is tried.
 */
const compressors: readonly Compressor[] = [
  namedCodeCompressor,
  documentCompressor,
  base64Compressor,
  jsonCompressor,
  diffCompressor,
  htmlCompressor,
  testCompressor,
  traceCompressor,
  searchCompressor,
  codeCompressor,
  tableCompressor,
  logCompressor,
  proseCompressor,
];

/** A guess that only affects compression. Contract: never throws, and looks only at a sample of bounded size. */
export function detectContent(text: string, path?: string): ContentKind {
  return recognising(mainBody(text), path)[0]?.kind ?? "prose";
}

/**
 * Returns undefined if there is no useful shorter version. Contract: the same text and options give the same result. The result
 * is never longer than the text, in tokens or in characters.
 */
export function compressContent(text: string, options: CutOptions): Compressed | undefined {
  return compressNested(text, { ...options, count: remembering(options.count) }, 0);
}

/** Remembers the token counts of long texts, because each is needed several times. */
function remembering(count: CutOptions["count"]): CutOptions["count"] {
  const known = new BoundedMap<string, number>({ entries: maxRemembered });
  return (text) => {
    if (text.length < longChars) return count(text);
    return known.get(text) ?? known.set(text, count(text));
  };
}

const longChars = 1_000;
const maxRemembered = 16;

/** Maximum depth of nested texts that are compressed. A text directly inside the whole text has depth 1. */
const maxNesting = 2;

function compressNested(
  text: string,
  options: CutOptions,
  nesting: number,
): Compressed | undefined {
  const before = options.count(text);
  if (before < leastTokens) return undefined;
  const sections = sectionsOf(text);
  const bodies = sections.filter(({ kind }) => kind === "body");
  const inside = bodies.reduce((sum, body) => sum + options.count(body.text), 0);
  const around = before - inside;
  const ratio = Math.max(leastRatio, (before * options.ratio - around) / Math.max(1, inside));
  const bodyOptions = { ...options, ratio: Math.min(1, ratio) };
  const result = sections
    .map((section) =>
      section.kind === "tags"
        ? section.text
        : (compressBody(section.text, bodyOptions, nesting) ?? section.text),
    )
    .join("");
  const tokens = options.count(result);
  const isShorter = tokens < before && result.length <= text.length;
  return isShorter ? { kind: detectContent(text, options.path), text: result, tokens } : undefined;
}

const leastRatio = 0.05;

function compressBody(text: string, options: CutOptions, nesting: number): string | undefined {
  const before = options.count(text);
  if (before < leastTokens) return undefined;
  const inner: CompressInner = (innerText, innerOptions) => {
    if (nesting >= maxNesting) return undefined;
    // The name of the file does not apply to a text inside the file.
    const { path, ...unnamed } = innerOptions;
    const named = path === options.path ? unnamed : innerOptions;
    return compressNested(innerText, named, nesting + 1)?.text;
  };
  const shorter = tryAll(recognising(text, options.path), text, options, inner);
  const isShorter = shorter !== undefined && options.count(shorter) < before;
  return isShorter ? shorter : undefined;
}

/** A text of fewer tokens than this cannot get shorter, because the mark for a gap costs tokens too. */
const leastTokens = 24;

function classifyAnything(lines: readonly string[]): {
  scores: number[];
  keys: ReadonlySet<number>;
} {
  return { scores: lines.map(alarmOf), keys: new Set([0, lines.length - 1]) };
}

function tryAll(
  recognised: readonly Compressor[],
  text: string,
  options: CutOptions,
  inner: CompressInner,
): string | undefined {
  for (const compressor of recognised) {
    const tried = compressor.compress(text, options, inner);
    if (tried.kind === "cut") return tried.text;
    if (tried.kind === "whole") return undefined;
  }
  return cutLines(text, options, classifyAnything);
}

function recognising(text: string, path: string | undefined): readonly Compressor[] {
  const sample = sampleOf(text, path);
  return compressors.filter((compressor) => compressor.detects(sample));
}

const headChars = 16_384;
const partChars = 8_192;
const maxLines = 600;
const maxLineChars = 400;

function sampleOf(text: string, path: string | undefined): Sample {
  const head = text.slice(0, headChars);
  const tail = text.slice(-partChars).trimEnd();
  const middle = text.length >> 1;
  const isLong = text.length > headChars + partChars;
  const part = isLong ? text.slice(middle, middle + partChars) : text.slice(headChars);
  // The sample from the middle begins and ends in the middle of a line.
  const lines = [
    ...wholeLines(head, text.length > headChars),
    ...wholeLines(part, isLong).slice(isLong ? 1 : 0),
  ];
  const ending = /\.([\w+]{1,12})$/.exec(path ?? "")?.[1]?.toLowerCase();
  return {
    head: head.trimStart(),
    tail,
    lines: lines
      .filter((line) => line.trim() !== "")
      .slice(0, maxLines)
      .map((line) => line.slice(0, maxLineChars)),
    ...(ending === undefined ? {} : { ending }),
  };
}

function wholeLines(text: string, isCut: boolean): readonly string[] {
  const lines = text.split(/\r?\n/);
  return isCut && lines.length > 1 ? lines.slice(0, -1) : lines;
}

interface Section {
  readonly kind: "tags" | "body";
  readonly text: string;
}

const tagLine =
  /^(?:<\/?[\w-]{1,40}(?: [^<>]{0,200})?>(?:[^<>]{0,80}<\/[\w-]{1,40}>)?[ \t\r]*){1,4}$/;
const pageStart = /^\s*<(?:!doctype|html|head|body|\?xml|div|p|table|ul|svg)\b/i;
const maxTagLines = 12;
const maxTagLineChars = 400;

/** Separates an output from the tags that agents put around it, such as `<returncode>0</returncode>` and `<output>`. */
function sectionsOf(text: string): readonly Section[] {
  const one: readonly Section[] = [{ kind: "body", text }];
  if (!text.startsWith("<") || pageStart.test(text.slice(0, 200))) return one;
  const sections: { kind: Section["kind"]; text: string }[] = [];
  let tagLines = 0;
  let from = 0;
  const push = (kind: Section["kind"], part: string): void => {
    if (part === "") return;
    const last = sections.at(-1);
    if (last?.kind === kind) last.text += part;
    else sections.push({ kind, text: part });
  };
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline + 1;
    const isTags =
      text[start] === "<" &&
      end - start <= maxTagLineChars &&
      tagLine.test(text.slice(start, newline < 0 ? end : newline));
    if (isTags) {
      push("body", text.slice(from, start));
      push("tags", text.slice(start, end));
      from = end;
      tagLines++;
      if (tagLines > maxTagLines) return one;
    } else if (start === 0) return one;
    start = end;
  }
  push("body", text.slice(from));
  return sections;
}

function mainBody(text: string): string {
  const bodies = sectionsOf(text).filter(({ kind }) => kind === "body");
  return bodies.reduce((most, { text: body }) => (body.length > most.length ? body : most), "");
}
