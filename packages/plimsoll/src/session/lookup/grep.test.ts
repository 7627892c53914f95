import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { LineMatches, MatchWindow } from "../../offload/read-matches.ts";
import { startOfCharacter } from "../../offload/text-bytes.ts";
import { createGrep, type Grep, type GrepOptions } from "./grep.ts";
import { scanPattern, scanString } from "./grep-scan.ts";

const open: Grep[] = [];
afterEach(async () => {
  for (const grep of open.splice(0)) await grep.close();
});

function grepWith(options: GrepOptions = {}): Grep {
  const grep = createGrep(options);
  open.push(grep);
  return grep;
}

const first = (most: number): MatchWindow => ({ from: 0, most });
const firstFifty = first(50);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function linesOf(found: LineMatches): readonly number[] {
  if (found.kind !== "matched") throw new Error(found.kind);
  return found.matches.map(({ line }) => line);
}

const neverStarted = (): Worker => {
  throw new Error("a thread was started");
};

describe("a pattern of a model's", () => {
  test("is matched line by line", async () => {
    const { matchLines } = grepWith();
    const found = await matchLines(bytesOf("one 1\ntwo\r\nthree 33\r\n"), "\\d+$", firstFifty);
    expect(found).toEqual({
      kind: "matched",
      matches: [
        { line: 0, start: 0, end: 5, from: 4 },
        { line: 2, start: 11, end: 20, from: 17 },
      ],
      total: 2,
      isMore: false,
      isLiteral: false,
    });
  });

  test("without metacharacters is searched at once, without a thread", async () => {
    const { matchLines } = grepWith({ startWorker: neverStarted });
    expect(linesOf(await matchLines(bytesOf("a\nb c\nd\nb c"), "b c", firstFifty))).toEqual([1, 3]);
  });

  test("that is invalid is taken literally", async () => {
    const { matchLines } = grepWith({ startWorker: neverStarted });
    const found = await matchLines(bytesOf("f(x\nfx"), "f(", firstFifty);
    expect(found).toMatchObject({ isLiteral: true, total: 1 });
  });

  test("may ignore case, as other dialects write it", async () => {
    const { matchLines } = grepWith();
    expect(linesOf(await matchLines(bytesOf("ERROR\nok"), "(?i)err.r", firstFifty))).toEqual([0]);
  });

  test("that would never end is ended, and the next one works", async () => {
    const { matchLines } = grepWith({ timeoutMs: 300 });
    const hostile = bytesOf(`${"a".repeat(1_000_000)}!`);
    expect(await matchLines(hostile, "(a+)+$", firstFifty)).toEqual({ kind: "too-slow" });
    expect(hostile.length).toBe(1_000_001);
    expect(linesOf(await matchLines(bytesOf("x\nab1"), "ab\\d", firstFifty))).toEqual([1]);
  });

  test("waits for its turn, and is refused when too many wait", async () => {
    const { matchLines } = grepWith({ waitingMax: 2 });
    const text = bytesOf("ab");
    const kinds = await Promise.all([1, 2, 3, 4, 5].map(() => matchLines(text, "a.", firstFifty)));
    expect(kinds.map(({ kind }) => kind)).toEqual([
      ...["matched", "matched", "matched"],
      ...["failed", "failed"],
    ]);
  });

  test("fails where no thread can be started, and nothing is thrown", async () => {
    const { matchLines } = grepWith({ startWorker: neverStarted });
    expect(await matchLines(bytesOf("ab"), "a.", firstFifty)).toEqual({ kind: "failed" });
  });

  test("fails with a thread that dies, and the next one gets another", async () => {
    let started = 0;
    const { matchLines } = grepWith({
      startWorker: () => {
        started += 1;
        return started === 1
          ? new Worker("process.exit(1)", { eval: true })
          : new Worker(new URL("./grep-worker.ts", import.meta.url));
      },
    });
    expect(await matchLines(bytesOf("ab"), "a.", firstFifty)).toEqual({ kind: "failed" });
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", firstFifty))).toEqual([0]);
  });

  test("finds another thread after the first was ended for being idle", async () => {
    let started = 0;
    const ended = Promise.withResolvers<number>();
    const { matchLines } = grepWith({
      idleMs: 1,
      startWorker: () => {
        started += 1;
        const worker = new Worker(new URL("./grep-worker.ts", import.meta.url));
        worker.on("exit", ended.resolve);
        return worker;
      },
    });
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", firstFifty))).toEqual([0]);
    // An idle thread does not keep the process alive, so something must wait for its end.
    const waiting = setInterval(() => undefined, 1000);
    await ended.promise;
    clearInterval(waiting);
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", firstFifty))).toEqual([0]);
    expect(started).toBe(2);
  });

  test("is not matched after the end", async () => {
    const grep = grepWith();
    const waiting = grep.matchLines(bytesOf("ab"), "a.", firstFifty);
    await grep.close();
    expect(await waiting).toEqual({ kind: "failed" });
    expect(await grep.matchLines(bytesOf("ab"), "a.", firstFifty)).toEqual({ kind: "failed" });
  });

  test("is matched in 50 MB, of which the caller keeps all", async () => {
    const { matchLines } = grepWith({ timeoutMs: 30_000 });
    const line = `${"lorem ipsum ".repeat(8)}\n`;
    const text = bytesOf(`${line.repeat(500_000)}needle 7\n`);
    const found = await matchLines(text, "needle \\d", firstFifty);
    expect(linesOf(found)).toEqual([500_000]);
    expect(linesOf(await matchLines(text, "needle", firstFifty))).toEqual([500_000]);
    expect(text.length).toBeGreaterThan(48_000_000);
  });
});

