/**
 * An incremental reader of a stream that is one JSON array, such as Gemini's stream without `alt=sse`. Each element becomes an
 * event. Like the reader of server-sent events, it only observes the bytes.
 */

import {
  backslash,
  closeBrace,
  closeBracket,
  openBrace,
  openBracket,
  quote,
} from "../../text/json-bytes.ts";
import { maxEventBytes, type SseEvent, type SseReader } from "./sse.ts";

interface State {
  /** Position of the next byte in the stream. */
  position: number;
  /** Number of open brackets and braces. The array itself is the first. */
  depth: number;
  isInString: boolean;
  isAfterBackslash: boolean;
  /** Where the current element began, or -1 between elements. */
  start: number;
  pieces: Uint8Array[];
  bytes: number;
}

export function createJsonArrayReader(onEvent: (event: SseEvent) => void): SseReader {
  const state: State = {
    position: 0,
    depth: 0,
    isInString: false,
    isAfterBackslash: false,
    start: -1,
    pieces: [],
    bytes: 0,
  };
  return {
    push: (chunk) => {
      let from = 0;
      for (let index = 0; index < chunk.length; index++) {
        const step = takeByte(state, chunk[index] ?? 0);
        if (step === "begins") {
          state.start = state.position + index;
          from = index;
        }
        if (step !== "ends") continue;
        keep(state, chunk.subarray(from, index + 1));
        dispatch(state, onEvent);
      }
      if (state.start >= 0) keep(state, chunk.subarray(from));
      state.position += chunk.length;
    },
  };
}

/** Whether an element begins or ends with this byte. Only objects are elements. */
function takeByte(state: State, byte: number): "begins" | "ends" | undefined {
  if (state.isInString) {
    if (state.isAfterBackslash) state.isAfterBackslash = false;
    else if (byte === backslash) state.isAfterBackslash = true;
    else if (byte === quote) state.isInString = false;
    return undefined;
  }
  switch (byte) {
    case quote:
      state.isInString = true;
      return undefined;
    case openBrace:
    case openBracket:
      state.depth++;
      return byte === openBrace && state.depth === 2 ? "begins" : undefined;
    case closeBrace:
    case closeBracket:
      state.depth--;
      return byte === closeBrace && state.depth === 1 && state.start >= 0 ? "ends" : undefined;
    default:
      return undefined;
  }
}

/** Keeps bytes of the current element. An element that is too large is only counted. */
function keep(state: State, bytes: Uint8Array): void {
  state.bytes += bytes.length;
  if (state.bytes > maxEventBytes) state.pieces = [];
  else state.pieces.push(bytes.slice());
}

function dispatch(state: State, onEvent: (event: SseEvent) => void): void {
  const { start, pieces, bytes } = state;
  state.start = -1;
  state.pieces = [];
  state.bytes = 0;
  if (bytes <= maxEventBytes)
    onEvent({ name: "", data: Buffer.concat(pieces).toString("utf8"), start });
}
