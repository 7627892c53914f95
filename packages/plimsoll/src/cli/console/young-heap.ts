/** The size of V8's memory for short-lived objects. */

import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * Maximum size of the young generation. If it stays at its initial megabyte, a service collects it every fourth request. If V8
 * may grow it freely, bodies are freed late, by full collections. To try values in between, run `npm run bench -- proxy`.
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
  // V8 decides on the next size during a collection, so the flag is set before the next one.
  new PerformanceObserver(steer).observe({ entryTypes: ["gc"] });
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young?.space_size ?? mostBytes;
}
