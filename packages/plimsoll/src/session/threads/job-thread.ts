/** One thread for jobs of one kind: started when needed, ended when idle, given up with a job that takes too long. */

import type { Worker } from "node:worker_threads";
import { endThread } from "../../work/thread-end.ts";

export interface JobThreadOptions {
  readonly startWorker: () => Worker;
  /** From when the thread begins with a job. */
  readonly timeoutMs: number;
  readonly idleMs: number;
  /** What may wait behind the job under way. */
  readonly waitingMax: number;
  /** The thread is gone, and with it whatever it kept. */
  readonly onEnd?: () => void;
}

/** Made only when its turn has come: what waits holds no second copy of anything. */
export type MakeJob = () => { readonly job: unknown; readonly transfer?: readonly ArrayBuffer[] };

export type JobOutcome<A> =
  | { readonly kind: "answered"; readonly answer: A }
  | { readonly kind: "too-slow" }
  /** The thread died or cannot be started, or too much is waiting. */
  | { readonly kind: "failed" }
  /** The product closes: nobody needs it any more, and it is not to be done elsewhere. */
  | { readonly kind: "closed" };

export interface JobThread<A> {
  /** Contract: never rejects; one job after the other. `onQuestion` answers what the thread asks while it works. */
  run(makeJob: MakeJob, onQuestion?: OnQuestion): Promise<JobOutcome<A>>;
  close(): Promise<void>;
}

export type OnQuestion = (asked: unknown) => Promise<unknown>;

/** From the thread: first that it begins, then what it must ask, then what came of it. */
export type JobReply<A> =
  | { readonly kind: "begun"; readonly id: number }
  | { readonly kind: "asks"; readonly id: number; readonly question: number; asked: unknown }
  | { readonly kind: "answered"; readonly id: number; readonly answer: A };

export interface JobRequest {
  readonly id: number;
  readonly job: unknown;
}

/** To the thread, in answer to a question; `answer` is undefined when there is none. */
export interface JobTold {
  readonly id: number;
  readonly question: number;
  readonly answer: unknown;
}

interface Waiting<A> {
  readonly makeJob: MakeJob;
  readonly onQuestion: OnQuestion | undefined;
  readonly settle: (outcome: JobOutcome<A>) => void;
}

/** A thread that has not even begun after this long will not. */
const startMs = 20_000;

export function createJobThread<A>(options: JobThreadOptions): JobThread<A> {
  const waiting: Waiting<A>[] = [];
  let current: (Waiting<A> & { readonly id: number }) | undefined;
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let jobs = 0;
  let isClosed = false;

  const leave = (): Worker | undefined => {
    const left = worker;
    worker = undefined;
    clearTimeout(timer);
    if (left !== undefined) options.onEnd?.();
    return left;
  };

  const finish = (outcome: JobOutcome<A>): void => {
    const done = current;
    current = undefined;
    clearTimeout(timer);
    done?.settle(outcome);
    advance();
  };

  const giveUp = (outcome: JobOutcome<A>): void => {
    // A job that never ends can only be stopped.
    void leave()?.terminate();
    finish(outcome);
  };

  const tell = (told: JobTold): void => {
    if (current?.id === told.id) worker?.postMessage(told);
  };

  const receive = (reply: JobReply<A>): void => {
    if (reply.id !== current?.id) return;
    if (reply.kind === "answered") finish({ kind: "answered", answer: reply.answer });
    else if (reply.kind === "asks") void answered(current.onQuestion, reply).then(tell);
    else {
      clearTimeout(timer);
      timer = setTimeout(() => giveUp({ kind: "too-slow" }), options.timeoutMs);
    }
  };

  const start = (): Worker => {
    const started = options.startWorker();
    const die = (): void => {
      if (worker === started) giveUp({ kind: "failed" });
    };
    started.on("message", receive);
    started.on("error", die);
    started.on("exit", die);
    return started;
  };

  const rest = (): void => {
    // Only while somebody waits for it may the thread keep the process alive.
    worker?.unref();
    timer = setTimeout(() => void endThread(leave()), options.idleMs).unref();
  };

  const advance = (): void => {
    if (current !== undefined) return;
    const next = waiting.shift();
    if (next === undefined) {
      if (worker !== undefined) rest();
      return;
    }
    clearTimeout(timer);
    jobs += 1;
    current = { ...next, id: jobs };
    timer = setTimeout(() => giveUp({ kind: "failed" }), startMs);
    try {
      worker ??= start();
      worker.ref();
      const { job, transfer = [] } = next.makeJob();
      worker.postMessage({ id: jobs, job } satisfies JobRequest, [...transfer]);
    } catch {
      giveUp({ kind: "failed" });
    }
  };

  return {
    run: (makeJob, onQuestion) => {
      if (isClosed) return Promise.resolve({ kind: "closed" });
      if (waiting.length >= options.waitingMax) return Promise.resolve({ kind: "failed" });
      return new Promise((settle) => {
        waiting.push({ makeJob, onQuestion, settle });
        advance();
      });
    },
    close: async () => {
      isClosed = true;
      const ending = endThread(leave());
      for (const { settle } of waiting.splice(0)) settle({ kind: "closed" });
      finish({ kind: "closed" });
      await ending;
    },
  };
}

async function answered(
  onQuestion: OnQuestion | undefined,
  { id, question, asked }: Extract<JobReply<never>, { kind: "asks" }>,
): Promise<JobTold> {
  return { id, question, answer: await onQuestion?.(asked).catch(() => undefined) };
}
