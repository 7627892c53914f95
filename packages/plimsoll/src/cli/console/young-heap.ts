/** How much room V8 has for what lives only for a moment. */

import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * A service whose young generation stays at its first megabyte collects it with every fourth request. With one that grows
 * as V8 likes, bodies are freed late, by full collections. `npm run bench -- proxy` tells what lies between.
 */
const mostBytes = 8 * 1024 * 1024;

/** Contract: the growth factor is 1 before. */
export function growYoungHeap(): void {
  let factor = 1;
  const steer = (): void => {
    const wanted = youngBytes() < mostBytes ? 2 : 1;
    if (wanted !== factor) setFlagsFromString(`--semi-space-growth-factor=${wanted}`);
    factor = wanted;
  };
  // V8 decides on the next size when it collects: it is told before it does so again.
  new PerformanceObserver(steer).observe({ entryTypes: ["gc"] });
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young?.space_size ?? mostBytes;
}
