/** A time limit for work that may never end. */

/**
 * Returns the result of the work. If the work takes too long, calls `onLate` and returns its result or throws its error.
 * Contract: the work is not stopped, and its late result is ignored.
 */
export async function withTimeout<T, L = never>(
  work: T | Promise<T>,
  timeoutMs: number,
  onLate: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  }).then(onLate);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
