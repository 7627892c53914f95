/** Progress bars: what is drawn and when, and that nothing is drawn unless standard error is a terminal. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { childEnvironment } from "../../../test/harness/child-environment.ts";
import { tries } from "../../../test/harness/effort.ts";
import { runInTerminal } from "../../../test/harness/pseudo-terminal.ts";
import { databaseName } from "../../config/data-folder.ts";
import { openSqliteStore } from "../../store/sqlite.ts";
import {
  mayShow,
  type ProgressScreen,
  progressLine,
  type Surroundings,
  startProgress,
} from "./progress.ts";
import { writeServiceFile } from "./running.ts";

const idle = { label: "Working", done: 0, note: "", elapsedMs: 3000 };

describe("a line", () => {
  test("with a total says the share, how many of how many, and what is left of the time", () => {
    const line = progressLine({ ...idle, done: 250, total: 1000 }, 80);
    expect(line).toMatch(/^Working █+░+ 25 % · 250 of 1,000 · 9 s left$/);
    const [filled = "", room = ""] = line.match(/█+|░+/g) ?? [];
    expect(filled.length / (filled.length + room.length)).toBeCloseTo(0.25, 1);
  });

  test("without a total, or before the first step, runs to and fro and says the time", () => {
    const at = (elapsedMs: number): string => progressLine({ ...idle, elapsedMs }, 80);
    expect(at(3000)).toMatch(/^Working [█░]+ 3 s$/);
    const begins = [0, 1000, 2000, 3000, 4000].map((elapsedMs) => at(elapsedMs).indexOf("█"));
    expect(begins[1]).toBeGreaterThan(begins[0] ?? 0);
    expect(begins[2]).toBeGreaterThan(begins[1] ?? 0);
    expect(begins[3]).toBe(begins[1]);
    expect(begins[4]).toBe(begins[0]);
    expect(progressLine({ ...idle, total: 9 }, 80)).toBe(at(3000));
    expect(progressLine({ ...idle, done: 12 }, 80)).toContain("12 done · 3 s");
  });

  test("never wraps and never holds a control character, however narrow the terminal", () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    fc.assert(
      fc.property(
        fc.record({
          label: text,
          note: text,
          done: fc.nat(2000),
          total: fc.option(fc.nat(1000), { nil: undefined }),
          elapsedMs: fc.nat(10_000_000),
        }),
        fc.integer({ min: 2, max: 200 }),
        (state, columns) => {
          const line = progressLine(state, columns);
          expect([...line].length).toBeLessThan(columns);
          expect(line).not.toMatch(/\p{Cc}/u);
        },
      ),
      tries({ runs: 300, seed: 20261116 }),
    );
  });
});

describe("whether there is one", () => {
  const terminal = { isTTY: true };
  const piped = {};
  const all: Surroundings = { stdin: terminal, stdout: terminal, stderr: terminal, env: {} };
  const streams = { isStreaming: true, readsInput: true };

  test.each([
    { where: "a terminal", options: {}, around: all, isShown: true },
    { where: "a file for errors", options: {}, around: { ...all, stderr: piped }, isShown: false },
    {
      where: "a program that asked for JSON",
      options: { json: true },
      around: all,
      isShown: false,
    },
    {
      where: "a dumb terminal",
      options: {},
      around: { ...all, env: { TERM: "dumb" } },
      isShown: false,
    },
    {
      where: "a build server",
      options: {},
      around: { ...all, env: { CI: "true" } },
      isShown: false,
    },
    {
      where: "a terminal on which lines are printed",
      options: { isStreaming: true },
      around: all,
      isShown: false,
    },
    {
      where: "a terminal, while lines go to a file",
      options: { isStreaming: true },
      around: { ...all, stdout: piped },
      isShown: true,
    },
    {
      where: "a terminal on which somebody types",
      options: streams,
      around: { ...all, stdout: piped },
      isShown: false,
    },
    {
      where: "a terminal, while lines come from a file and go to one",
      options: streams,
      around: { ...all, stdin: piped, stdout: piped },
      isShown: true,
    },
  ])("$where: $isShown", ({ options, around, isShown }) => {
    expect(mayShow(options, around)).toBe(isShown);
  });
});

interface Watched {
  readonly screen: ProgressScreen;
  readonly written: string[];
  /** Lets this much time pass, as a timer of 10 ms would see it. */
  pass(milliseconds: number): void;
  exit(): void;
}

function watchedScreen(): Watched {
  const written: string[] = [];
  const atExit = new Set<() => void>();
  const timers = new Map<() => void, number>();
  let now = 5000;
  return {
    written,
    screen: {
      columns: () => 80,
      write: (text) => void written.push(text),
      now: () => now,
      every: (milliseconds, call) => {
        timers.set(call, milliseconds);
        return () => void timers.delete(call);
      },
      atExit: (call) => {
        atExit.add(call);
        return () => void atExit.delete(call);
      },
    },
    pass: (milliseconds) => {
      for (const end = now + milliseconds; now < end; ) {
        now += 10;
        for (const [call, period] of timers) if (now % period === 0) call();
      }
    },
    exit: () => {
      for (const call of atExit) call();
    },
  };
}

