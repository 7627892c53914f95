/** A time limit for work that may never end. */

/**
 * What the work gives, or what `onLate` gives or throws when the time is over. Contract: late work goes on by itself, and
 * nobody hears what comes of it.
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
