import { describe, expect, it } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import {
  type CacheBlock,
  type CacheMark,
  type CacheRequest,
  commonPrefixTokens,
  type InputTokens,
  openCacheModel,
  tokensOf,
} from "./cache-model.ts";
import type { CacheRule } from "./price-rows.ts";

const marks: CacheRule = {
  kind: "marks",
  minTokens: 100,
  ttlSeconds: 300,
  longTtlSeconds: 3_600,
  maxMarks: 4,
  lookbackBlocks: 20,
};
const automatic: CacheRule = {
  kind: "automatic",
  minTokens: 100,
  stepTokens: 10,
  ttlSeconds: 300,
  hasWritePrice: false,
};
const charged: CacheRule = { ...automatic, hasWritePrice: true };
const rules = [marks, automatic, charged, { kind: "unknown" }] as const;

const block = (key: string, tokens = 50): CacheBlock => ({ key, tokens });
const row = (text: string, tokens = 50): readonly CacheBlock[] =>
  [...text].map((key) => block(key, tokens));
const atEnd = (blocks: readonly CacheBlock[]): CacheRequest => ({
  blocks,
  marks: [{ block: blocks.length - 1 }],
});
const sent = (tokens: InputTokens): number =>
  tokens.fresh + tokens.cacheRead + tokens.cacheWrite + (tokens.cacheWriteLong ?? 0);

/** A conversation that grows, and is sometimes cut or changed somewhere. */
function randomRequests(seed: number): readonly CacheRequest[] {
  const roll = diceOf(seed);
  const dice = (below: number): number => Math.floor(roll() * below);
  let blocks: readonly CacheBlock[] = row("st", 20 + dice(100));
  return Array.from({ length: 40 }, (_, turn) => {
    const added = Array.from({ length: dice(6) }, (_, index) =>
      block(`${turn}.${index}`, dice(90)),
    );
    blocks = [...blocks, ...added];
    const kind = dice(5);
    if (kind === 0) blocks = blocks.toSpliced(1 + dice(blocks.length), dice(8));
    if (kind === 1 && blocks.length > 0)
      blocks = blocks.with(dice(blocks.length), block(`changed ${turn}`, dice(50)));
    const marked = Array.from(
      { length: dice(4) },
      (): CacheMark => ({ block: dice(blocks.length + 2), isLong: dice(3) === 0 }),
    );
    return { blocks, marks: [...marked, { block: blocks.length - 1 }] };
  });
}

describe("a simulated cache", () => {
  it("never reads more than a beginning that was sent before, and loses no token", () => {
    for (const rule of rules) {
      for (let seed = 1; seed <= 60; seed++) {
        const model = openCacheModel(rule);
        const before: CacheRequest[] = [];
        for (const [turn, request] of randomRequests(seed).entries()) {
          const tokens = model.take(request, turn * 20);
          const longest = Math.max(
            0,
            ...before.map(({ blocks }) => commonPrefixTokens(request.blocks, blocks)),
          );
          expect(tokens.cacheRead).toBeLessThanOrEqual(longest);
          expect(sent(tokens)).toBe(tokensOf(request.blocks));
          expect(Math.min(...Object.values(tokens))).toBeGreaterThanOrEqual(0);
          before.push(request);
        }
      }
    }
  });

  it.each([
    [marks, 1],
    [automatic, 10],
    [charged, 10],
  ] as const)(
    "reads a repeated request up to its last mark or step, and nothing after its time",
    (rule, step) => {
      for (let seed = 1; seed <= 30; seed++) {
        const model = openCacheModel(rule);
        for (const [turn, request] of randomRequests(seed).entries()) {
          const at = turn * 10_000;
          const isLong = (request.marks ?? []).some((mark) => mark.isLong === true);
          const total = tokensOf(request.blocks);
          const reach = total < 100 ? 0 : Math.floor(total / step) * step;
          expect(model.take(request, at).cacheRead).toBe(0);
          expect(model.take(request, at + 1).cacheRead).toBe(reach);
          expect(model.take(request, at + (isLong ? 3_700 : 302)).cacheRead).toBe(0);
        }
      }
    },
  );

  it("bills everything as fresh where nothing is known", () => {
    const model = openCacheModel({ kind: "unknown" });
    for (const at of [0, 1])
      expect(model.take({ blocks: row("abc") }, at)).toEqual({
        fresh: 150,
        cacheRead: 0,
        cacheWrite: 0,
      });
  });
});

