import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { LineMatches } from "../offload/read-matches.ts";
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
    const found = await matchLines(bytesOf("one 1\ntwo\r\nthree 33\r\n"), "\\d+$", 50);
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
    expect(linesOf(await matchLines(bytesOf("a\nb c\nd\nb c"), "b c", 50))).toEqual([1, 3]);
  });

  test("that is invalid is taken literally", async () => {
    const { matchLines } = grepWith({ startWorker: neverStarted });
    const found = await matchLines(bytesOf("f(x\nfx"), "f(", 50);
    expect(found).toMatchObject({ isLiteral: true, total: 1 });
  });

  test("may ignore case, as other dialects write it", async () => {
    const { matchLines } = grepWith();
    expect(linesOf(await matchLines(bytesOf("ERROR\nok"), "(?i)err.r", 50))).toEqual([0]);
  });

  test("that would never end is ended, and the next one works", async () => {
    const { matchLines } = grepWith({ timeoutMs: 300 });
    const hostile = bytesOf(`${"a".repeat(1_000_000)}!`);
    expect(await matchLines(hostile, "(a+)+$", 50)).toEqual({ kind: "too-slow" });
    expect(hostile.length).toBe(1_000_001);
    expect(linesOf(await matchLines(bytesOf("x\nab1"), "ab\\d", 50))).toEqual([1]);
  });

  test("waits for its turn, and is refused when too many wait", async () => {
    const { matchLines } = grepWith({ waitingMax: 2 });
    const text = bytesOf("ab");
    const kinds = await Promise.all([1, 2, 3, 4, 5].map(() => matchLines(text, "a.", 50)));
    expect(kinds.map(({ kind }) => kind)).toEqual([
      ...["matched", "matched", "matched"],
      ...["failed", "failed"],
    ]);
  });

  test("fails where no thread can be started, and nothing is thrown", async () => {
    const { matchLines } = grepWith({ startWorker: neverStarted });
    expect(await matchLines(bytesOf("ab"), "a.", 50)).toEqual({ kind: "failed" });
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
    expect(await matchLines(bytesOf("ab"), "a.", 50)).toEqual({ kind: "failed" });
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", 50))).toEqual([0]);
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
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", 50))).toEqual([0]);
    // An idle thread keeps no process alive, so its end needs somebody who waits.
    const waiting = setInterval(() => undefined, 1000);
    await ended.promise;
    clearInterval(waiting);
    expect(linesOf(await matchLines(bytesOf("ab"), "a.", 50))).toEqual([0]);
    expect(started).toBe(2);
  });

  test("is not matched after the end", async () => {
    const grep = grepWith();
    const waiting = grep.matchLines(bytesOf("ab"), "a.", 50);
    await grep.close();
    expect(await waiting).toEqual({ kind: "failed" });
    expect(await grep.matchLines(bytesOf("ab"), "a.", 50)).toEqual({ kind: "failed" });
  });

  test("is matched in 50 MB, of which the caller keeps all", async () => {
    const { matchLines } = grepWith({ timeoutMs: 30_000 });
    const line = `${"lorem ipsum ".repeat(8)}\n`;
    const text = bytesOf(`${line.repeat(500_000)}needle 7\n`);
    const found = await matchLines(text, "needle \\d", 50);
    expect(linesOf(found)).toEqual([500_000]);
    expect(linesOf(await matchLines(text, "needle", 50))).toEqual([500_000]);
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
          expect(scanPattern(bytes, new RegExp(wanted), 5)).toEqual(scanString(bytes, wanted, 5));
        },
      ),
    );
  });

  test("stands where it says", () => {
    const bytes = bytesOf("é é\nxé needle");
    const [match] = scanString(bytes, "needle", 5).matches;
    expect(new TextDecoder().decode(bytes.subarray(match?.from))).toBe("needle");
    expect(new TextDecoder().decode(bytes.subarray(match?.start, match?.end))).toBe("xé needle");
  });

  test("is each match in a line without end", () => {
    const found = scanPattern(bytesOf(`${"needle ".repeat(300)}\nneedle needle`), /needle/, 3);
    expect(found.matches.map(({ from }) => from)).toEqual([0, 7, 14]);
    expect(found.total).toBe(301);
  });

  test("is counted up to a bound", () => {
    const found = scanString(bytesOf("a\n".repeat(20_000)), "a", 3);
    expect(found).toMatchObject({ total: 10_000, isMore: true });
    expect(scanPattern(bytesOf("a\n".repeat(20_000)), /a/, 3)).toEqual(found);
  });

  test("is every line for a pattern that matches nothing of it, once", () => {
    const long = "x".repeat(2000);
    expect(scanPattern(bytesOf(`a\n${long}`), /$/, 9).total).toBe(2);
    expect(scanPattern(bytesOf(long), /y*/, 9).total).toBe(2001);
  });
});
