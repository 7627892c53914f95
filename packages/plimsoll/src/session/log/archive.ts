/** Reads content that has left the window. The log still has all of it. */

import type { ArchiveRecord, Store } from "../../store/store.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { PartPlace, Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

export interface ArchivePage {
  readonly handle: string;
  readonly bytes: number;
  readonly offset: number;
  readonly content: Uint8Array;
  readonly nextOffset?: number;
}

/**
 * The part of a message that a replacement removes. If the part is a text, it is returned as plain text. Anything else is
 * returned as its original JSON. Undefined if the part cannot be replaced.
 */
export function partContent(
  wire: Wire,
  message: Uint8Array,
  place: PartPlace,
): Uint8Array | undefined {
  const splice = wire.edit.replacePart(message, place, "");
  if (splice === undefined) return undefined;
  const json = parseJson(message, splice);
  // UTF-8 cannot encode a lone surrogate, so a string that contains one is returned as JSON.
  return typeof json === "string" && json.isWellFormed()
    ? new TextEncoder().encode(json)
    : message.subarray(splice.start, splice.end);
}

/**
 * Reads a page of archived content. Contract: a page contains only whole characters, and is empty only at the end of the content.
 */
export async function readArchived(
  store: Store,
  record: ArchiveRecord,
  page: { readonly offset: number; readonly limit: number },
): Promise<ArchivePage> {
  const { source, handle } = record;
  if (source.kind === "part") {
    const content = await readPart(store, record, source);
    return cut(handle, content, { ...page, start: 0, bytes: content.length });
  }
  return readMessages(store, record, source.runs, page);
}

async function readPart(
  store: Store,
  { session }: ArchiveRecord,
  { seq, part, inner }: { readonly seq: number; readonly part: number; readonly inner?: number },
): Promise<Uint8Array> {
  const spelling = (await store.clientSpellings(session, [seq])).get(seq);
  const body = spelling ?? (await store.bodies(session, [seq])).get(seq) ?? new Uint8Array();
  const name = (await store.session(session))?.wire ?? "";
  const wire = Object.values(wires).find((known) => known.name === name);
  const place = { part, ...(inner === undefined ? {} : { inner }) };
  return (wire && partContent(wire, body, place)) ?? body;
}

/**
 * Reads a message by its number from the session of the handle. The number comes from a mark in the view. The message itself may
 * still be visible later in the view. Undefined if there is no such message.
 */
export async function readArchivedMessage(
  store: Store,
  { session }: ArchiveRecord,
  number: number,
): Promise<Uint8Array | undefined> {
  const spelling = (await store.clientSpellings(session, [number])).get(number);
  return spelling ?? (await store.bodies(session, [number])).get(number);
}

type Runs = readonly (readonly [first: number, last: number, bytes: number])[];

/** Reads a page of these runs as a JSON array of messages. Loads only the runs that overlap the page. */
async function readMessages(
  store: Store,
  { handle, session, bytes }: ArchiveRecord,
  runs: Runs,
  page: { readonly offset: number; readonly limit: number },
): Promise<ArchivePage> {
  const pieces: Uint8Array[] = [];
  let start = 0;
  let position = 0;
  for (const run of runs) {
    const [first, last, size] = run;
    // One byte precedes each message: the opening bracket, or a comma.
    const end = position + size + (last - first + 1);
    // Four more bytes are read on each side, because a page must contain whole characters.
    const isTouched = end + 4 > page.offset && position < page.offset + page.limit + 4;
    if (isTouched) {
      if (pieces.length === 0) start = position;
      pieces.push(...(await readRun(store, session, run, position === 0 ? "[" : ",")));
    }
    position = end;
  }
  if (position + 1 > page.offset) pieces.push(Buffer.from("]"));
  return cut(handle, Buffer.concat(pieces), { ...page, start, bytes });
}

/**
 * The messages of a run, each with its bracket or comma. If the client's spelling of a message is stored, that spelling is used,
 * because it is what the request contained.
 */
async function readRun(
  store: Store,
  session: string,
  [first, last]: Runs[number],
  opening: string,
): Promise<readonly Uint8Array[]> {
  const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const bodies = await store.bodies(session, seqs);
  const clientSpellings = await store.clientSpellings(session, seqs);
  return seqs.flatMap((seq, index) => [
    Buffer.from(index === 0 ? opening : ","),
    clientSpellings.get(seq) ?? bodies.get(seq) ?? new Uint8Array(),
  ]);
}

function cut(
  handle: string,
  content: Uint8Array,
  at: {
    readonly offset: number;
    readonly limit: number;
    readonly start: number;
    readonly bytes: number;
  },
): ArchivePage {
  if (at.offset >= at.bytes)
    return { handle, bytes: at.bytes, offset: at.offset, content: new Uint8Array() };
  const from = startOfCharacter(content, at.offset - at.start);
  const to = startOfCharacter(content, Math.min(content.length, from + at.limit));
  const nextOffset = at.start + to;
  return {
    handle,
    bytes: at.bytes,
    offset: at.start + from,
    content: content.subarray(from, to),
    ...(nextOffset < at.bytes ? { nextOffset } : {}),
  };
}

/** Finds the start of the character at this index. In UTF-8, the bytes that continue a character look like 10xxxxxx. */
function startOfCharacter(bytes: Uint8Array, index: number): number {
  let at = Math.max(0, Math.min(bytes.length, index));
  while (at > 0 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

/** The bytes as a text for JSON. Undefined if they are not UTF-8, in which case the API sends them as base64. */
export function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
