/** The queue before the counting thread: bounded, one batch under way, and never an exception. */

import { Worker } from "node:worker_threads";
import type { Count } from "../../budget/tokenizer.ts";
import { endThread } from "../../work/thread-end.ts";
import type { CountAnswer, CountRequest } from "./count-worker.ts";

export interface CountQueueOptions {
  /** A batch that takes longer is given up, and its thread with it. */
  readonly timeoutMs: number;
  /** What may wait in all; beyond it there is no answer. */
  readonly queuedCharsMax: number;
  readonly startWorker?: () => Worker;
}

export interface CountQueue {
  /** Undefined: the thread died, took too long, cannot be started, or too much is waiting already. */
  count(tokenizerId: string, text: string): Promise<Count | undefined>;
  close(): Promise<void>;
}

interface Job {
  readonly tokenizerId: string;
  readonly text: string;
  readonly settle: (count: Count | undefined) => void;
}

interface Batch {
  readonly id: number;
  readonly jobs: readonly Job[];
  readonly timer: NodeJS.Timeout;
}

/** Small texts travel together: one message to the thread costs as much as counting 400 characters. */
const batchChars = 262_144;
/** In a row. A thread that never once succeeds will not the sixth time either. */
const failuresMax = 5;

export function createCountQueue(options: CountQueueOptions): CountQueue {
  const waiting: Job[] = [];
  let queuedChars = 0;
  let current: Batch | undefined;
  let failures = 0;
  let batches = 0;
  let isClosed = false;

  const isOut = (): boolean => isClosed || failures >= failuresMax;

  const settle = (jobs: readonly Job[], counts: readonly Count[]): void => {
    jobs.forEach((job, index) => {
      queuedChars -= job.text.length;
      job.settle(counts[index]);
    });
  };

  const finish = (counts: readonly Count[]): void => {
    const batch = current;
    if (batch === undefined) return;
    current = undefined;
    clearTimeout(batch.timer);
    settle(batch.jobs, counts);
    advance();
  };

  const giveUp = (): void => {
    failures += 1;
    thread.stop();
    finish([]);
  };

  const receive = (reply: CountAnswer): void => {
    if (reply.id !== current?.id) return;
    failures = 0;
    finish(reply.kind === "counted" ? reply.counts : []);
  };

  const thread = createThread(options.startWorker ?? startCountWorker, receive, giveUp);

  const advance = (): void => {
    if (current !== undefined) return;
    if (isOut()) settle(waiting.splice(0), []);
    const jobs = takeBatch(waiting);
    const first = jobs[0];
    if (first === undefined) {
      thread.rest();
      return;
    }
    batches += 1;
    current = { id: batches, jobs, timer: setTimeout(giveUp, options.timeoutMs) };
    const texts = jobs.map(({ text }) => text);
    const isPosted = thread.post({ id: batches, tokenizerId: first.tokenizerId, texts });
    if (!isPosted) giveUp();
  };

  return {
    count: (tokenizerId, text) => {
      const isFull = queuedChars > 0 && queuedChars + text.length > options.queuedCharsMax;
      if (isFull || isOut()) return Promise.resolve(undefined);
      const answer = Promise.withResolvers<Count | undefined>();
      queuedChars += text.length;
      waiting.push({ tokenizerId, text, settle: answer.resolve });
      // What is asked for in the same turn of the event loop goes into the same batch.
      queueMicrotask(advance);
      return answer.promise;
    },
    close: async () => {
      isClosed = true;
      const ending = thread.end();
      finish([]);
      settle(waiting.splice(0), []);
      await ending;
    },
  };
}

interface Thread {
  /** Starts the thread if there is none. False: that is not possible. */
  post(request: CountRequest): boolean;
  /** Only while somebody waits for it may the thread keep the process alive. */
  rest(): void;
  end(): Promise<void>;
  /** Wherever it is. */
  stop(): void;
}

function createThread(
  startWorker: () => Worker,
  onAnswer: (answer: CountAnswer) => void,
  onDeath: () => void,
): Thread {
  let worker: Worker | undefined;

  const leave = (): Worker | undefined => {
    const left = worker;
    worker = undefined;
    return left;
  };

  const start = (): Worker => {
    const started = startWorker();
    const die = (): void => {
      if (worker !== started) return;
      worker = undefined;
      onDeath();
    };
    started.on("message", onAnswer);
    started.on("error", die);
    started.on("exit", die);
    return started;
  };

  return {
    post: (request) => {
      try {
        worker ??= start();
        worker.ref();
        worker.postMessage(request);
        return true;
      } catch {
        return false;
      }
    },
    rest: () => worker?.unref(),
    end: () => endThread(leave()),
    stop: () => void leave()?.terminate(),
  };
}

function startCountWorker(): Worker {
  return new Worker(new URL("./count-worker.ts", import.meta.url), {
    name: "count",
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
}

/** The first job and those after it for the same tokenizer, as long as they are small together. */
function takeBatch(waiting: Job[]): readonly Job[] {
  let chars = 0;
  const end = waiting.findIndex((job, index) => {
    chars += job.text.length;
    return index > 0 && (chars > batchChars || job.tokenizerId !== waiting[0]?.tokenizerId);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}
