/** Holds back the beginning of an answer until Plimsoll knows that the answer is not a "too long" error. */

import type { JsonValue } from "../../message/json.ts";
import type { Framing } from "../../wire/format/framing.ts";
import type { Answer, Progress, Wire } from "../../wire/format/wire.ts";
import {
  mayBeError,
  type Overflow,
  overflowOf,
  overflowStatuses,
  overloaded,
  recognizeOverflow,
  saysOverloaded,
} from "../../wire/overflow.ts";
import { encodingOf, plain } from "../http/unpack.ts";
import type { OverflowCheck, OverflowVerdict } from "./relay.ts";
import type { UpstreamAnswer } from "./watch-answer.ts";

const pass: OverflowVerdict = { kind: "pass" };

/**
 * Returns the check for an answer. If another provider can answer instead (`hasNext`), a stream that begins with the error of an
 * overloaded provider is held back too. Undefined if the answer cannot be an overflow error or is compressed.
 */
export function bufferForOverflow(
  wire: Wire,
  { status, headers, framing }: UpstreamAnswer,
  hasNext: boolean,
): OverflowCheck | undefined {
  if (!overflowStatuses.has(status) || encodingOf(headers) !== plain) return undefined;
  if (framing === undefined) return checkJson(status);
  return checkStream(wire, framing, (answer) => {
    const overflow = overflowOf(status, answer);
    return overflow ?? (hasNext && saysOverloaded(answer) ? overloaded : undefined);
  });
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
function checkStream(
  wire: Wire,
  framing: Framing,
  read: (answer: Answer) => Overflow | undefined,
): OverflowCheck {
  const accumulator = wire.answer.open();
  let progress: Progress = "opening";
  const reader = framing.createReader((event) => {
    if (progress === "opening") progress = accumulator.take(event);
  });
  return {
    push: (chunk) => {
      reader.push(chunk);
      if (progress === "opening") return "wait";
      return progress === "terminal" ? verdictFor(read(accumulator.finish())) : pass;
    },
    end: () => verdictFor(read(accumulator.finish())),
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
