/** Runs background tasks one after the other, while requests continue. */

import { setImmediate as nextTick } from "node:timers/promises";
import { Queue } from "../../bounds/queue.ts";

export interface Background {
  /**
   * Contract: never throws; if the work fails, the failure is reported. Returns false and skips the work if too many tasks are
   * waiting.
   */
  run(work: () => Promise<void>): boolean;
  /** Resolves when all work that was started is done. */
  idle(): Promise<void>;
}

const waitingMax = 256;

export function createBackground(onFailure: (error: unknown) => void): Background {
  const queue = new Queue();
  const later = async (work: () => Promise<void>): Promise<void> => {
    await nextTick();
    await work();
  };
  return {
    run: (work) => {
      if (queue.count >= waitingMax) return false;
      queue.run(() => later(work)).catch(onFailure);
      return true;
    },
    idle: () => queue.idle(),
  };
}
