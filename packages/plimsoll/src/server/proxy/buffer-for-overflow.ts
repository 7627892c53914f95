/** Holds back the beginning of an answer until Plimsoll knows that the answer is not a "too long" error. */

import type { JsonValue } from "../../message/json.ts";
import type { Framing } from "../../wire/format/framing.ts";
import type { Progress, Wire } from "../../wire/format/wire.ts";
import {
  mayBeError,
  type Overflow,
  overflowOf,
  overflowStatuses,
  recognizeOverflow,
} from "../../wire/overflow.ts";
import { encodingOf, plain } from "../http/unpack.ts";
import type { OverflowCheck, OverflowVerdict } from "./relay.ts";
import type { UpstreamAnswer } from "./watch-answer.ts";

const pass: OverflowVerdict = { kind: "pass" };

/** Returns the check for an answer. Undefined if the answer cannot be an overflow error or is compressed. */
export function bufferForOverflow(
  wire: Wire,
  { status, headers, framing }: UpstreamAnswer,
): OverflowCheck | undefined {
  if (!overflowStatuses.has(status) || encodingOf(headers) !== plain) return undefined;
  return framing === undefined ? checkJson(status) : checkStream(wire, status, framing);
}

/** Checks an answer that is not a stream. All of it is held back, because an error is short and comes in one piece. */
function checkJson(status: number): OverflowCheck {
  const pieces: Uint8Array[] = [];
  return {
    push: (chunk) => {
      pieces.push(chunk);
      return "wait";
    },
    end: () => {
      const bytes = Buffer.concat(pieces);
      if (!mayBeError(status, bytes)) return pass;
      return verdictFor(recognizeOverflow({ status, body: parse(bytes.toString("utf8")) }));
    },
  };
}

/** Checks a stream. Only the part before the first content from the model is held back. */
function checkStream(wire: Wire, status: number, framing: Framing): OverflowCheck {
  const accumulator = wire.answer.open();
  let progress: Progress = "opening";
  const reader = framing.createReader((event) => {
    if (progress === "opening") progress = accumulator.take(event);
  });
  return {
    push: (chunk) => {
      reader.push(chunk);
      if (progress === "opening") return "wait";
      return progress === "terminal" ? verdictFor(overflowOf(status, accumulator.finish())) : pass;
    },
    end: () => verdictFor(overflowOf(status, accumulator.finish())),
  };
}

function verdictFor(overflow: Overflow | undefined): OverflowVerdict {
  return overflow === undefined ? pass : { kind: "overflow", overflow };
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
