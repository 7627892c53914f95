/**
 * Shortens prose: keeps headings, the first sentence of each paragraph, and sentences that matter. Fenced code is shortened as
 * code.
 */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import { sentencesIn } from "../../../text/sentences.ts";
import { alarmOf } from "../../../text/trouble.ts";
import {
  attempt,
  type CompressInner,
  type Compressor,
  type CutOptions,
  type Sample,
} from "../cut/compressor.ts";
import { weightFactor, weightsOf } from "../cut/lines.ts";
import { type Gap, matters, type Piece } from "../cut/piece.ts";
import { cutPieces } from "../cut/pieces.ts";
import { segmentsOf } from "../cut/segments.ts";

export const proseCompressor: Compressor = {
  kind: "prose",
  detects: ({ lines }) => hasSentences(lines),
  compress: (text, options, inner) => attempt(compressProse(text, options, inner)),
};

/** Files with a document extension are treated as prose, whatever their lines look like. */
export const documentCompressor: Compressor = {
  ...proseCompressor,
  detects: ({ ending }) => ending === "md" || ending === "markdown" || ending === "rst",
};

const words =
  /^(?:[^\p{L}]{0,12}[\p{L}'’-]+[^\p{L}\s]{0,3}(?:\s|$)){5}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{6}/u;

/** True if at least half of the text is in lines that begin with several words in a row, or in a script without spaces. */
function hasSentences(lines: Sample["lines"]): boolean {
  let all = 0;
  let proseChars = 0;
  for (const line of lines) {
    all += line.length;
    if (words.test(line.slice(0, 200).trimStart())) proseChars += line.length;
  }
  return proseChars > all * 0.5;
}

interface Sentence {
  readonly text: string;
  readonly score: number;
  /** A heading, or the first of several sentences in a paragraph. */
  readonly isLead: boolean;
}

function compressProse(
  text: string,
  options: CutOptions,
  inner: CompressInner,
): string | undefined {
  const sentences = sentencesOf(text, options, inner);
  const texts = sentences.map((sentence) => sentence.text);
  const weights = weightsOf(texts, options);
  const pieces: readonly Piece[] = sentences.map(({ text: sentence, score, isLead }, index) => {
    const weight = weightFactor * (weights[index] ?? 0);
    const isEnd = index === 0 || index === sentences.length - 1;
    return { text: sentence, score: score + weight, isKey: isLead || isEnd || weight >= matters };
  });
  const joined = texts.join("");
  if (joined.length === text.length) return cutPieces(pieces, options, (gap) => mark(gap, texts));
  // Compressing the fenced code already saved some tokens, so the prose has to save less.
  const goal = options.count(text) * options.ratio;
  const tokens = options.count(joined);
  if (tokens <= goal) return joined;
  const rest = { ...options, ratio: goal / tokens };
  return cutPieces(pieces, rest, (gap) => mark(gap, texts)) ?? joined;
}

function mark({ first, last }: Gap, texts: readonly string[]): string {
  const taken = texts.slice(first, last + 1);
  const lines = taken.reduce((sum, text) => sum + (text.match(/\n/g)?.length ?? 0), 0);
  const isByLines = lines > taken.length * 2;
  const count = isByLines ? lines : taken.length;
  const unit = `${isByLines ? "line" : "sentence"}${count === 1 ? "" : "s"}`;
  const end = /\s*$/.exec((texts[last] ?? "").slice(-40))?.[0] ?? "";
  const space = end === "" && last < texts.length - 1 ? " " : end;
  const isGlued = first > 0 && /\S$/.test(texts[first - 1] ?? "");
  return `${isGlued ? " " : ""}${cutTexts.gap(`${grouped(count)} ${unit}`)}${space}`;
}

interface Fence {
  readonly start: number;
  readonly end: number;
  readonly language: string;
}

/** Finds fenced blocks. A fence that is never closed is ignored. */
function fencesOf(text: string): readonly Fence[] {
  const fences: Fence[] = [];
  let open:
    | { readonly start: number; readonly sign: string; readonly language: string }
    | undefined;
  for (const { index, 0: line, 1: sign = "", 2: info = "" } of text.matchAll(
    /^[ \t]*(`{3,}|~{3,})([^\n]*)$/gm,
  )) {
    if (open === undefined) {
      open = { start: index, sign, language: info.trim().split(/\s/)[0] ?? "" };
    } else if (sign.startsWith(open.sign) && info.trim() === "") {
      fences.push({ start: open.start, end: index + line.length, language: open.language });
      open = undefined;
    }
  }
  return fences;
}

function sentencesOf(text: string, options: CutOptions, inner: CompressInner): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let paragraph = 0;
  const addProse = (prose: string): void => {
    for (const part of paragraphsOf(prose)) {
      paragraph++;
      const split = splitParagraph(part);
      for (const [index, sentence] of split.entries()) {
        const isLead = index === 0 && (split.length > 1 || heading.test(sentence));
        sentences.push({ text: sentence, score: scoreOf(sentence, index, paragraph), isLead });
      }
    }
  };
  let start = 0;
  for (const fence of fencesOf(text)) {
    addProse(text.slice(start, fence.start));
    paragraph++;
    const named = { ...options, path: `fence.${fence.language}` };
    const block = text.slice(fence.start, fence.end);
    sentences.push({ text: shortenFence(block, named, inner), score: 1, isLead: false });
    start = fence.end;
  }
  addProse(text.slice(start));
  return sentences;
}

function shortenFence(block: string, options: CutOptions, inner: CompressInner): string {
  const from = block.indexOf("\n") + 1;
  const to = block.lastIndexOf("\n") + 1;
  if (to <= from) return block;
  const shorter = inner(block.slice(from, to), options);
  if (shorter === undefined) return block;
  const end = shorter.endsWith("\n") ? "" : "\n";
  return block.slice(0, from) + shorter + end + block.slice(to);
}

const paragraphEnd = /\n[ \t\r]*\n\s*|\n(?=[ \t]*(?:[-*+•] |#{1,6} |\d{1,3}[.)] |[|>]))/g;
/** If the lines have at least this many characters on average, the text is not wrapped, so each line is a paragraph. */
const unwrappedChars = 110;

function* paragraphsOf(text: string): Generator<string> {
  let start = 0;
  for (const { index, 0: end } of text.matchAll(paragraphEnd)) {
    yield* unwrapped(text.slice(start, index + end.length));
    start = index + end.length;
  }
  if (start < text.length) yield* unwrapped(text.slice(start));
}

function* unwrapped(paragraph: string): Generator<string> {
  const breaks = [...paragraph.matchAll(/\n(?=\S)/g)].map(({ index }) => index + 1);
  const isWrapped = breaks.length === 0 || paragraph.length / (breaks.length + 1) < unwrappedChars;
  if (isWrapped) {
    yield paragraph;
    return;
  }
  let start = 0;
  for (const end of [...breaks, paragraph.length]) {
    if (end > start) yield paragraph.slice(start, end);
    start = end;
  }
}

const maxSentenceChars = 800;

function splitParagraph(paragraph: string): readonly string[] {
  return sentencesIn(paragraph).flatMap((sentence) =>
    sentence.length > maxSentenceChars ? [...segmentsOf(sentence)] : [sentence],
  );
}

const decided =
  /\b(?:must|never|always|decided|because|therefore|however|important|note|should|need|require[ds]?|result|conclu\w+|instead|only|do not|don't)\b/i;
const exact = /\d|`[^`]+`|\w\/\w|\w\.\w{2,4}\b|\w_\w|[a-z][A-Z]/;

const heading = /^\s*#{1,6} |^[^.!?]{3,80}:\s*$/;

function scoreOf(sentence: string, index: number, paragraph: number): number {
  if (sentence.trim() === "") return 0;
  const isHeading = heading.test(sentence);
  const lead = index === 0 ? (paragraph === 1 ? 3 : 1) : 0;
  const words = (decided.test(sentence) ? 0.5 : 0) + (exact.test(sentence) ? 0.4 : 0);
  return lead + (isHeading ? 2 : 0) + words + alarmOf(sentence) / 4;
}
