/**
 * Splits long work into steps, so that other work gets its turn in between. The caller passes the pause as an argument because
 * this folder has no timers.
 */

/** Resolves when other work has had its turn. */
export type Pause = () => Promise<void>;

/** Work that can be paused at every `yield` and resumed later. */
export type InSteps<T> = Generator<undefined, T>;

/**
 * Amount of work in one step. The unit is the work for one line; other work counts as the number of lines that would take as
 * long. One step takes about 10 ms.
 */
export const costPerStep = 4096;

/** Decides when a step is over. */
export class Steps {
  #spent = 0;

  /** `cost` is work that has just been done, in the unit of `costPerStep`. */
  isOver(cost: number): boolean {
    this.#spent += cost;
    if (this.#spent < costPerStep) return false;
    this.#spent = 0;
    return true;
  }
}

/** Without `pause`, runs the whole work at once, because nothing else is waiting. */
export function inSteps<T>(work: InSteps<T>, pause: Pause | undefined): T | Promise<T> {
  return pause === undefined ? allAtOnce(work) : stepByStep(work, pause);
}

export function allAtOnce<T>(work: InSteps<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

async function stepByStep<T>(work: InSteps<T>, pause: Pause): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await pause();
  }
}
