/** A sample of `npm run soak:start`: starts that are broken off anywhere are mended by the next one. */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  type Break,
  type FaultBench,
  faultKinds,
  openFaultBench,
  scenes,
} from "./harness/broken-start.ts";
import { effort, seedOr } from "./harness/effort.ts";

vi.setConfig({ testTimeout: 180_000 });

const SEED = seedOr(1);
const RUNS_COUNT = effort(8, 60);
const AT_ONCE = 4;
let bench: FaultBench;

beforeAll(() => {
  bench = openFaultBench();
});
afterAll(() => bench.close());

/** mulberry32: the same numbers for the same seed. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test(`${RUNS_COUNT} starts, broken off at calls by the seed ${SEED}, are all mended by a plain start`, async () => {
  const roll = dice(SEED);
  const calls = {
    first: await bench.calls("library", "first"),
    upgrade: await bench.calls("library", "upgrade"),
  };
  const breaks = Array.from({ length: RUNS_COUNT }, (_, index): Break => {
    const scene = scenes[index % scenes.length] ?? "first";
    const kind = faultKinds[Math.floor(roll() * faultKinds.length)] ?? "kill";
    const at = 1 + Math.floor(roll() * calls[scene].length);
    // The whole service now and then: it makes more files, and goes on where it can.
    return { program: index % 10 === 9 ? "serve" : "library", scene, kind, at };
  });
  const problems: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = breaks.pop(); next !== undefined; next = breaks.pop())
      for (const problem of await bench.judge(next)) problems.push({ ...next, problem });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(problems).toEqual([]);
});
