/** Reads an answer, which comes as a stream or as one JSON body, while Plimsoll passes it on to the client. */

import type { JsonValue } from "../../message/json.ts";
import { type Framing, framings } from "./framing.ts";
import type { Answer, Wire } from "./wire.ts";

export interface AnswerReader {
  /**
   * Reads the next bytes of the answer, and returns how many of them may be sent to the client immediately. The other bytes are
   * held back until the next chunk arrives. Once the terminal event has begun, they are held back until the turn is stored.
   */
  push(chunk: Uint8Array): { readonly passBytes: number; readonly isTerminal: boolean };
  finish(): Answer;
}

/** Maximum number of bytes that Plimsoll reads of an answer. A larger answer is still passed on as a whole. */
export const maxAnswerBytes: number = 64 * 1024 * 1024;
const unread: Answer = { outcome: "unread", choices: [] };

export function createStreamReader(wire: Wire, framing: Framing = framings.events): AnswerReader {
  const accumulator = wire.answer.open();
  let position = 0;
  let terminalStart = -1;
  /** Start of the last event, if the answer may be complete with it. */
  let closingStart = -1;
  const reader = framing.createReader((event) => {
    const progress = accumulator.take(event);
    if (progress === "terminal" && terminalStart < 0) terminalStart = event.start;
    closingStart = progress === "closing" ? event.start : -1;
  });
  return {
    push: (chunk) => {
      const start = position;
      position += chunk.length;
      if (position > maxAnswerBytes) return { passBytes: chunk.length, isTerminal: false };
      reader.push(chunk);
      const heldFrom = terminalStart < 0 ? closingStart : terminalStart;
      return {
        passBytes: heldFrom < 0 ? chunk.length : Math.max(0, heldFrom - start),
        isTerminal: terminalStart >= 0,
      };
    },
    finish: () => (position > maxAnswerBytes ? unread : accumulator.finish()),
  };
}

/** A JSON body has no terminal event, and any chunk may be the last. So each chunk is held back until the next one arrives. */
export function createJsonReader(wire: Wire): AnswerReader {
  const pieces: Uint8Array[] = [];
  let size = 0;
  return {
    push: (chunk) => {
      size += chunk.length;
      if (size <= maxAnswerBytes) pieces.push(chunk);
      else pieces.length = 0;
      return { passBytes: 0, isTerminal: false };
    },
    finish: () => {
      const value = size <= maxAnswerBytes ? parse(pieces, size) : undefined;
      return value === undefined ? unread : wire.answer.read(value);
    },
  };
}

function parse(pieces: readonly Uint8Array[], size: number): JsonValue | undefined {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as JsonValue;
  } catch {
    return undefined;
  }
}
