/** The queue of the counting thread. It is bounded, counts one batch at a time, and never throws. */

import { Worker } from "node:worker_threads";
import type { Count } from "../../budget/tokenizer.ts";
import { createSpareWorkers } from "../../workers/spare-workers.ts";
import { Thread } from "../../workers/thread.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import type { CountAnswer, CountQuestion } from "./count-worker.ts";

export interface CountQueueOptions {
  /** Maximum time for a batch, in milliseconds. If a batch takes longer, the thread is stopped. */
  readonly timeoutMs: number;
  /** Maximum number of waiting characters. If there are more, `count` returns undefined. */
  readonly queuedCharsMax: number;
  readonly startWorker?: () => Worker;
}

export interface CountQueue {
  /** Counts a text. Returns undefined if the thread failed or took too long, or if too many characters are waiting already. */
  count(tokenizerId: string, text: string): Promise<Count | undefined>;
  close(): Promise<void>;
}

interface Job {
  readonly tokenizerId: string;
  readonly text: string;
  readonly settle: (count: Count | undefined) => void;
}

/**
 * Maximum size of a batch in characters. Small texts are sent together, because one message to the thread takes as long as
 * counting 400 characters.
 */
const batchChars = 262_144;
/** Maximum number of failures in a row. After that, the thread is no longer used. */
const failuresMax = 5;

export function createCountQueue(options: CountQueueOptions): CountQueue {
  const waiting: Job[] = [];
  const { startWorker } = options;
  const workers = startWorker === undefined ? countWorkers : { startWorker };
  const thread = new Thread<CountQuestion, CountAnswer>(workers);
  let queuedChars = 0;
  let isAtWork = false;
  let failures = 0;
  let isClosed = false;

  const isOut = (): boolean => isClosed || failures >= failuresMax;

  const settle = (jobs: readonly Job[], counts: readonly Count[]): void => {
    jobs.forEach((job, index) => {
      queuedChars -= job.text.length;
      job.settle(counts[index]);
    });
  };

  /** Counts a batch in the thread. Returns an empty list if the thread failed or took too long. */
  const countThere = async (question: CountQuestion): Promise<readonly Count[]> => {
    try {
      const answer = await withTimeout(thread.ask(question), options.timeoutMs, tooSlow);
      failures = 0;
      return answer.kind === "counted" ? answer.counts : [];
    } catch {
      failures += 1;
      thread.stop();
      return [];
    }
  };

  const advance = async (): Promise<void> => {
    if (isAtWork) return;
    isAtWork = true;
    for (let jobs = takeBatch(waiting); jobs.length > 0; jobs = takeBatch(waiting)) {
      const tokenizerId = jobs[0]?.tokenizerId ?? "";
      const texts = jobs.map(({ text }) => text);
      settle(jobs, isOut() ? [] : await countThere({ tokenizerId, texts }));
    }
    isAtWork = false;
  };

  return {
    count: (tokenizerId, text) => {
      const isFull = queuedChars > 0 && queuedChars + text.length > options.queuedCharsMax;
      if (isFull || isOut()) return Promise.resolve(undefined);
      const answer = Promise.withResolvers<Count | undefined>();
      queuedChars += text.length;
      waiting.push({ tokenizerId, text, settle: answer.resolve });
      // Texts that are asked for in the same turn of the event loop go into the same batch.
      queueMicrotask(() => void advance());
      return answer.promise;
    },
    close: async () => {
      isClosed = true;
      settle(waiting.splice(0), []);
      await thread.release();
    },
  };
}

function tooSlow(): never {
  throw new Error("it took too long");
}

const countWorkers = createSpareWorkers(
  () =>
    new Worker(new URL("./count-worker.ts", import.meta.url), {
      name: "count",
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
    }),
);

/** Takes the first job, and the jobs right after it for the same tokenizer, up to the size of one batch. */
function takeBatch(waiting: Job[]): readonly Job[] {
  let chars = 0;
  const end = waiting.findIndex((job, index) => {
    chars += job.text.length;
    return index > 0 && (chars > batchChars || job.tokenizerId !== waiting[0]?.tokenizerId);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}
