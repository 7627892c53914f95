/** Spreads many small pieces of work over the turns of the event loop, so that none of them keeps other work waiting for long. */

export interface Pacer {
  /** Whether work of this cost may still wait. If not, the caller should do it elsewhere. */
  hasRoom(cost: number): boolean;
  /**
   * Waits until work of this cost may start. Returns undefined if it may start now. Work starts in the order of the calls, with
   * about `costPerTurn` in each turn of the event loop.
   */
  pass(cost: number): Promise<void> | undefined;
  /** Like `pass`, but the work never starts before the next turn, so that the caller can go on first. */
  passLater(cost: number): Promise<void>;
}

export interface PacerOptions {
  /** Maximum cost of the work in one turn of the event loop. A single piece of work may cost more. */
  readonly costPerTurn: number;
  /** Maximum cost of the work that waits. Default: no limit, because the caller has a bound of its own. */
  readonly backlogMax?: number;
}

export function createPacer({
  costPerTurn,
  backlogMax = Number.POSITIVE_INFINITY,
}: PacerOptions): Pacer {
  let waiting: { readonly cost: number; readonly go: () => void }[] = [];
  let backlog = 0;
  let spent = 0;
  let isScheduled = false;

  const isFree = (cost: number): boolean => spent === 0 || spent + cost <= costPerTurn;
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(startTurn);
  };
  const startTurn = (): void => {
    isScheduled = false;
    spent = 0;
    let count = 0;
    for (const { cost } of waiting) {
      if (!isFree(cost)) break;
      spent += cost;
      backlog -= cost;
      count++;
    }
    if (count === 0) return;
    schedule();
    const begun = waiting.slice(0, count);
    waiting = waiting.slice(count);
    for (const { go } of begun) go();
  };
  const wait = (cost: number): Promise<void> => {
    backlog += cost;
    schedule();
    return new Promise((go) => waiting.push({ cost, go }));
  };
  return {
    hasRoom: (cost) => backlog + cost <= backlogMax,
    pass: (cost) => {
      if (waiting.length > 0 || !isFree(cost)) return wait(cost);
      spent += cost;
      schedule();
      return undefined;
    },
    passLater: wait,
  };
}
