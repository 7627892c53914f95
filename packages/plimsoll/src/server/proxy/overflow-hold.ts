/** Holds back the beginning of an answer until it is clear that it is one, and not a provider saying "too long". */

import type { IncomingHttpHeaders } from "node:http";
import type { JsonValue } from "../../message/json.ts";
import { createSseReader } from "../../wire/format/sse.ts";
import type { Progress, Wire } from "../../wire/format/wire.ts";
import {
  mayBeError,
  type Overflow,
  overflowOf,
  overflowStatuses,
  recognizeOverflow,
} from "../../wire/overflow.ts";
import { encodingOf, plain } from "../http/unpack.ts";
import { type Held, type Hold, isStream } from "./relay.ts";

const pass: Held = { kind: "pass" };

/** Undefined: this answer cannot be one, or could not be read. */
export function holdForOverflow(
  wire: Wire,
  status: number,
  headers: IncomingHttpHeaders,
): Hold | undefined {
  if (!overflowStatuses.has(status) || encodingOf(headers) !== plain) return undefined;
  if (isStream(headers)) return holdStream(wire, status);
  return holdJson(status);
}

/** An error comes in one piece, and is short. */
function holdJson(status: number): Hold {
  const pieces: Uint8Array[] = [];
  return {
    push: (chunk) => {
      pieces.push(chunk);
      return "wait";
    },
    end: () => {
      const said = Buffer.concat(pieces);
      if (!mayBeError(status, said)) return pass;
      return heldFor(recognizeOverflow({ status, body: parse(said.toString("utf8")) }));
    },
  };
}

/** Only what comes before the model's first word is held. */
function holdStream(wire: Wire, status: number): Hold {
  const accumulator = wire.answer.open();
  let progress: Progress = "opening";
  const reader = createSseReader((event) => {
    if (progress === "opening") progress = accumulator.take(event);
  });
  return {
    push: (chunk) => {
      reader.push(chunk);
      if (progress === "opening") return "wait";
      return progress === "terminal" ? heldFor(overflowOf(status, accumulator.finish())) : pass;
    },
    end: () => heldFor(overflowOf(status, accumulator.finish())),
  };
}

function heldFor(overflow: Overflow | undefined): Held {
  return overflow === undefined ? pass : { kind: "overflow", overflow };
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
