/** Shorter versions of a result, other than a reference: its first and last lines, or the lines that stand out. */

import { detectType } from "../message/unit.ts";
import { grouped } from "../text/digits.ts";
import { markTexts } from "../text/for-models.ts";
import { utf8Bytes, withoutOurMarks } from "./reference-text.ts";
import {
  countFeeds,
  endOfCharacter,
  lineStart,
  startOfCharacter,
  textBetween,
} from "./text-bytes.ts";

/** The values of `tool_output_mode` in the configuration. */
export type OutputMode = "auto" | "read-grep" | "truncate" | "full-chunked";

export interface ModeChoice {
  readonly mode: OutputMode;
  readonly text: string;
  /** Whether the model can call the tool that reads results. */
  readonly canRead: boolean;
  /** Whether there is a model that can write extracts. */
  readonly hasModel: boolean;
}

export function chooseMode(choice: ModeChoice): Exclude<OutputMode, "auto"> {
  const { mode, text, canRead, hasModel } = choice;
  // A reference alone would tell a model nothing that cannot read what is behind it.
  if (mode === "read-grep" && !canRead) return "truncate";
  if (mode !== "auto") return mode;
  if (hasModel && isReading(text)) return "full-chunked";
  return canRead ? "read-grep" : "truncate";
}

