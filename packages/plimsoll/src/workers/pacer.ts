/** Spreads many small pieces of work over the turns of the event loop, so that none of them keeps other work waiting for long. */

export interface Pacer {
  /** Whether work of this cost may still wait. If not, the caller should do it elsewhere. */
  hasRoom(cost: number): boolean;
  /**
   * Waits until work of this cost may start. Returns undefined if it may start now. Work starts in the order of the calls, with
   * about `costPerTurn` in each turn of the event loop.
   */
  pass(cost: number): Promise<void> | undefined;
  /**
   * Like `pass`, but the work never starts before the next turn, so that the caller can go on first. Lanes take turns, so the work
   * of one does not wait until all the work of another is done.
   */
  passLater(cost: number, lane?: string): Promise<void>;
}

export interface PacerOptions {
  /** Maximum cost of the work in one turn of the event loop. A single piece of work may cost more. */
  readonly costPerTurn: number;
  /** Maximum cost of the work that waits. Default: no limit, because the caller has a bound of its own. */
  readonly backlogMax?: number;
}

interface Work {
  readonly cost: number;
  readonly go: () => void;
}

/** The work of one lane, in order. The first `begun` pieces of it have begun. */
interface Lane {
  readonly works: Work[];
  begun: number;
}

export function createPacer({
  costPerTurn,
  backlogMax = Number.POSITIVE_INFINITY,
}: PacerOptions): Pacer {
  /** What waits, by lane. The lane whose turn it is comes first. */
  const lanes = new Map<string, Lane>();
  let backlog = 0;
  let spent = 0;
  let isScheduled = false;

  const isFree = (cost: number): boolean => spent === 0 || spent + cost <= costPerTurn;
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(startTurn);
  };
  /** The next piece of work, if this turn has time for it. Its lane goes to the end. */
  const next = (): Work | undefined => {
    const [[name, lane] = []] = lanes;
    const work = lane?.works[lane.begun];
    if (name === undefined || lane === undefined || work === undefined || !isFree(work.cost))
      return undefined;
    lane.begun++;
    lanes.delete(name);
    if (lane.begun < lane.works.length) lanes.set(name, lane);
    return work;
  };
  const startTurn = (): void => {
    isScheduled = false;
    spent = 0;
    const begun: Work[] = [];
    for (let work = next(); work !== undefined; work = next()) {
      spent += work.cost;
      backlog -= work.cost;
      begun.push(work);
    }
    if (begun.length === 0) return;
    schedule();
    for (const { go } of begun) go();
  };
  const wait = (cost: number, name = ""): Promise<void> => {
    backlog += cost;
    schedule();
    const lane = lanes.get(name) ?? { works: [], begun: 0 };
    lanes.set(name, lane);
    return new Promise((go) => lane.works.push({ cost, go }));
  };
  return {
    hasRoom: (cost) => backlog + cost <= backlogMax,
    pass: (cost) => {
      if (lanes.size > 0 || !isFree(cost)) return wait(cost);
      spent += cost;
      schedule();
      return undefined;
    },
    passLater: wait,
  };
}
