/** Waiting with time limits, so that no test hangs. */

/** The promise's value. After `limitMs`, rejects with an error that names the awaited thing. */
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

/** Calls `probe` until it returns a value, for states without an event. */
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
