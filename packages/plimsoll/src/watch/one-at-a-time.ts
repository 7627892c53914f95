/** One request of a kind at a time: a wish that comes meanwhile waits, and a newer one takes its place. */

export interface Asking<T> {
  ask(wish: T): void;
  /** What waits is dropped, what runs is called off. */
  close(): void;
}

/** Contract: `work` does not reject. */
export function oneAtATime<T>(work: (wish: T, signal: AbortSignal) => Promise<void>): Asking<T> {
  const stop = new AbortController();
  let isRunning = false;
  let waiting: { readonly wish: T } | undefined;

  const run = async (first: T): Promise<void> => {
    isRunning = true;
    waiting = { wish: first };
    while (waiting !== undefined && !stop.signal.aborted) {
      const { wish } = waiting;
      waiting = undefined;
      await work(wish, stop.signal);
    }
    isRunning = false;
  };

  return {
    ask: (wish) => {
      if (stop.signal.aborted) return;
      if (isRunning) waiting = { wish };
      else void run(wish);
    },
    close: () => {
      waiting = undefined;
      stop.abort();
    },
  };
}
