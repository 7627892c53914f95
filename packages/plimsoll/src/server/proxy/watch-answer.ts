/** Reads an answer while it is passed on, and ends the turn with it. */

import type { IncomingHttpHeaders } from "node:http";
import type { TurnStatus } from "../../message/event.ts";
import type { Turn } from "../../session/turn/turn.ts";
import {
  type AnswerReader,
  createJsonReader,
  createStreamReader,
  maxAnswerBytes,
} from "../../wire/format/answer-reader.ts";
import type { Framing } from "../../wire/format/framing.ts";
import type { Answer, Wire } from "../../wire/format/wire.ts";
import { bytesInFlight } from "../http/buffered-bytes.ts";
import { encodingOf, plain, unpackPieces } from "../http/unpack.ts";
import type { Ending, Watch } from "./relay.ts";

/** The beginning of an upstream's answer. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The framing of the stream. Undefined if the answer is one JSON body. */
  readonly framing: Framing | undefined;
}

export function watchAnswer(
  turn: Turn,
  wire: Wire,
  { status, headers, framing }: UpstreamAnswer,
): Watch {
  const reader = framing === undefined ? createJsonReader(wire) : createStreamReader(wire, framing);
  const encoding = encodingOf(headers);
  const source = encoding === plain ? plainSource(reader) : packedSource(reader, encoding);
  return {
    push: source.push,
    end: async (how, error) => {
      const answer = await source.finish();
      const failure = answer.error?.message ?? error;
      await turn.end({
        status: statusOf(how, answer, status),
        answer,
        ...(failure === undefined ? {} : { error: failure }),
      });
      // A stream in a known format must say that it is complete. A stream in an unknown format may end in any way.
      const isCutOff =
        framing !== undefined && answer.outcome === "cut" && answer.response !== undefined;
      return { isWhole: !(isCutOff && status < 400) };
    },
  };
}

interface Source {
  readonly push: AnswerReader["push"];
  readonly finish: () => Promise<Answer>;
}

function plainSource(reader: AnswerReader): Source {
  return { push: reader.push, finish: async () => reader.finish() };
}

/** Plimsoll asks for uncompressed answers. If an answer is compressed anyway, Plimsoll reads it once it is complete. */
function packedSource(reader: AnswerReader, encoding: string): Source {
  const pieces: Uint8Array[] = [];
  let size = 0;
  return {
    push: (chunk) => {
      size += chunk.length;
      if (size <= maxAnswerBytes) pieces.push(chunk);
      return { passBytes: 0, isTerminal: false };
    },
    finish: async () => {
      const isRead = size <= maxAnswerBytes && (await unpackInto(reader, pieces, encoding));
      return isRead ? reader.finish() : { outcome: "unread", choices: [] };
    },
  };
}

/** Returns false if the answer cannot be unpacked or is too large. Plimsoll has then passed it on without reading it. */
async function unpackInto(
  reader: AnswerReader,
  pieces: readonly Uint8Array[],
  encoding: string,
): Promise<boolean> {
  const buffered = bytesInFlight.startBuffer();
  try {
    const bound = { maxBytes: maxAnswerBytes, buffered };
    for await (const piece of unpackPieces(Buffer.concat(pieces), encoding, bound))
      reader.push(piece);
    return true;
  } catch {
    return false;
  } finally {
    buffered.release();
  }
}

function statusOf(how: Ending, answer: Answer, status: number): TurnStatus {
  if (how === "left") return "aborted";
  if (status >= 400 || answer.outcome === "error") return "failed";
  return answer.outcome === "message" && how !== "broken" ? "complete" : "incomplete";
}
