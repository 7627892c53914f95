/**
 * Watches the event loop of a program that loads this file first (`node --import`), so that the program itself is measured and
 * not a copy of it. Writes its address into the file that PLIMSOLL_BENCH_LOOP names. `/drop` forgets what was seen since the last
 * call, and `/keep` keeps it; both answer with everything that was kept.
 */

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

export interface LoopFigures {
  /** How much later than asked for a timer was called. */
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The longest hold of the loop, in processor time of the main thread alone: what neighbours on the machine take is not in it. */
  readonly heldMs: number;
}

const resolutionMs = 1;
const nanosecondsPerMs = 1e6;
/** Of the delays of an interval, the longest are kept. That is enough for a percentile far above it. */
const keptShare = 0.25;

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function watch(file: string): void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const kept: number[] = [];
  let seen = 0;
  let held = 0;
  let keptHeld = 0;
  let last = processorMs();
  const look = (): void => {
    const now = processorMs();
    held = Math.max(held, now - last);
    last = now;
    setTimeout(look, resolutionMs).unref();
  };
  look();
  const figures = (): LoopFigures => {
    const longest = kept.toSorted((left, right) => right - left);
    return {
      p99Ms: longest[Math.floor(seen * 0.01)] ?? 0,
      maxMs: longest[0] ?? 0,
      heldMs: keptHeld,
    };
  };
  const server = createServer(({ url }, response) => {
    if (url === "/keep") {
      kept.push(...longestOf(delay));
      seen += delay.count;
      keptHeld = Math.max(keptHeld, held);
    }
    delay.reset();
    held = 0;
    response.end(JSON.stringify(figures()));
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1", () => {
    writeFileSync(file, String((server.address() as AddressInfo).port));
  });
  server.unref();
}

/** A histogram cannot be added to another, so its values are read off, one for each that it counted. */
function longestOf(delay: ReturnType<typeof monitorEventLoopDelay>): readonly number[] {
  const count = Math.ceil(delay.count * keptShare);
  return Array.from({ length: count }, (_, index) => {
    const nanoseconds = delay.percentile(100 * (1 - index / delay.count));
    // What it counts is from one call of its timer to the next.
    return Math.max(0, nanoseconds / nanosecondsPerMs - resolutionMs);
  });
}

const file = process.env["PLIMSOLL_BENCH_LOOP"];
if (isMainThread && file !== undefined) {
  // Processes that the program starts are not meant.
  delete process.env["PLIMSOLL_BENCH_LOOP"];
  watch(file);
}
