/**
 * An incremental reader of server-sent events that only observes. It gets the bytes that are forwarded anyway, in whatever chunks
 * they arrive, and never changes or delays them.
 */

import { isObject } from "../../message/json.ts";

export interface SseEvent {
  readonly name: string;
  readonly data: string;
  /** Where the first line of the event began, counted in bytes from the start of the stream. */
  readonly start: number;
}

export interface SseReader {
  push(chunk: Uint8Array): void;
}

/** Maximum size of an event in bytes. A larger event is skipped, and the stream goes on. */
export const maxEventBytes: number = 16 * 1024 * 1024;

const colon = 0x3a;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = [0xef, 0xbb, 0xbf];

interface State {
  /** Bytes of the unfinished line. */
  pending: Uint8Array[];
  pendingBytes: number;
  /** Position of the next byte in the stream. */
  position: number;
  lineStart: number;
  isAfterCarriageReturn: boolean;
  eventStart: number;
  eventBytes: number;
  name: string;
  data: string[];
}

/** `onComment` is called for comment lines, which only show that the server is alive. */
export function createSseReader(
  onEvent: (event: SseEvent) => void,
  onComment: () => void = () => undefined,
): SseReader {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const state: State = {
    pending: [],
    pendingBytes: 0,
    position: 0,
    lineStart: 0,
    isAfterCarriageReturn: false,
    eventStart: -1,
    eventBytes: 0,
    name: "",
    data: [],
  };

  const endLine = (line: Uint8Array): void => {
    const start = state.lineStart;
    const bytes = start === 0 && startsWithMark(line) ? line.subarray(3) : line;
    if (bytes.length === 0) {
      dispatch(state, onEvent);
      return;
    }
    if (state.eventStart < 0) state.eventStart = start;
    state.eventBytes += bytes.length;
    if (state.eventBytes > maxEventBytes) {
      state.data = [];
      return;
    }
    if (bytes[0] === colon) onComment();
    else readLine(state, decoder.decode(bytes));
  };

  return {
    push: (chunk) => {
      const hasReturns = chunk.includes(carriageReturn);
      let from = skipLineFeed(state, chunk);
      for (
        let end = findLineEnd(chunk, from, hasReturns);
        end >= 0;
        end = findLineEnd(chunk, from, hasReturns)
      ) {
        endLine(takeLine(state, chunk.subarray(from, end)));
        from = afterLineEnd(state, chunk, end);
        state.lineStart = state.position + from;
      }
      keepRest(state, chunk.subarray(from));
      state.position += chunk.length;
    },
  };
}

/** Skips the second half of a line end that was split between two chunks. */
function skipLineFeed(state: State, chunk: Uint8Array): number {
  if (!state.isAfterCarriageReturn || chunk.length === 0) return 0;
  state.isAfterCarriageReturn = false;
  if (chunk[0] !== lineFeed) return 0;
  state.lineStart++;
  return 1;
}

function afterLineEnd(state: State, chunk: Uint8Array, end: number): number {
  if (chunk[end] !== carriageReturn) return end + 1;
  if (end + 1 === chunk.length) state.isAfterCarriageReturn = true;
  return chunk[end + 1] === lineFeed ? end + 2 : end + 1;
}

/**
 * Finds the end of a line. A single carriage return also ends a line. Almost no stream contains one, so `hasReturns` is
 * determined only once per chunk.
 */
function findLineEnd(chunk: Uint8Array, from: number, hasReturns: boolean): number {
  const feed = chunk.indexOf(lineFeed, from);
  if (!hasReturns) return feed;
  const carriage = chunk.indexOf(carriageReturn, from);
  if (carriage < 0) return feed;
  return feed < 0 ? carriage : Math.min(feed, carriage);
}

function takeLine(state: State, rest: Uint8Array): Uint8Array {
  if (state.pendingBytes === 0) return rest;
  const line = new Uint8Array(state.pendingBytes + rest.length);
  let offset = 0;
  for (const piece of [...state.pending, rest]) {
    line.set(piece, offset);
    offset += piece.length;
  }
  state.pending = [];
  state.pendingBytes = 0;
  return line;
}

/**
 * Keeps the bytes of an unfinished line. Once the line is too long, its bytes are only counted, so that an endless line cannot
 * fill the memory.
 */
function keepRest(state: State, rest: Uint8Array): void {
  if (rest.length === 0) return;
  const size = state.eventBytes + state.pendingBytes + rest.length;
  if (size > maxEventBytes) {
    state.eventBytes = size;
    state.pending = [];
    state.pendingBytes = 0;
    return;
  }
  state.pending.push(rest.slice());
  state.pendingBytes += rest.length;
}

function readLine(state: State, line: string): void {
  const end = line.indexOf(":");
  const field = end < 0 ? line : line.slice(0, end);
  const raw = end < 0 ? "" : line.slice(end + 1);
  const value = raw.startsWith(" ") ? raw.slice(1) : raw;
  if (field === "data") state.data.push(value);
  else if (field === "event") state.name = value;
}

/** Writes an event as text. */
export function writeSse({ name, data }: Pick<SseEvent, "name" | "data">): string {
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  return `${name === "" ? "" : `event: ${name}\n`}${lines.join("")}\n`;
}

/**
 * Turns an object from a provider's client library back into the server-sent event that contained it. The event's name equals the
 * object's type.
 */
export function eventOfObject(object: unknown): Pick<SseEvent, "name" | "data"> {
  const name = isObject(object) ? String(object["type"] ?? "") : "";
  return { name, data: JSON.stringify(object) };
}

function dispatch(state: State, onEvent: (event: SseEvent) => void): void {
  const { name, data, eventStart } = state;
  const isOversize = state.eventBytes > maxEventBytes;
  state.name = "";
  state.data = [];
  state.eventStart = -1;
  state.eventBytes = 0;
  if (data.length > 0 && !isOversize) onEvent({ name, data: data.join("\n"), start: eventStart });
}

function startsWithMark(line: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => line[index] === byte);
}
