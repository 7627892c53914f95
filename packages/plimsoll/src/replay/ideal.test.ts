import { describe, expect, it } from "vitest";
import { openCacheModel } from "../prompt/cache-model.ts";
import type { Run, Sent } from "./blocks.ts";
import { idealRun } from "./ideal.ts";

/** A request of this many tokens, 300 of which are the head and the task. */
function sent(tokens: number, isCompacted = false): Sent {
  const blocks = [
    { key: "head", tokens: 100 },
    { key: "task", tokens: 200 },
    ...(tokens === 300 ? [] : [{ key: `rest of ${tokens}`, tokens: tokens - 300 }]),
  ];
  return {
    request: { blocks, marks: [], tokens, headBlocks: 1 },
    billed: { fresh: tokens, cacheRead: 0, cacheWrite: 0 },
    prefixTokens: 0,
    output: 10,
    isCompacted,
    isOverWindow: false,
  };
}

function prefixesOf(run: Run): readonly (number | undefined)[] {
  const model = openCacheModel({ kind: "unknown" });
  return idealRun(run, model, 20).map((one) => one?.prefixTokens);
}

describe("the ideal of a run", () => {
  it("continues every request, and begins again behind the task at a compaction", () => {
    const run = [sent(300), sent(700), sent(1_000), sent(600, true), sent(900)];
    expect(prefixesOf(run)).toEqual([0, 300, 700, 300, 600]);
  });

  it("is as large as the run, turn by turn", () => {
    const run = [sent(300), sent(700), sent(500, true), sent(800)];
    const ideal = idealRun(run, openCacheModel({ kind: "unknown" }), 20);
    expect(ideal.map((one) => one?.billed.fresh)).toEqual([300, 700, 500, 800]);
  });

  it("has what still fits of the last request, where a run shrinks without a compaction", () => {
    expect(prefixesOf([sent(300), sent(700), sent(650)])).toEqual([0, 300, 300]);
  });

  it("leaves out what was refused", () => {
    expect(prefixesOf([sent(300), undefined, sent(700)])).toEqual([0, undefined, 300]);
  });

  it("reads from the cache all that it shares", () => {
    const rule = {
      kind: "automatic",
      minTokens: 100,
      stepTokens: 100,
      ttlSeconds: 300,
      hasWritePrice: false,
    } as const;
    const run = idealRun([sent(300), sent(700), sent(500, true)], openCacheModel(rule), 20);
    expect(run.map((one) => one?.billed.cacheRead)).toEqual([0, 300, 300]);
  });
});
