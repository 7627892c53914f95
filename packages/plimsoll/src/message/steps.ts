/** Long work in steps, between which others get their turn. How that is done arrives as an argument: this folder has no timers. */

/** Resolves when the others have had their turn. */
export type Pause = () => Promise<void>;

/** Work that may be left at every `yield`, and gone on with. */
export type InSteps<T> = Generator<undefined, T>;

/** So many lines, or as much other work, in one piece: about 10 ms. */
export const costPerStep = 4096;

/** Says when a step is over. */
export class Steps {
  #spent = 0;

  isOver(cost: number): boolean {
    this.#spent += cost;
    if (this.#spent < costPerStep) return false;
    this.#spent = 0;
    return true;
  }
}

/** Without `pause` nobody else is there, and the work is done at once. */
export function inSteps<T>(work: InSteps<T>, pause: Pause | undefined): T | Promise<T> {
  return pause === undefined ? allAtOnce(work) : stepByStep(work, pause);
}

function allAtOnce<T>(work: InSteps<T>): T {
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
