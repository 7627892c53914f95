/** Work that nobody waits for, one piece after the other, while requests go on. */

import { setImmediate as nextTick } from "node:timers/promises";

export interface Background {
  /** Contract: never throws; what the work throws is reported. False: a few hundred pieces wait already, and this one is not done. */
  run(work: () => Promise<void>): boolean;
  /** When everything that was begun is done. */
  idle(): Promise<void>;
}

const waitingMax = 256;

export function createBackground(onFailure: (error: unknown) => void): Background {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  const one = async (work: () => Promise<void>): Promise<void> => {
    await nextTick();
    try {
      await work();
    } catch (error) {
      onFailure(error);
    } finally {
      waiting--;
    }
  };
  return {
    run: (work) => {
      if (waiting >= waitingMax) return false;
      waiting++;
      last = last.then(() => one(work));
      return true;
    },
    idle: () => last,
  };
}
