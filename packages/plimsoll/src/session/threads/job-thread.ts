/** Threads for jobs of one kind. Each starts when needed, ends when idle, and is stopped if a job takes too long. */

import type { Worker } from "node:worker_threads";
import { Queue } from "../../bounds/queue.ts";
import { type Asking, Thread } from "../../workers/thread.ts";

export interface JobThreadOptions {
  readonly startWorker: () => Worker;
  readonly giveWorker?: (worker: Worker) => void;
  /** Maximum time for a job in milliseconds. The time starts when the thread begins the job. */
  readonly timeoutMs: number;
  readonly idleMs: number;
  /** Maximum time until a thread begins a job, in milliseconds. If a thread has not begun by then, it is stopped. */
  readonly startTimeoutMs?: number;
  /** Maximum number of jobs that wait while another one runs. */
  readonly waitingMax: number;
}

/** Makes a job. It is called only when the thread is free, so that a waiting job keeps no copy of its data. */
export type MakeJob = () => { readonly job: unknown; readonly transfer?: readonly ArrayBuffer[] };

export type JobOutcome<A> =
  | { readonly kind: "answered"; readonly answer: A }
  | { readonly kind: "too-slow" }
  /** The thread died or cannot be started. */
  | { readonly kind: "failed" }
  /** Too many jobs are waiting. */
  | { readonly kind: "full" }
  /** Plimsoll is closing and nobody needs the result any more, so the caller must not do the job in its own thread. */
  | { readonly kind: "closed" };

export interface JobThread<A> {
  /** Contract: never rejects, and runs one job after the other. `onQuestion` answers the thread's questions during the job. */
  run(makeJob: MakeJob, onQuestion?: OnQuestion): Promise<JobOutcome<A>>;
  /** Number of jobs that run or wait. */
  readonly jobs: number;
  close(): Promise<void>;
}

export type OnQuestion = (asked: unknown) => Promise<unknown>;

/** Messages from the thread: it has begun a job, or it asks a question about the job. */
export type JobNews =
  | { readonly kind: "begun" }
  | { readonly kind: "asks"; readonly number: number; readonly asked: unknown };

/** Default of `startTimeoutMs`. */
const usualStartMs = 20_000;

export function createJobThread<A>(options: JobThreadOptions): JobThread<A> {
  const thread = new Thread<unknown, A, JobNews>(options);
  const queue = new Queue();
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const work = async (makeJob: MakeJob, onQuestion?: OnQuestion): Promise<JobOutcome<A>> => {
    if (isClosed) return { kind: "closed" };
    const limit = startLimit<A>(options);
    const onNews: Asking<JobNews>["onNews"] = (news, sendAnswer) => {
      if (news.kind === "begun") limit.begin();
      else void answerTo(onQuestion, news.asked).then((value) => sendAnswer(news.number, value));
    };
    try {
      const { job, transfer = [] } = makeJob();
      const answered = thread
        .ask(job, { transfer, onNews })
        .then((answer): JobOutcome<A> => ({ kind: "answered", answer }));
      const outcome = await Promise.race([answered, limit.over]);
      // The only way to stop a job is to stop its thread.
      if (outcome.kind !== "answered") thread.stop();
      return outcome;
    } catch {
      return { kind: isClosed ? "closed" : "failed" };
    } finally {
      limit.stop();
    }
  };

  return {
    get jobs() {
      return queue.count;
    },
    run: async (makeJob, onQuestion) => {
      if (isClosed) return { kind: "closed" };
      if (queue.count > options.waitingMax) return { kind: "full" };
      clearTimeout(idleTimer);
      const outcome = await queue.run(() => work(makeJob, onQuestion));
      if (queue.count === 0 && !isClosed)
        idleTimer = setTimeout(() => void thread.end(), options.idleMs).unref();
      return outcome;
    },
    close: async () => {
      isClosed = true;
      clearTimeout(idleTimer);
      await thread.release();
    },
  };
}

/** Several threads. A job goes to the one with the fewest jobs, so that no session waits for another as long as one is free. */
export function createJobThreads<A>(count: number, options: JobThreadOptions): JobThread<A> {
  const threads = Array.from({ length: count }, () => createJobThread<A>(options));
  return {
    get jobs() {
      return threads.reduce((sum, { jobs }) => sum + jobs, 0);
    },
    run: (makeJob, onQuestion) =>
      threads
        .reduce((best, other) => (other.jobs < best.jobs ? other : best))
        .run(makeJob, onQuestion),
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

interface JobLimit<A> {
  /** Resolves if the thread does not begin the job in time, or takes too long after it has begun. */
  readonly over: Promise<JobOutcome<A>>;
  begin(): void;
  stop(): void;
}

function startLimit<A>({
  timeoutMs,
  startTimeoutMs = usualStartMs,
}: JobThreadOptions): JobLimit<A> {
  const { promise: over, resolve } = Promise.withResolvers<JobOutcome<A>>();
  let timer = setTimeout(() => resolve({ kind: "failed" }), startTimeoutMs);
  return {
    over,
    begin: () => {
      clearTimeout(timer);
      timer = setTimeout(() => resolve({ kind: "too-slow" }), timeoutMs);
    },
    stop: () => clearTimeout(timer),
  };
}

async function answerTo(onQuestion: OnQuestion | undefined, asked: unknown): Promise<unknown> {
  return onQuestion?.(asked).catch(() => undefined);
}
