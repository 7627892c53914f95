/** Is the client's conversation still whole: what was cut put back where its notice stands, read from the archive. */
import { readArchived } from "../../src/session/archive.ts";
import type { Plimsoll } from "../../src/session/plimsoll.ts";
import type { ArchiveRecord } from "../../src/store/store.ts";
import { elements, isObject, type Json, type JsonObject, type Wire } from "../harness/json.ts";
import { messageTexts } from "../harness/kept.ts";
import { elementTexts } from "../harness/raw-json.ts";

const OWN_TEXT = /^\[Plimsoll: .*\]$/s;
const HANDLE = /\bpl_[0-9A-Za-z]{22}\b/;
const MARK_KEYS: ReadonlySet<string> = new Set(["cache_control", "prompt_cache_breakpoint"]);
const PAGES_MAX = 100_000;

/** Everything under a handle, read in pages of so many bytes. */
export async function readPages(
  plimsoll: Plimsoll,
  record: ArchiveRecord,
  limit: number,
): Promise<string> {
  const pages: Uint8Array[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && pages.length < PAGES_MAX) {
    const page = await readArchived(plimsoll.store, record, { offset, limit });
    pages.push(page.content);
    offset = page.nextOffset;
  }
  return Buffer.concat(pages).toString();
}

export async function archivedText(plimsoll: Plimsoll, handle: string): Promise<string> {
  const record = await plimsoll.store.archived("t", handle);
  if (record === undefined) throw new Error(`Nothing is archived under ${handle}.`);
  return readPages(plimsoll, record, 1_000_000);
}

/** A message of the client, where it was found. */
export interface Found {
  readonly text: string;
  readonly isArchived: boolean;
}

/** All messages of the client, in order: those that were sent, and those behind the notices among them. */
export async function wholeAgain(
  plimsoll: Plimsoll,
  wire: Wire,
  body: string,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const text of messageTexts(wire, body)) {
    const { before, own, after } = await withoutOurs(plimsoll, text);
    for (const handle of before) found.push(...(await cutMessages(plimsoll, handle)));
    if (own !== undefined) found.push({ text: own, isArchived: false });
    for (const handle of after) found.push(...(await cutMessages(plimsoll, handle)));
  }
  return found;
}

async function cutMessages(plimsoll: Plimsoll, handle: string): Promise<readonly Found[]> {
  const texts = elementTexts(await archivedText(plimsoll, handle));
  return texts.map((text) => ({ text, isArchived: true }));
}

interface Taken {
  /** Handles of notices at the beginning and at the end. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** What the client said; undefined when all of it is ours. */
  readonly own: string | undefined;
}

async function withoutOurs(plimsoll: Plimsoll, text: string): Promise<Taken> {
  const message = JSON.parse(text) as JsonObject;
  const parts = partsOf(message["content"]);
  const ours = await Promise.all(parts.map((part) => ourHandle(plimsoll, part)));
  if (message["role"] !== "user" || ours.every((handle) => handle === undefined))
    return { before: [], after: [], own: text };
  const first = ours.indexOf(undefined);
  const handles = (list: readonly (string | undefined)[]): readonly string[] =>
    list.filter((handle) => handle !== undefined && handle !== "") as readonly string[];
  if (first < 0) return { before: handles(ours), after: [], own: undefined };
  const last = ours.lastIndexOf(undefined);
  const content = parts.slice(first, last + 1);
  return {
    before: handles(ours.slice(0, first)),
    after: handles(ours.slice(last + 1)),
    own: JSON.stringify({ ...message, content }),
  };
}

function partsOf(content: Json | undefined): readonly Json[] {
  return typeof content === "string"
    ? [{ type: "text", text: content }]
    : (elements(content) as readonly Json[]);
}

/** The handle in a text of ours, "" where it has none; undefined for what the client said. */
async function ourHandle(plimsoll: Plimsoll, part: Json): Promise<string | undefined> {
  const text = isObject(part) ? part["text"] : undefined;
  if (typeof text !== "string" || !OWN_TEXT.test(text)) return undefined;
  const handle = HANDLE.exec(text)?.[0] ?? "";
  const isForged = handle !== "" && (await plimsoll.store.archived("t", handle)) === undefined;
  return isForged ? undefined : handle;
}

/** The same for two spellings that differ only in cache marks and in the wrapper around a text. */
export function plain(text: string): string {
  return JSON.stringify(withoutMarks(JSON.parse(text) as Json));
}

function withoutMarks(value: Json): Json {
  if (Array.isArray(value)) {
    const items: readonly Json[] = value.map(withoutMarks);
    return unwrapped(items) ?? items;
  }
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([key]) => !MARK_KEYS.has(key));
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutMarks(field ?? null)]));
}

function unwrapped(items: readonly Json[]): string | undefined {
  const only = items.length === 1 ? items[0] : undefined;
  if (!isObject(only) || Object.keys(only).join() !== "type,text") return undefined;
  const isText = only["type"] === "text" || only["type"] === "input_text";
  return isText && typeof only["text"] === "string" ? only["text"] : undefined;
}