const clear = "\r\u001b[2K";

describe("on a screen", () => {
  test("what takes less than a second leaves no trace", () => {
    const { screen, written, pass } = watchedScreen();
    const progress = startProgress(screen, "Working", 10);
    for (let done = 1; done <= 9; done++) {
      pass(100);
      progress.step(done);
    }
    progress.end();
    pass(5000);
    expect(written).toEqual([]);
  });

  test("it is drawn once in 100 ms at most, however often it steps, and always in its own line", () => {
    const { screen, written, pass } = watchedScreen();
    const progress = startProgress(screen, "Working", 1000);
    for (let done = 1; done <= 300; done++) {
      pass(10);
      progress.step(done);
    }
    expect(written.length).toBeGreaterThan(10);
    expect(written.length).toBeLessThanOrEqual(21);
    for (const text of written) expect(text.startsWith(`${clear}Working `)).toBe(true);
    expect(written.join("")).not.toContain("\n");
  });

  test("it moves also while no step is made", () => {
    const { screen, written, pass } = watchedScreen();
    startProgress(screen, "Working").note("the second of three");
    pass(2000);
    expect(new Set(written).size).toBeGreaterThan(5);
    expect(written.at(-1)).toContain("the second of three");
  });

  test("its line is gone at the end, once, and at the end of the process", () => {
    const ended = watchedScreen();
    const progress = startProgress(ended.screen, "Working");
    ended.pass(1500);
    progress.end();
    expect(ended.written.at(-1)).toBe(clear);
    const before = ended.written.length;
    progress.end();
    progress.step(3);
    ended.pass(1000);
    ended.exit();
    expect(ended.written.length).toBe(before);

    const broken = watchedScreen();
    startProgress(broken.screen, "Working");
    broken.pass(1500);
    broken.exit();
    expect(broken.written.at(-1)).toBe(clear);
  });
});

describe("a command that has to wait for a service", () => {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-progress-"));
  const words = ["compact", "ses_slow", "--data", folder];
  const done = {
    tokens: 1200,
    limit: 9000,
    edits: [7],
    tokensBefore: 4120,
    tokensAfter: 1200,
    messagesBefore: 42,
    messagesAfter: 17,
    strategies: ["excerpt"],
  };
  let service: Server;
  /** Makes the service answer. */
  let answer: () => void = () => undefined;
  let asked: Promise<void> = Promise.resolve();

  function expectQuestion(): void {
    asked = new Promise((resolve) => {
      service.once("asked", resolve);
    });
  }

  beforeAll(async () => {
    const at = 1_700_000_000_000;
    const store = await openSqliteStore({ file: join(folder, databaseName) });
    await store.commit([
      {
        kind: "session",
        session: {
          id: "ses_slow",
          tenant: "local",
          wire: "anthropic",
          createdAt: at,
          updatedAt: at,
        },
      },
    ]);
    await store.close();
    service = createServer((request, response) => {
      const reply = (value: unknown): void => void response.end(JSON.stringify(value));
      if (request.url === "/healthz") return reply({ status: "ok" });
      answer = () => reply(done);
      service.emit("asked");
    });
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    writeServiceFile(folder, `http://127.0.0.1:${(service.address() as AddressInfo).port}`);
  });
  afterAll(() => {
    service.close();
    service.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  test("shows a bar on a terminal, and only its answer is left when it is done", async () => {
    expectQuestion();
    const terminal = runInTerminal(words, { columns: 100, env: { HOME: folder } });
    await asked;
    await terminal.shows(/^Compacting [█░]+ \d+ s$/m);
    answer();
    expect((await terminal.exited).code).toBe(0);
    const lines = (await terminal.shows("Done: ")).filter((line) => line !== "");
    expect(lines).toEqual([
      "Compacted: 4,120 → 1,200 tokens, 42 → 17 messages, by excerpt.",
      expect.stringMatching(/^Done: the window holds 1200 tokens/),
    ]);
  });

  test("takes its bar away when it is broken off, and dies of it", async () => {
    expectQuestion();
    const terminal = runInTerminal(words, { env: { HOME: folder } });
    await asked;
    await terminal.shows("Compacting ");
    terminal.press("\u0003");
    expect((await terminal.exited).signal).toBe(2);
    await terminal.shows((text) => !text.includes("Compacting"));
  });

  test("prints nothing beside its answer where there is no terminal", async () => {
    expectQuestion();
    const program = fileURLToPath(new URL("../../../bin/plimsoll.mjs", import.meta.url));
    const ran = new Promise<{ stdout: string; stderr: string }>((resolve) => {
      const env = childEnvironment({ HOME: folder, TERM: "xterm" });
      execFile(process.execPath, [program, ...words], { env }, (_error, stdout, stderr) =>
        resolve({ stdout, stderr }),
      );
    });
    await asked;
    await longEnough();
    answer();
    const { stdout, stderr } = await ran;
    expect(stdout).toMatch(/^Compacted: [^\n]+\nDone: [^\n]+\n$/);
    expect(stderr).toBe("");
  });
});

/** Long enough for a bar to appear. */
function longEnough(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1500));
}
