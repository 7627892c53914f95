/** Waiting for a database that another process is opening, migrating or writing. */

const pauseMs = 20;

/**
 * SQLite's own busy timeout does not hold everywhere: of two connections that switch a database to its write-ahead log at
 * once, one is told that it is locked without any wait.
 * Contract: throws what `work` threw when that is not a lock, or when the lock lasts.
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
