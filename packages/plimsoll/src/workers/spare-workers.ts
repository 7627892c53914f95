/**
 * Keeps workers for a moment after their owner has closed, for the next owner in this process, because starting a worker takes
 * longer than most jobs. Only for workers that keep nothing of their jobs.
 */

import type { Worker } from "node:worker_threads";
import { endThread } from "./thread-end.ts";

export interface SpareWorkers {
  /** Returns a spare worker, or a new one if there is none. */
  readonly startWorker: () => Worker;
  /** Contract: the worker is idle, and nobody listens to it any more. */
  readonly giveWorker: (worker: Worker) => void;
}

/** Maximum number of spare workers. A further one is ended at once. */
const spareMax = 4;
/** How long a spare worker is kept, in milliseconds. */
const keepMs = 5000;

export function createSpareWorkers(startWorker: () => Worker): SpareWorkers {
  /** Each spare worker, and the function that takes it off this list. */
  const spare = new Map<Worker, () => void>();

  const giveWorker = (worker: Worker): void => {
    if (spare.size >= spareMax) {
      void endThread(worker);
      return;
    }
    const leave = (): void => {
      clearTimeout(timer);
      worker.off("error", leave).off("exit", leave);
      spare.delete(worker);
    };
    const timer = setTimeout(() => {
      leave();
      void endThread(worker);
    }, keepMs).unref();
    worker.on("error", leave).on("exit", leave);
    // A spare worker must not keep the process alive.
    worker.unref();
    spare.set(worker, leave);
  };

  const takeOrStart = (): Worker => {
    const [first] = spare;
    if (first === undefined) return startWorker();
    const [worker, leave] = first;
    leave();
    return worker;
  };

  return { startWorker: takeOrStart, giveWorker };
}
