/** Is the client's conversation still to be had: each message whole in the request, or whole behind a handle that stands in it? */

import type { Engine } from "../../src/engine.ts";
import { readArchived } from "../../src/session/log/archive.ts";
import type { ArchiveRecord } from "../../src/store/store.ts";
import { elements, isObject, type Json, type JsonObject, type Wire } from "../harness/json.ts";
import { messageTexts } from "../harness/kept.ts";
import { elementTexts } from "../harness/raw-json.ts";

const OWN_TEXT = /^\[(?:Plimsoll: .*|… #\d+(?:–#\d+)?)\]$/s;
const HANDLE = /\bpl_[0-9A-Za-z]{22}\b/g;
const MARK_KEYS: ReadonlySet<string> = new Set(["cache_control", "prompt_cache_breakpoint"]);
const PAGES_MAX = 100_000;

/** Everything under a handle, read in pages of so many bytes. */
export async function readPages(
  engine: Engine,
  record: ArchiveRecord,
  limit: number,
): Promise<string> {
  const pages: Uint8Array[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && pages.length < PAGES_MAX) {
    const page = await readArchived(engine.store, record, { offset, limit });
    pages.push(page.content);
    offset = page.nextOffset;
  }
  return Buffer.concat(pages).toString();
}

export async function archivedText(engine: Engine, handle: string): Promise<string> {
  const record = await engine.store.archived("t", handle);
  if (record === undefined) throw new Error(`Nothing is archived under ${handle}.`);
  return readPages(engine, record, 1_000_000);
}

/** What a request still has of a conversation. */
export interface Had {
  /** Messages as they were sent, without texts of ours. */
  readonly shown: readonly string[];
  /** Messages behind the handles in texts of ours. */
  readonly archived: readonly string[];
}

export async function hadIn(engine: Engine, wire: Wire, body: string): Promise<Had> {
  const shown: string[] = [];
  const handles = new Set<string>();
  for (const text of messageTexts(wire, body)) {
    const { own, opened } = await withoutOurs(engine, text);
    if (own !== undefined) shown.push(own);
    for (const handle of opened) handles.add(handle);
  }
  const archived: string[] = [];
  for (const handle of handles) archived.push(...elementTexts(await archivedText(engine, handle)));
  return { shown, archived };
}

/** Messages of the client that are neither shown whole nor behind a handle; nothing is out of order either. */
export function lostOf({ shown, archived }: Had, messages: readonly string[]): readonly string[] {
  const behind = new Set(archived.map(plain));
  const there = shown.map(plain);
  const parts = new Set(shown.flatMap(partTexts));
  let from = 0;
  return messages.filter((message) => {
    const at = there.indexOf(plain(message), from);
    if (at >= 0) from = at + 1;
    // Two messages of the user may have become one.
    const isJoined = partTexts(message).every((part) => parts.has(part));
    return at < 0 && !behind.has(plain(message)) && !isJoined;
  });
}

function partTexts(message: string): readonly string[] {
  const { content } = JSON.parse(message) as { content?: Json };
  return partsOf(content).map((part) => JSON.stringify(withoutMarks(part)));
}

interface Taken {
  /** Handles in texts of ours. */
  readonly opened: readonly string[];
  /** What the client said; undefined when all of it is ours. */
  readonly own: string | undefined;
}

async function withoutOurs(engine: Engine, text: string): Promise<Taken> {
  const message = JSON.parse(text) as JsonObject;
  const parts = partsOf(message["content"]);
  const ours = await Promise.all(parts.map((part) => ourHandles(engine, part)));
  if (message["role"] !== "user" || ours.every((handles) => handles === undefined))
    return { opened: [], own: text };
  const content = parts.filter((_, index) => ours[index] === undefined);
  return {
    opened: ours.flatMap((handles) => handles ?? []),
    own: content.length === 0 ? undefined : JSON.stringify({ ...message, content }),
  };
}

function partsOf(content: Json | undefined): readonly Json[] {
  return typeof content === "string"
    ? [{ type: "text", text: content }]
    : (elements(content) as readonly Json[]);
}

/** The handles in a text of ours; undefined for what the client said. */
async function ourHandles(engine: Engine, part: Json): Promise<readonly string[] | undefined> {
  const text = isObject(part) ? part["text"] : undefined;
  if (typeof text !== "string" || !OWN_TEXT.test(text)) return undefined;
  const handles = text.match(HANDLE) ?? [];
  const records = await Promise.all(handles.map((handle) => engine.store.archived("t", handle)));
  return records.includes(undefined) ? undefined : handles;
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