/** Whether the text is prose or a log, which a model can shorten. In data and code, any byte may matter. */
function isReading(text: string): boolean {
  if (/^\s*[[{<]/.test(text)) return false;
  const type = detectType(text);
  return type === "log" || type === "message" || type === "plan_ref";
}

const encoder = new TextEncoder();
/** Share of the room that the beginning of the text gets. The end gets the remaining room. */
const headShare = 0.6;
/** Upper bound for the length of the mark in the middle. */
const markerBytes = 64;
export const leastTruncated = 256;

/**
 * The first and the last lines, with a mark between them. Contract: the result has at most `mostBytes` bytes of UTF-8, or
 * `leastTruncated` bytes if that is more. The text is cut between lines. If a line is too long for that, it is cut between
 * characters.
 */
export function truncateText(text: string, mostBytes: number): string {
  const bytes = encoder.encode(text);
  const most = Math.max(leastTruncated, mostBytes);
  if (bytes.length <= most) return withoutOurMarks(text);
  const room = most - markerBytes;
  const head = headEnd(bytes, Math.floor(room * headShare));
  const tail = tailStart(bytes, bytes.length - (room - head));
  const lines = countFeeds(bytes, head, tail);
  const gone = [
    ...(lines === 0 ? [] : [lines === 1 ? "1 line" : `${grouped(lines)} lines`]),
    `${grouped(tail - head)} bytes`,
  ].join(", ");
  const [first, last] = [textBetween(bytes, 0, head), textBetween(bytes, tail, bytes.length)];
  return [
    withoutOurMarks(first.replace(/\n$/, "")),
    markTexts.leftOut(gone),
    withoutOurMarks(last),
  ].join("\n");
}

/** The end of the first lines. It is after a line feed, unless that would leave half of the room unused. */
function headEnd(bytes: Uint8Array, most: number): number {
  const start = lineStart(bytes, most);
  return start > most / 2 ? start : startOfCharacter(bytes, most);
}

function tailStart(bytes: Uint8Array, least: number): number {
  const feed = bytes.indexOf(0x0a, Math.max(0, least - 1));
  const isNear = feed >= 0 && feed + 1 < bytes.length - (bytes.length - least) / 2;
  return isNear ? feed + 1 : endOfCharacter(bytes, least);
}

export interface Extraction {
  /** Maximum number of bytes of the whole extract. */
  readonly mostBytes: number;
  /** A score for how much a line stands out. The score is 0 for most lines. */
  readonly standsOut: (line: string) => number;
  /** Asks a model for an extract of a chunk. Resolves to undefined if the model found nothing to extract. */
  readonly byModel?: (chunk: string, mostBytes: number) => Promise<string | undefined>;
}

/** Size of a chunk, and the maximum number of chunks. If there would be more chunks, they are larger instead. */
const chunking = { bytes: 32 * 1024, most: 16 };
/** Maximum number of chunks that a model reads. The chunks whose lines stand out most are chosen. */
const askedMost = 8;

/** Joins the important lines of all chunks. Contract: the result has at most `mostBytes`, as in `truncateText`. Never rejects. */
export async function extractText(text: string, extraction: Extraction): Promise<string> {
  const chunks = chunksOf(text);
  const asked = toAsk(chunks, extraction);
  const share = Math.floor(extraction.mostBytes / chunks.length);
  const written = await Promise.all(
    chunks.map((chunk, index) =>
      asked.has(index) ? byModel(chunk, share, extraction) : Promise.resolve(undefined),
    ),
  );
  let left = extraction.mostBytes;
  const extracts = chunks.map((chunk, index) => {
    const room = Math.floor(left / (chunks.length - index));
    const extract = written[index] ?? standingOut(chunk, room, extraction.standsOut);
    left -= utf8Bytes(extract) + 1;
    return extract;
  });
  return truncateText(
    extracts.filter((extract) => extract !== "").join("\n"),
    extraction.mostBytes,
  );
}

/** The model's extract of a chunk. Undefined if the extract is empty or not shorter than the chunk. */
async function byModel(
  chunk: string,
  share: number,
  { byModel: ask }: Extraction,
): Promise<string | undefined> {
  try {
    const text = withoutOurMarks((await ask?.(chunk, share)) ?? "").trim();
    const isLess = text !== "" && utf8Bytes(text) < utf8Bytes(chunk);
    return isLess ? truncateText(text, share) : undefined;
  } catch {
    return undefined;
  }
}

function toAsk(chunks: readonly string[], { byModel: ask, standsOut }: Extraction): Set<number> {
  if (ask === undefined) return new Set();
  const ranked = [...chunks.keys()]
    .filter((index) => utf8Bytes(chunks[index] ?? "") <= chunking.bytes)
    .map((index) => ({
      index,
      worth: (chunks[index] ?? "").split("\n").reduce((sum, line) => sum + standsOut(line), 0),
    }))
    .toSorted((one, other) => other.worth - one.worth || one.index - other.index);
  return new Set(ranked.slice(0, askedMost).map(({ index }) => index));
}

function chunksOf(text: string): readonly string[] {
  const bytes = encoder.encode(text);
  const size = Math.max(chunking.bytes, Math.ceil(bytes.length / chunking.most));
  const chunks: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + size >= bytes.length ? bytes.length : chunkEnd(bytes, at, at + size);
    chunks.push(textBetween(bytes, at, end));
    at = end;
  }
  return chunks.length === 0 ? [""] : chunks;
}

function chunkEnd(bytes: Uint8Array, from: number, most: number): number {
  const start = lineStart(bytes, most);
  return start > from ? start : startOfCharacter(bytes, most);
}

const longestLine = 300;
/** The first and last lines of a chunk are worth a little more than others, because they show what the chunk is about. */
const edge = { lines: 2, worth: 1 };

/** The lines that stand out, in order. If several lines differ only in their numbers, only the first of them is shown. */
function standingOut(chunk: string, mostBytes: number, standsOut: Extraction["standsOut"]): string {
  const lines = chunk.split("\n").map((line) => line.trimEnd());
  const known = new Set<string>();
  const candidates = lines.flatMap((line, index) => {
    const preview =
      line.length > longestLine
        ? `${line.slice(0, longestLine).replace(/[\uD800-\uDBFF]$/, "")}…`
        : line;
    const kind = preview.replace(/\d+/g, "0");
    if (preview.trim() === "" || known.has(kind)) return [];
    known.add(kind);
    const isEdge = index < edge.lines || index >= lines.length - edge.lines;
    return [{ index, preview, worth: standsOut(preview) + (isEdge ? edge.worth : 0) }];
  });
  const taken = candidates
    .filter(({ worth }) => worth > 0)
    .toSorted((one, other) => other.worth - one.worth || one.index - other.index)
    .filter(fitting(mostBytes))
    .toSorted((one, other) => one.index - other.index);
  return taken
    .map(({ index, preview }, at) => {
      const isNext = at === 0 ? index === 0 : taken[at - 1]?.index === index - 1;
      return isNext ? withoutOurMarks(preview) : `…\n${withoutOurMarks(preview)}`;
    })
    .join("\n");
}

/** Number of bytes that a line takes in addition to its text, for its line feed and for the `…` line before it. */
const gapBytes = 5;

function fitting(mostBytes: number): (line: { readonly preview: string }) => boolean {
  let left = mostBytes;
  return ({ preview }) => {
    const cost = utf8Bytes(preview) + gapBytes;
    if (cost > left) return false;
    left -= cost;
    return true;
  };
}
