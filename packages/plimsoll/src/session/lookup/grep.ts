/** Finds lines that match a pattern, in bounded time: plain strings at once, patterns in a thread that can be stopped. */

import { Worker } from "node:worker_threads";
import type { LineMatches, MatchLines } from "../../offload/read-matches.ts";
import { createSpareWorkers } from "../../workers/spare-workers.ts";
import { createJobThread } from "../threads/job-thread.ts";
import { type Scanned, scanString } from "./grep-scan.ts";
import type { GrepJob } from "./grep-worker.ts";

export interface GrepOptions {
  /** Maximum time for matching a pattern, in milliseconds. After that, the search is given up. */
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly waitingMax?: number;
  readonly startWorker?: () => Worker;
}

export interface Grep {
  readonly matchLines: MatchLines;
  close(): Promise<void>;
}

export function createGrep(options: GrepOptions = {}): Grep {
  const { startWorker } = options;
  const thread = createJobThread<Scanned>({
    ...(startWorker === undefined ? grepWorkers : { startWorker }),
    timeoutMs: options.timeoutMs ?? 2000,
    idleMs: options.idleMs ?? 5000,
    waitingMax: options.waitingMax ?? 8,
  });
  const matchLines: MatchLines = async (bytes, pattern, window) => {
    const wanted = readPattern(pattern);
    if (wanted.kind === "string") {
      const { isLiteral } = wanted;
      return { kind: "matched", ...scanString(bytes, pattern, window), isLiteral };
    }
    const { source, flags } = wanted.regExp;
    const outcome = await thread.run(() => {
      const copy = new Uint8Array(bytes);
      const job: GrepJob = { bytes: copy, source, flags, window };
      return { job, transfer: [copy.buffer] };
    });
    if (outcome.kind === "answered") return matched(outcome.answer);
    return { kind: outcome.kind === "too-slow" ? "too-slow" : "failed" };
  };
  return { matchLines, close: () => thread.close() };
}

function matched(scanned: Scanned): LineMatches {
  return { kind: "matched", ...scanned, isLiteral: false };
}

type Wanted =
  | { readonly kind: "string"; readonly isLiteral: boolean }
  | { readonly kind: "pattern"; readonly regExp: RegExp };

/** Reads the pattern. Also accepts `(?i)` at the start, with which other dialects ignore case. */
function readPattern(pattern: string): Wanted {
  if (!/[\\^$.*+?()[\]{}|]/.test(pattern)) return { kind: "string", isLiteral: false };
  const ignoresCase = pattern.startsWith("(?i)");
  try {
    const regExp = new RegExp(ignoresCase ? pattern.slice(4) : pattern, ignoresCase ? "i" : "");
    return { kind: "pattern", regExp };
  } catch {
    return { kind: "string", isLiteral: true };
  }
}

const grepWorkers = createSpareWorkers(
  () =>
    new Worker(new URL("./grep-worker.ts", import.meta.url), {
      name: "grep",
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    }),
);
