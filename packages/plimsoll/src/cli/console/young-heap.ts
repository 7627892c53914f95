/** Controls the size of V8's memory for short-lived objects (the young generation). */

import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * Maximum size of the young generation. If the size stays at its initial megabyte, V8 collects garbage at every fourth request.
 * If the size may grow freely, bodies are freed late, by full collections. To try values in between, run `npm run bench --
 * proxy`.
 */
const mostBytes = 8 * 1024 * 1024;

/** Lets V8 grow the young generation up to `mostBytes`. Contract: V8's growth factor must be 1 before the call. */
export function growYoungHeap(): void {
  let factor = 1;
  const steer = (): void => {
    const wanted = youngBytes() < mostBytes ? 2 : 1;
    if (wanted !== factor) setFlagsFromString(`--semi-space-growth-factor=${wanted}`);
    factor = wanted;
  };
  // V8 chooses the next size during a garbage collection, so the flag is set after each collection for the next one.
  new PerformanceObserver(steer).observe({ entryTypes: ["gc"] });
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young?.space_size ?? mostBytes;
}
