/** Waits with an end: nothing in these tests may hang. */

/** The promise's value, or an error that names what was awaited when it takes longer than `limitMs`. */
export async function within<T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

export function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}

const POLL_MS = 20;

/** Asks again until `probe` gives a value, for states that announce themselves by no event. */
export async function eventually<T>(
  limitMs: number,
  what: string,
  probe: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${limitMs} ms`);
    await pause(POLL_MS);
  }
}
