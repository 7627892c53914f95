/** Runs one request at a time. While one is running, the next one waits. A newer request replaces the waiting one. */

export interface Asking<T> {
  ask(request: T): void;
  /** Drops the waiting request and aborts the running one. */
  close(): void;
}

/** Contract: `work` does not reject. */
export function oneAtATime<T>(work: (request: T, signal: AbortSignal) => Promise<void>): Asking<T> {
  const stop = new AbortController();
  let isRunning = false;
  let waiting: { readonly request: T } | undefined;

  const run = async (first: T): Promise<void> => {
    isRunning = true;
    waiting = { request: first };
    while (waiting !== undefined && !stop.signal.aborted) {
      const { request } = waiting;
      waiting = undefined;
      await work(request, stop.signal);
    }
    isRunning = false;
  };

  return {
    ask: (request) => {
      if (stop.signal.aborted) return;
      if (isRunning) waiting = { request };
      else void run(request);
    },
    close: () => {
      waiting = undefined;
      stop.abort();
    },
  };
}
