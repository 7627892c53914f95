/** Returns the requested page of a stored content. Read in order, all pages together are the content, byte for byte. */

import { grouped } from "../text/digits.ts";
import { pageTexts } from "../text/for-models.ts";
import { readJsonPath, selectJson } from "./json-path.ts";
import type { LineRange } from "./own-arguments.ts";
import {
  type Chosen,
  type MatchLines,
  type Page,
  type PageRoom,
  readMatches,
} from "./read-matches.ts";
import {
  countFeeds,
  countLines,
  endOfCharacter,
  lineEnd,
  oneLine,
  startOfCharacter,
  textBetween,
} from "./text-bytes.ts";

/** The content as UTF-8 bytes. It is not copied before it is read, because it may have 50 MB. */
export interface PageContent {
  /** The name that the model used: `pl_…` or `#12`. */
  readonly name: string;
  /** A short description of the content. */
  readonly what?: string;
  readonly bytes: Uint8Array;
}

export interface PageRequest {
  readonly offset?: number;
  readonly limit?: number;
  readonly grep?: string;
  readonly lines?: LineRange;
  readonly json?: string;
}

const limitBytes = { usual: 16_384, max: 262_144 };

/** Contract: `bytes` are UTF-8. A page begins and ends between characters, and takes at most the tokens of `room`. */
export async function readPage(
  content: PageContent,
  request: PageRequest,
  room: PageRoom,
  matchLines: MatchLines,
): Promise<Page> {
  const chosen = choose(content, request);
  if (chosen.kind === "refused") return chosen;
  const limit = Math.min(request.limit ?? limitBytes.usual, limitBytes.max);
  const offset = request.offset ?? 0;
  const size = chosen.bytes.length;
  // If there is a pattern, the offset may be the end of the content, because a pattern can match there.
  const isPast = request.grep === undefined ? offset >= size : offset > size;
  if (offset > 0 && isPast)
    return refused(pageTexts.offsetPastEnd(chosen.title, offset, grouped(size)));
  if (request.grep !== undefined)
    return readMatches(chosen, { pattern: request.grep, offset, limit }, room, matchLines);
  return plainPage(chosen, offset, limit, room);
}

type Refused = Extract<Page, { kind: "refused" }>;
type Choice = Chosen | Refused;

function refused(text: string): Refused {
  return { kind: "refused", text };
}

/** Selects the requested JSON value, and then the requested lines of that value. */
function choose(content: PageContent, { json, lines }: PageRequest): Choice {
  const { name, what, bytes } = content;
  const title = what === undefined ? name : `${name}, ${oneLine(what, 80)}`;
  const value = json === undefined ? { title, bytes } : chooseValue(title, bytes, json);
  if ("kind" in value) return value;
  return lines === undefined
    ? { kind: "chosen", ...value, firstLine: 1 }
    : chooseLines(value.title, value.bytes, lines);
}

function chooseValue(
  title: string,
  bytes: Uint8Array,
  path: string,
): { readonly title: string; readonly bytes: Uint8Array } | Refused {
  const found = selectJson(bytes, readJsonPath(path) ?? []);
  if (found.kind === "absent") return refused(`[${title}: ${oneLine(found.sentence, 1000)}]`);
  const value = bytes.subarray(found.start, found.end);
  return { title: `${title}, ${oneLine(path, 80)}`, bytes: plainValue(value) };
}

const quote = 0x22;

/**
 * If the value is a JSON string, returns its text, so that the model can select and search its lines. A string with a lone
 * surrogate stays JSON.
 */
function plainValue(value: Uint8Array): Uint8Array {
  if (value[0] !== quote) return value;
  try {
    const text = JSON.parse(textBetween(value, 0, value.length)) as string;
    return text.isWellFormed() ? new TextEncoder().encode(text) : value;
  } catch {
    return value;
  }
}

function chooseLines(title: string, bytes: Uint8Array, { first, last }: LineRange): Choice {
  let start = 0;
  for (let line = 1; line < first && start < bytes.length; line++)
    start = Math.min(bytes.length, lineEnd(bytes, start) + 1);
  if (start >= bytes.length)
    return refused(pageTexts.linePastEnd(title, first, grouped(countLines(bytes))));
  let end = lineEnd(bytes, start);
  let line = first;
  for (; line < last && end + 1 < bytes.length; line++) end = lineEnd(bytes, end + 1);
  const total = line + countFeeds(bytes, end, Math.max(end, bytes.length - 1));
  const range = line === first ? `line ${first}` : `lines ${first}–${line}`;
  return {
    kind: "chosen",
    title: `${title}, ${range} of ${grouped(total)}`,
    bytes: bytes.subarray(start, end),
    firstLine: first,
  };
}

/**
 * Upper bound for the bytes per token of a long text. If a page has more bytes than this allows, it cannot fit and is not
 * counted.
 */
const tokenBytesMax = 16;
/** Maximum number of attempts to make the page fit. Each attempt makes the page at least a tenth smaller. */
const stepsMax = 100;

function plainPage({ title, bytes }: Chosen, offset: number, limit: number, room: PageRoom): Page {
  if (bytes.length === 0) return { kind: "page", text: pageTexts.empty(title) };
  const start = startOfCharacter(bytes, offset);
  let most = Math.min(limit, room.tokens * tokenBytesMax);
  for (let step = 0; step < stepsMax; step++) {
    const end = pageEnd(bytes, start, most);
    const text = `${header(title, bytes.length, start, end)}\n${textBetween(bytes, start, end)}`;
    const tokens = room.count(text);
    if (tokens <= room.tokens) return { kind: "page", text };
    if (end - start <= 4) break;
    most = Math.floor((end - start) * Math.min(0.9, (0.97 * room.tokens) / tokens));
  }
  return refused(pageTexts.noRoom(title));
}

/** The end of the page. A page has at least one character, because otherwise the model would ask for the same page forever. */
function pageEnd(bytes: Uint8Array, start: number, most: number): number {
  const end = startOfCharacter(bytes, start + most);
  return end > start ? end : endOfCharacter(bytes, start + 1);
}

function header(title: string, size: number, start: number, end: number): string {
  if (start === 0 && end === size) return pageTexts.whole(title, grouped(size));
  const range = `${grouped(start)}–${grouped(end)}`;
  return pageTexts.part(title, range, grouped(size), end < size ? end : undefined);
}
