/**
 * How long work holds the event loop: the longest piece between two of its turns, in processor time of the main thread. The
 * clock would count what other programs on the machine take.
 */

export interface Held {
  /** Of the main thread's processor time, between two turns of the event loop. */
  readonly longestMs: number;
  readonly totalMs: number;
}

/** Measures this thread alone: the work of other threads and processes is left out. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** From now on, looks at every turn of the event loop. Contract: one piece of work at a time. */
export function watchEventLoop(): (work: () => Promise<unknown>) => Promise<Held> {
  let longestMs = 0;
  let last = processorMs();
  const look = (): void => {
    const now = processorMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    setTimeout(look, 1).unref();
  };
  look();
  return async (work) => {
    longestMs = 0;
    last = processorMs();
    const from = performance.now();
    await work();
    // What was held last is seen with the next look.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { longestMs, totalMs: performance.now() - from };
  };
}
