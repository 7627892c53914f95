/** Reads an answer as it streams, and gives it up if nothing comes for too long. */

import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../message/error.ts";
import { eventOfObject } from "../../wire/format/sse.ts";
import type { Answer, Wire } from "../../wire/format/wire.ts";

export interface ReadAnswer {
  readonly answer: Answer;
  /** Why the stream was not read to its end. The answer contains everything that arrived. */
  readonly failure?: string;
  /** True if nothing came for too long. */
  readonly isSilent?: true;
}

export interface Patience {
  /** Maximum time between two events, in milliseconds. Pings and reasoning are events too. */
  readonly inactivityMs: number;
  /** Resolves after this time. Default: a timer. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Contract: never rejects. */
export async function readStream(
  wire: Wire,
  stream: AsyncIterable<unknown>,
  patience?: Patience,
): Promise<ReadAnswer> {
  const accumulator = wire.answer.open();
  const events = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextWithin(events, patience);
      if (next === "silent") {
        // The stream may never end. Nobody waits for it.
        void Promise.resolve(events.return?.()).catch(() => undefined);
        const failure = `nothing arrived for ${(patience?.inactivityMs ?? 0) / 1000} seconds`;
        return { answer: accumulator.finish(), failure, isSilent: true };
      }
      if (next.done === true) return { answer: accumulator.finish() };
      accumulator.take(eventOfObject(next.value));
    }
  } catch (error) {
    return { answer: accumulator.finish(), failure: errorMessage(error) };
  }
}

async function nextWithin(
  events: AsyncIterator<unknown>,
  patience: Patience | undefined,
): Promise<IteratorResult<unknown> | "silent"> {
  if (patience === undefined) return events.next();
  const { inactivityMs, wait = (ms, signal) => sleep(ms, undefined, { signal }) } = patience;
  const over = new AbortController();
  const silent = wait(inactivityMs, over.signal).then(
    () => "silent" as const,
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([events.next(), silent]);
  } finally {
    over.abort();
  }
}
