/** Reads the rounds of an answer, piece by piece or as a whole, up to a maximum size. */

import type { Readable } from "node:stream";
import { PlimsollError } from "../../message/error.ts";
import { maxAnswerBytes } from "../../wire/format/answer-reader.ts";
import type { Framing } from "../../wire/format/framing.ts";
import type { SseReader } from "../../wire/format/sse.ts";
import type {
  Answer,
  AnswerAccumulator,
  RoundMerger,
  StreamEvent,
} from "../../wire/format/wire.ts";
import { maxBufferBytes, maxBufferMs, type OverflowCheck, type OverflowVerdict } from "./relay.ts";

/**
 * The answer as the client has received it, assembled as the client's own library does. An answer that is too large is passed on
 * but not kept.
 */
export class SentAnswer {
  #answer: AnswerAccumulator | undefined;
  #length = 0;

  constructor(answer: AnswerAccumulator) {
    this.#answer = answer;
  }

  take(event: StreamEvent): ReturnType<AnswerAccumulator["take"]> {
    this.#length += event.data.length;
    if (this.#length > maxAnswerBytes) this.#answer = undefined;
    return this.#answer?.take(event) ?? "content";
  }

  finish(): Answer {
    return this.#answer?.finish() ?? unread;
  }
}

export interface Taken {
  readonly events: readonly StreamEvent[];
  /** True if the upstream has sent a keep-alive since the last call. */
  readonly isAlive: boolean;
}

/**
 * One round of a stream. The whole round is assembled for Plimsoll. Events are merged for the client only when they are sent, so
 * discarded events have no effect on the merged answer.
 */
export class StreamReading {
  /** Assembles the round. Undefined if the answer is too large. In that case none of it is kept. */
  #round: AnswerAccumulator | undefined;
  readonly #merger: RoundMerger;
  readonly #reader: SseReader;
  #events: StreamEvent[] = [];
  #isAlive = false;
  #hasEnded = false;
  #bytes = 0;

  constructor(round: AnswerAccumulator, merger: RoundMerger, framing: Framing) {
    this.#round = round;
    this.#merger = merger;
    this.#reader = framing.createReader(
      (event) => {
        if (this.#hasEnded) return;
        if (this.#bytes > maxAnswerBytes) this.#round = undefined;
        if (this.#round?.take(event) === "terminal") this.#hasEnded = true;
        this.#events.push({ name: event.name, data: event.data });
      },
      () => {
        this.#isAlive = true;
      },
    );
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#reader.push(chunk);
  }

  taken(): Taken {
    const events = this.#events.flatMap((event) => this.#merger.take(event));
    const taken = { events, isAlive: this.#isAlive };
    this.#events = [];
    this.#isAlive = false;
    return taken;
  }

  answer(): Answer {
    return this.#round?.finish() ?? unread;
  }
}

export const unread: Answer = { outcome: "unread", choices: [] };

/** The beginning of an answer. Plimsoll checks it before sending any of it, but only for a limited time. */
export class Opening {
  readonly #overflowCheck: OverflowCheck | undefined;
  readonly #timer: NodeJS.Timeout;
  #verdict: "wait" | OverflowVerdict;
  #bytes = 0;
  readonly pieces: Uint8Array[] = [];

  constructor(overflowCheck: OverflowCheck | undefined, onLate: () => void) {
    this.#overflowCheck = overflowCheck;
    this.#verdict = overflowCheck === undefined ? pass : "wait";
    this.#timer = setTimeout(() => {
      if (this.#verdict !== "wait") return;
      this.#verdict = pass;
      onLate();
    }, maxBufferMs);
  }

  look(chunk: Uint8Array): "wait" | OverflowVerdict {
    if (this.#verdict !== "wait") return this.#verdict;
    this.pieces.push(chunk);
    this.#bytes += chunk.length;
    this.#verdict =
      this.#bytes > maxBufferBytes ? pass : (this.#overflowCheck?.push(chunk) ?? pass);
    return this.#verdict;
  }

  end(): OverflowVerdict {
    if (this.#verdict === "wait") this.#verdict = this.#overflowCheck?.end() ?? pass;
    return this.#verdict;
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

const pass: OverflowVerdict = { kind: "pass" };

/** Maximum time from a stream's last event to its end. Waiting for the end lets the next round reuse the connection. */
const maxEndMs = 1000;

export function letEnd(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), maxEndMs);
  timer.unref();
  body.once("close", () => clearTimeout(timer));
  body.on("error", () => undefined);
  body.resume();
}

/** Reads an answer to its end. Throws if it is too large to be merged with other rounds. */
export async function readWhole(body: Readable): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxAnswerBytes) {
      body.destroy();
      throw new PlimsollError("UPSTREAM_FAILED", "The upstream's answer is too large to read.", {
        status: 502,
      });
    }
    pieces.push(chunk);
  }
  return Buffer.concat(pieces);
}