describe("what is found", () => {
  test("is the same for a string and for the pattern that matches it", () => {
    const piece = fc.constantFrom("a", "b", "é", "\n", "ab", "-".repeat(600));
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }),
        fc.constantFrom("a", "ab", "é"),
        (all, wanted) => {
          const bytes = bytesOf(all.join(""));
          for (const from of [0, 1, 3, Math.floor(bytes.length / 2)]) {
            const window = { from: startOfCharacter(bytes, from), most: 5 };
            const found = scanPattern(bytes, new RegExp(wanted), window);
            expect(found).toEqual(scanString(bytes, wanted, window));
          }
        },
      ),
    );
  });

  test("stands where it says", () => {
    const bytes = bytesOf("é é\nxé needle");
    const [match] = scanString(bytes, "needle", first(5)).matches;
    expect(new TextDecoder().decode(bytes.subarray(match?.from))).toBe("needle");
    expect(new TextDecoder().decode(bytes.subarray(match?.start, match?.end))).toBe("xé needle");
  });

  test("is each match in a line without end", () => {
    const found = scanPattern(
      bytesOf(`${"needle ".repeat(300)}\nneedle needle`),
      /needle/,
      first(3),
    );
    expect(found.matches.map(({ from }) => from)).toEqual([0, 7, 14]);
    expect(found.total).toBe(301);
  });

  test("is counted up to a bound", () => {
    const found = scanString(bytesOf("a\n".repeat(20_000)), "a", first(3));
    expect(found).toMatchObject({ total: 10_000, isMore: true });
    expect(scanPattern(bytesOf("a\n".repeat(20_000)), /a/, first(3))).toEqual(found);
  });

  test("is every line for a pattern that matches nothing of it, once", () => {
    const long = "x".repeat(2000);
    expect(scanPattern(bytesOf(`a\n${long}`), /$/, first(9)).total).toBe(2);
    expect(scanPattern(bytesOf(long), /y*/, first(9)).total).toBe(2001);
  });

  test("begins where it is asked to, and looks at what stands before it", () => {
    const long = `${"-".repeat(1200)}hit hit`;
    const bytes = bytesOf(long);
    const froms = (pattern: RegExp, from: number): readonly number[] =>
      scanPattern(bytes, pattern, { from, most: 9 }).matches.map((match) => match.from);
    expect(froms(/hit/, 1201)).toEqual([1204]);
    expect(froms(/^hit/, 1200)).toEqual([]);
    expect(froms(/(?<=-)hit/, 1200)).toEqual([1200]);
    expect(froms(/$/, 1207)).toEqual([1207]);
    expect(scanString(bytes, "hit", { from: 1201, most: 9 }).total).toBe(1);
  });

  test("begins between characters", () => {
    const found = scanPattern(bytesOf(`${"😀".repeat(300)}x`), /y*/, first(400));
    const froms = Array.from({ length: 302 }, (_, index) => Math.min(index * 4, 1201));
    expect(found.matches.map(({ from }) => from)).toEqual(froms);
  });
});
