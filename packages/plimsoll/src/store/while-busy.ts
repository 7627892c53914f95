/** Waits for a database that another process is opening, migrating or writing. */

const pauseMs = 20;

/**
 * Waits by itself, because SQLite's own busy timeout does not always apply: if two connections switch a database to a write-ahead
 * log at the same time, one of them gets "locked" immediately.
 * Contract: rethrows the error of `work` if the error does not come from a lock, or if the lock lasts too long.
 */
export function whileBusy<T>(work: () => T, waitMs: number): T {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}
