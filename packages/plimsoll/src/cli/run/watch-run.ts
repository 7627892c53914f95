/** Follows the turns of one run, and keeps the service alive as long as its agent lives. */

import { openEvents } from "../../watch/event-stream.ts";
import { timing } from "../top/timing.ts";
import { type RunSums, withEvent } from "./run-summary.ts";

export interface WatchOptions {
  readonly run: string;
  readonly token: string;
  /** Returns the address of the service. If the service has died, starts it again. */
  readonly locate: () => Promise<string | undefined>;
}

export interface WatchedRun {
  /** Resolves when the stream is open, or after a few seconds without it. */
  readonly ready: Promise<void>;
  sums(): RunSums;
  close(): void;
}

/** An agent does not wait longer than this for the stream. Without the stream, only the last line of `run` is missing. */
const readyMs = 5000;

export function watchRun({ run, token, locate }: WatchOptions): WatchedRun {
  let sums: RunSums = new Map();
  const open = Promise.withResolvers<void>();
  const stopWaiting = timing.later(open.resolve, readyMs);
  const stream = openEvents({
    token: () => token,
    fetch,
    later: timing.later,
    whenRefused: "tries-again",
    onEvent: (event) => {
      sums = withEvent(sums, event, run);
    },
    onState: ({ kind }) => {
      if (kind === "live") open.resolve();
    },
    locate,
  });
  return {
    ready: open.promise.finally(stopWaiting),
    sums: () => sums,
    close: stream.close,
  };
}
