/**
 * Ctrl-C in a real pseudo-terminal, as users start and stop it: `npm start`, whose processes all get the keystroke and hand
 * it on besides. Once: the running turn is stored, and everything ends in order. Twice: it ends at once.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { storedTexts, storedTurns } from "./engine/read-folder.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { type PseudoTerminal, runInTerminal } from "./harness/pseudo-terminal.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, OWNER_TOKEN } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, pause, within } from "./harness/waiting.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const BOOTSTRAP = [process.execPath, "scripts/bootstrap.mjs", "run"] as const;
const PROGRAM = "packages/plimsoll/bin/plimsoll.mjs";
const DEMO = "packages/plimsoll/demo/main.ts";
const CTRL_C = "\u0003";
const LIMIT_MS = 30_000;
/** Longer than what passes for one keystroke. */
const NEXT_KEYSTROKE_MS = 500;
const WORDS = Array.from({ length: 24 }, (_, index) => `word${index} `);
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) =>
      JSON.stringify(body).includes("Tell me without end")
        ? { ...reply(text(...WORDS)), early: { kind: "hang", afterEvents: 6 } }
        : { ...reply(text(...WORDS)), delayBetweenEventsMs: 50 },
  });
});
afterAll(() => upstream.close());

/** Contract: tests run beside each other, each in a folder of its own. */
async function inFolder(work: (data: string) => Promise<void>): Promise<void> {
  const data = await makeDataFolder();
  try {
    await work(data);
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

async function start(
  data: string,
  command: readonly [string, ...string[]],
  settings: JsonObject = {},
): Promise<PseudoTerminal> {
  const config = join(data, "config.yaml");
  const anthropic = { baseUrl: upstream.url, ...settings };
  await writeFile(config, JSON.stringify({ providers: { anthropic } }));
  const words = ["--port", "0", "--data", data, "--config", config];
  const terminal = runInTerminal(words, { command, cwd: ROOT, columns: 200, env: { HOME: data } });
  await terminal.shows(/plimsoll ready on http:\S+/);
  return terminal;
}

function urlOf({ written }: PseudoTerminal): string {
  return /ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(written)?.[1] ?? "";
}

/** A turn whose answer has begun and goes on. */
async function beginTurn(
  terminal: PseudoTerminal,
  content: string,
): Promise<{ readonly ended: Promise<Asked> }> {
  const body = bodyOf("anthropic", [{ role: "user", content }], { stream: true });
  const ended = ask(urlOf(terminal), { wire: "anthropic", body });
  ended.catch(() => undefined);
  await eventually(LIMIT_MS, "the request", async () =>
    upstream.requests.find((request) => request.body.includes(content)),
  );
  await pause(200);
  return { ended };
}

interface Running {
  readonly terminal: PseudoTerminal;
  readonly pid: number;
  readonly url: string;
}

function runningIn(data: string, terminal: PseudoTerminal): Running {
  const text = readFileSync(join(data, "service.json"), "utf8");
  return { terminal, ...(JSON.parse(text) as { readonly pid: number; readonly url: string }) };
}

/** The keystroke reaches all of them at once, and what bootstrap makes of it comes when the service is already stopping. */
async function pressCtrlC({ terminal, pid, url }: Running): Promise<void> {
  const bootstrap = Number(
    execFileSync("ps", ["-o", "ppid=", "-p", `${pid}`], { encoding: "utf8" }),
  );
  process.kill(bootstrap, "SIGSTOP");
  terminal.press(CTRL_C);
  await eventually(LIMIT_MS, "the service to stop", () =>
    fetch(`${url}/healthz`).then(
      () => undefined,
      () => true,
    ),
  );
  process.kill(bootstrap, "SIGCONT");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.concurrent("a running turn is stored to its end, and everything ends in order, when", () => {
  const viaNpm = ["npm", "start", "--silent", "--"] as const;
  const viaBootstrap = [...BOOTSTRAP, PROGRAM, "serve"] as const;
  type Stop = (running: Running) => unknown;
  test.each<[string, readonly [string, ...string[]], Stop]>([
    ["Ctrl-C is pressed on npm start", viaNpm, pressCtrlC],
    // A SIGINT for npm alone ends nothing: its shell waits for what it runs, and tells nobody.
    ["npm alone is told to end", viaNpm, ({ terminal }) => terminal.kill("SIGTERM")],
    ["bootstrap alone gets the signal", viaBootstrap, ({ terminal }) => terminal.kill("SIGINT")],
  ])("%s", (name, command, stop) =>
    inFolder(async (data) => {
      const terminal = await start(data, command);
      const { ended } = await beginTurn(terminal, `Tell me: ${name}`);
      const running = runningIn(data, terminal);
      await stop(running);
      const { isComplete, message } = await within(LIMIT_MS, "the answer", ended);
      await terminal.exited;
      await eventually(LIMIT_MS, "the end", async () => !isAlive(running.pid) || undefined);
      expect(isComplete).toBe(true);
      expect(JSON.stringify(message)).toContain(WORDS.join(""));
      expect(await storedTexts(data)).toEqual([
        expect.stringContaining(name),
        expect.stringContaining(WORDS.join("")),
      ]);
    }),
  );
});

describe.concurrent("Ctrl-C", () => {
  test("pressed again ends the service at once, whatever runs", () =>
    inFolder(async (data) => {
      const terminal = await start(data, [process.execPath, PROGRAM, "serve"]);
      // Whoever sits at a terminal gets the address with its token.
      expect(terminal.written).toMatch(/^dashboard http:\S+\/#token=[\w-]{43}\r$/m);
      await beginTurn(terminal, "Tell me without end.");
      terminal.press(CTRL_C);
      await terminal.shows("Ctrl-C again to stop at once");
      await pause(NEXT_KEYSTROKE_MS);
      terminal.press(CTRL_C);
      // In order, it would be 0.
      expect(await terminal.exited).toMatchObject({ code: 130 });
    }));

  test.each([1, 2])("pressed %i times ends the demo, and its data go with it", (times) =>
    inFolder(async (temporary) => {
      const words = ["--port", "0", "--pace", "50", "--turns", "60", "--sessions", "1"];
      const terminal = runInTerminal(words, {
        command: [...BOOTSTRAP, DEMO],
        cwd: ROOT,
        env: { TMPDIR: temporary, HOME: temporary },
      });
      const folders = (): readonly string[] =>
        readdirSync(temporary).filter((name) => name.startsWith("plimsoll-demo-"));
      await terminal.shows(/\d of \d+ turns/);
      expect(folders()).toHaveLength(1);
      for (let count = 0; count < times; count++) {
        if (count > 0) await pause(NEXT_KEYSTROKE_MS);
        // What bootstrap hands on comes a little later than the keystroke itself.
        terminal.kill("SIGSTOP");
        terminal.press(CTRL_C);
        await pause(20);
        terminal.kill("SIGCONT");
      }
      expect((await terminal.exited).code).toBe(130);
      expect(folders()).toEqual([]);
    }),
  );
});

/** So much that its compaction takes longer than the service waits for its answers. */
function longTalk(): readonly JsonObject[] {
  const random = diceOf(7);
  const name = (): string => Math.floor(random() * 1e12).toString(36);
  const line = (_: unknown, index: number): string =>
    `src/${name()}/${name()}.ts:${index}: const ${name()} = ${name()}(${name()});`;
  const results = Array.from({ length: 2000 }, (_, index): readonly JsonObject[] => {
    const id = `toolu_${index}`;
    const content = Array.from({ length: 120 }, line).join("\n");
    return [
      { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: { index } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
    ];
  });
  return [{ role: "user", content: "Look at everything." }, ...results.flat()];
}

/** Resolves when a compaction has begun. */
async function compacting(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${OWNER_TOKEN}` };
  const response = await fetch(`${url}/events`, { headers });
  let seen = "";
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString();
    if (seen.includes('"context-breaking-update"')) return;
  }
  throw new Error("The events ended too early.");
}

test("Ctrl-C pressed while a long conversation is compacted stores it, and ends in order", () =>
  inFolder(async (data) => {
    const settings = { contextWindow: 200_000, tokenizer: "approximate" };
    const terminal = await start(data, [process.execPath, PROGRAM, "serve"], settings);
    const messages = longTalk();
    const begun = compacting(urlOf(terminal));
    const asked = ask(urlOf(terminal), { wire: "anthropic", body: bodyOf("anthropic", messages) });
    asked.catch(() => undefined);
    await within(LIMIT_MS, "the compaction", begun);
    terminal.press(CTRL_C);
    expect((await within(LIMIT_MS, "the end", terminal.exited)).code).toBe(0);
    expect(terminal.written).not.toContain("not stored");
    // A machine that is fast enough has its answer.
    const hasAnswer = await asked.then(({ isComplete }) => isComplete).catch(() => false);
    expect(await storedTurns(data)).toEqual([messages.length, hasAnswer ? "complete" : "aborted"]);
  }));