describe("a cache with marks", () => {
  it("writes behind what it reads, up to the last mark, and leaves the rest fresh", () => {
    const model = openCacheModel(marks);
    expect(model.take(atEnd(row("abc")), 0)).toEqual({ fresh: 0, cacheRead: 0, cacheWrite: 150 });
    const grown = { blocks: row("abcde"), marks: [{ block: 3 }] };
    expect(model.take(grown, 10)).toEqual({ fresh: 50, cacheRead: 150, cacheWrite: 50 });
  });

  it("keeps nothing without marks, and nothing that is too short", () => {
    const model = openCacheModel(marks);
    const bare = { blocks: row("abc") };
    model.take(bare, 0);
    expect(model.take(bare, 1)).toEqual({ fresh: 150, cacheRead: 0, cacheWrite: 0 });
    const short = { blocks: row("a"), marks: [{ block: 0 }] };
    model.take(short, 2);
    expect(model.take(short, 3)).toEqual({ fresh: 50, cacheRead: 0, cacheWrite: 0 });
  });

  it("looks back over twenty blocks and no further", () => {
    const long = [...row("abc"), ...Array.from({ length: 20 }, (_, index) => block(`n${index}`))];
    const near = openCacheModel(marks);
    near.take(atEnd(row("abc")), 0);
    expect(near.take(atEnd(long.slice(0, 22)), 1).cacheRead).toBe(150);
    const far = openCacheModel(marks);
    far.take(atEnd(row("abc")), 0);
    expect(far.take(atEnd(long), 1).cacheRead).toBe(0);
    // A mark at the end of the last request still finds the entry.
    const helped = openCacheModel(marks);
    helped.take(atEnd(row("abc")), 0);
    const both = { blocks: long, marks: [{ block: 2 }, { block: long.length - 1 }] };
    expect(helped.take(both, 1).cacheRead).toBe(150);
  });

  it("lives on with each read", () => {
    const model = openCacheModel(marks);
    const request = atEnd(row("abc"));
    for (const at of [0, 290, 580, 870]) model.take(request, at);
    expect(model.take(request, 1_160).cacheRead).toBe(150);
    expect(model.take(request, 1_461).cacheRead).toBe(0);
  });

  it("keeps alive what another request finds on its way back", () => {
    const model = openCacheModel(marks);
    model.take(atEnd(row("abc")), 0);
    expect(model.take(atEnd(row("abcx")), 290).cacheRead).toBe(150);
    expect(model.take(atEnd(row("abcy")), 580).cacheRead).toBe(150);
  });

  it("bills what is kept for an hour apart, and keeps it so long", () => {
    const model = openCacheModel(marks);
    const request = {
      blocks: row("abcd"),
      marks: [{ block: 1, isLong: true }, { block: 3 }],
    };
    expect(model.take(request, 0)).toEqual({
      fresh: 0,
      cacheRead: 0,
      cacheWrite: 100,
      cacheWriteLong: 100,
    });
    expect(model.take(request, 3_000)).toEqual({ fresh: 0, cacheRead: 100, cacheWrite: 100 });
  });
});

describe("an automatic cache", () => {
  it("reads in steps what a request begins with", () => {
    const model = openCacheModel(automatic);
    model.take({ blocks: row("abc", 57) }, 0);
    expect(model.take({ blocks: row("abx", 57) }, 1)).toEqual({
      fresh: 61,
      cacheRead: 110,
      cacheWrite: 0,
    });
  });

  it("finds any request that is alive, not only the last", () => {
    const model = openCacheModel(automatic);
    model.take({ blocks: row("abc") }, 0);
    model.take({ blocks: row("xyz") }, 1);
    expect(model.take({ blocks: row("abcd") }, 2).cacheRead).toBe(150);
  });

  it("bills a write only where writing has a price", () => {
    const model = openCacheModel(charged);
    expect(model.take({ blocks: row("abc", 57) }, 0)).toEqual({
      fresh: 1,
      cacheRead: 0,
      cacheWrite: 170,
    });
  });
});
