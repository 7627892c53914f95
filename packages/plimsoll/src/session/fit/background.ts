/** Work that nobody waits for, one piece after the other, while requests go on. */

import { setImmediate as nextTick } from "node:timers/promises";
import { Queue } from "../../bounds/queue.ts";

export interface Background {
  /** Contract: never throws; what the work throws is reported. False: a few hundred pieces wait already, and this one is not done. */
  run(work: () => Promise<void>): boolean;
  /** When everything that was begun is done. */
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
