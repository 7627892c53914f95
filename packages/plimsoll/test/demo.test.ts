/** `npm run demo`, as its users see it: a real child process that plays its script through the real service, and its parts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { faultIn } from "../demo/judge.ts";
import { playSession } from "../demo/player.ts";
import { createPromptCache } from "../demo/prompt-cache.ts";
import { sessionScripts } from "../demo/script.ts";
import { startUpstream } from "../demo/upstream.ts";
import type { WireMessage, WireRequest } from "../demo/wire-forms.ts";
import { outputKinds } from "../demo/work.ts";
import { makeDataFolder } from "./harness/service.ts";
import { eventually, within } from "./harness/waiting.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const demo = fileURLToPath(new URL("../demo/main.ts", import.meta.url));
const folders: string[] = [];

interface Running {
  readonly child: ChildProcess;
  readonly said: { stdout: string; stderr: string };
}

async function makeFolder(): Promise<string> {
  const folder = await makeDataFolder();
  folders.push(folder);
  return folder;
}

function startDemo(words: readonly string[], temporary?: string): Running {
  const child = spawn(process.execPath, [demo, "--port", "0", ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...(temporary === undefined ? {} : { TMPDIR: temporary }) },
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  return { child, said };
}

async function runDemo(...words: readonly string[]): Promise<Running["said"] & { code: unknown }> {
  const { child, said } = startDemo(words);
  const [code] = await once(child, "close");
  return { ...said, code };
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describe("a demo without pauses", () => {
  let ended: Awaited<ReturnType<typeof runDemo>>;
  let data: string;
  beforeAll(async () => {
    data = await makeFolder();
    // A seed whose users ask for much that has left the window.
    ended = await runDemo(
      "--fast",
      "--turns",
      "90",
      "--sessions",
      "3",
      "--seed",
      "4",
      "--data",
      data,
    );
  });

  /** The numbers in the first line of the report that matches. */
  const numbersIn = (pattern: RegExp): readonly number[] => {
    const line = ended.stdout.split("\n").find((text) => pattern.test(text)) ?? "";
    return (line.match(/\d[\d,.]*/g) ?? []).map((text) => Number(text.replaceAll(",", "")));
  };

  test("ends by itself and without a complaint", () => {
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("begins with the address of the dashboard and what to do with it", () => {
    const [ready, dashboard, hint] = ended.stdout.split("\n");
    expect(ready).toMatch(/^plimsoll ready on http:\/\/127\.0\.0\.1:\d+$/);
    expect(dashboard).toMatch(/^dashboard http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
    expect(hint).toMatch(/^Open the dashboard address in a browser/);
  });

  test("reports turns, tokens, money, cache and compactions", () => {
    expect(numbersIn(/^Report: /).slice(0, 2)).toEqual([3, 90 + 30 + 30]);
    const [sent = 0, out = 0, saved = 0] = numbersIn(/^Tokens /);
    expect(sent - out).toBe(saved);
    expect(saved).toBeGreaterThan(sent / 4);
    expect(ended.stdout).toMatch(/^Money {5}\$\d+\.\d\d .*\$\d+\.\d\d saved/m);
    const [cached = 0] = numbersIn(/^Cache /);
    expect(cached).toBeGreaterThan(50);
    expect(numbersIn(/^Compacted /)[0]).toBeGreaterThan(4);
  });

  test("no request went over its limit", () => {
    const [fullest = 0, limit = 0] = numbersIn(/^Window .*no request went over/);
    expect(fullest).toBeGreaterThan(limit / 2);
    expect(fullest).toBeLessThanOrEqual(limit);
  });

  test("the model looked things up, and found what it looked for", () => {
    const [asked = 0, found = 0, recalls = 0] = numbersIn(/^Recalled /);
    expect(asked).toBeGreaterThan(recalls);
    expect(found).toBeGreaterThan(0);
    expect(ended.stdout).toMatch(/^ {2}\S+: recall ".+" → found: .+/m);
    expect(ended.stdout).toMatch(/^ {2}\S+: read_result pl_\w{22} → \[pl_/m);
  });

  test("receipts are summed by class, and nothing of them is missing", () => {
    const rows = ["constraint", "decision", "path", "number"].map((name) =>
      numbersIn(new RegExp(`^ {2}${name} `)),
    );
    for (const [facts = 0, verbatim = 0, behind = 0] of rows) {
      expect(facts).toBeGreaterThan(0);
      expect(verbatim + behind).toBe(facts);
    }
  });

  test("its data stay where it was told to keep them, and it says how to look at them", async () => {
    expect(await readdir(data)).toContain("config.yaml");
    expect(ended.stdout).toContain(`npx plimsoll sessions --data ${data}`);
  });
});

describe("a demo that cannot go on", () => {
  test("refuses a folder in which something is, and leaves it alone", async () => {
    const data = await makeFolder();
    await writeFile(join(data, "mine.txt"), "mine");
    const { code, stderr } = await runDemo("--fast", "--data", data);
    expect(code).toBe(1);
    expect(stderr).toContain("is not empty: give --data a folder that is new or empty");
    expect(await readdir(data)).toEqual(["mine.txt"]);
  });

  test.each([
    ["--turns", "none"],
    ["--sessions", "41"],
    ["--nonsense", ""],
  ])("says what is wrong with %s %s", async (...words) => {
    const { code, stderr } = await runDemo(...words);
    expect(code).toBe(2);
    expect(stderr).toContain(words[0]);
    expect(stderr).toContain("npm run demo -- [flags]");
  });

  test("takes the service and its data with it when it is told to stop", async () => {
    const temporary = await makeFolder();
    const { child, said } = startDemo(["--pace", "50", "--turns", "60"], temporary);
    const url = await eventually(
      30_000,
      "the service",
      async () => /ready on (\S+)/.exec(said.stdout)?.[1],
    );
    await eventually(30_000, "some turns", async () => /\d of \d+ turns/.exec(said.stdout)?.[0]);
    child.kill("SIGTERM");
    const [code] = await within(20_000, "the end of the demo", once(child, "close"));
    expect(code).toBe(143);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    expect((await readdir(temporary)).filter((name) => name.startsWith("plimsoll-"))).toEqual([]);
  });
});

describe("the script", () => {
  const wish = { seed: 1, turns: 300, sessions: 4 };

  test("is the same for the same seed, and another for another", () => {
    const scripts = sessionScripts(wish);
    expect(sessionScripts(wish)).toEqual(scripts);
    expect(sessionScripts({ ...wish, seed: 2 })).not.toEqual(scripts);
  });

  test("has the turns and the sessions that were asked for, each under a name of its own", () => {
    const scripts = sessionScripts({ ...wish, sessions: 12 });
    expect(scripts.map(({ steps }) => steps.length)).toEqual([300, ...Array(11).fill(100)]);
    expect(new Set(scripts.map(({ name }) => name)).size).toBe(12);
    expect(new Set(scripts.map(({ agent }) => agent))).toEqual(
      new Set(["coder", "reviewer", "docs"]),
    );
    expect(scripts.some(({ priority }) => priority === 1)).toBe(true);
    expect(new Set(scripts.map(({ isStreamed }) => isStreamed))).toEqual(new Set([true, false]));
  });

  test.each([1, 2, 3])("has tool results of every kind (seed %i)", (seed) => {
    const [main] = sessionScripts({ ...wish, seed });
    const calls = main?.steps.flatMap((step) => step.calls) ?? [];
    expect(new Set(calls.map(({ output }) => output.kind))).toEqual(new Set(outputKinds));
    expect(calls.some(({ output }) => output.content.length > 50 * 1024)).toBe(true);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  });

  test("users rule, correct and ask for what was long ago", () => {
    const [main] = sessionScripts(wish);
    const said = main?.steps.flatMap(({ user }) => user ?? []) ?? [];
    expect(said[0]).toContain("Never touch db/migrations");
    expect(said.some((text) => /I had said|No, not there|Never run|must not/.test(text))).toBe(
      true,
    );
    const asked = main?.steps.filter(({ lookBack }) => lookBack !== undefined) ?? [];
    expect(asked.length).toBeGreaterThan(5);
  });
});

describe("the client", () => {
  const scripts = sessionScripts({ seed: 1, turns: 30, sessions: 1 });
  const windows = new Map([["claude-sonnet-4-5", 1_000_000]]);

  async function playFrom(seed: number): Promise<number> {
    const upstream = await startUpstream({ scripts, windows });
    let turns = 0;
    const [script] = sessionScripts({ seed, turns: 30, sessions: 1 });
    if (script === undefined) throw new Error("There is no script.");
    const onTurn = (): void => void turns++;
    const { signal } = new AbortController();
    try {
      await playSession(script, { url: upstream.url, paceMs: 0, maxTokens: 100, signal, onTurn });
      expect(upstream.refusals).toEqual([]);
    } finally {
      await upstream.close();
    }
    return turns;
  }

  test("plays its script to the end, and the upstream has nothing against it", async () => {
    expect(await playFrom(1)).toBe(30);
  });

  test("notices an answer that the model did not give", async () => {
    await expect(playFrom(2)).rejects.toThrow(/^Turn 1 of .* brought another answer/);
  });
});

const call = { type: "tool_use", id: "a", name: "look", input: {} } as const;
const result = { type: "tool_result", tool_use_id: "a", content: "seen" } as const;
const hello: WireMessage = { role: "user", content: "Hello." };
const calling: WireMessage = { role: "assistant", content: [call] };

function request(...messages: readonly WireMessage[]): WireRequest {
  return { model: "claude-sonnet-4-5", max_tokens: 10, messages };
}

describe("the upstream", () => {
  test.each<[string, unknown, RegExp | undefined]>([
    ["a question", request(hello), undefined],
    [
      "a call and its result",
      request(hello, calling, { role: "user", content: [result] }),
      undefined,
    ],
    ["no messages", request(), /at least one message/],
    ["two of the same role", request(hello, hello), /must alternate/],
    ["a call without its result", request(hello, calling, hello), /without tool_result/],
    [
      "a result without its call",
      request({ role: "user", content: [result] }),
      /unexpected tool_use_id/,
    ],
    [
      "a result behind a text",
      request(hello, calling, { role: "user", content: [{ type: "text", text: "So" }, result] }),
      /must come before/,
    ],
    ["an empty text", request({ role: "user", content: " " }), /non-empty/],
    ["no request at all", null, /Field required/],
  ])("judges %s", (_, body, expected) => {
    const fault = faultIn(body);
    if (expected === undefined) expect(fault).toBeUndefined();
    else expect(fault).toMatch(expected);
  });

  test("refuses what is wrong, and what does not fit, and remembers both", async () => {
    const scripts = sessionScripts({ seed: 1, turns: 8, sessions: 1 });
    const windows = new Map([["claude-sonnet-4-5", 500]]);
    const upstream = await startUpstream({ scripts, windows });
    const send = (body: unknown): Promise<Response> =>
      fetch(`${upstream.url}/v1/messages`, { method: "POST", body: JSON.stringify(body) });
    try {
      const metadata = { user_id: scripts[0]?.name ?? "" };
      const long: WireMessage = { role: "user", content: "word ".repeat(600) };
      expect((await send({ ...request(hello), metadata })).status).toBe(200);
      expect((await send(request(hello, hello))).status).toBe(400);
      expect((await send({ ...request(long), metadata })).status).toBe(400);
      expect(upstream.refusals).toEqual([
        expect.stringContaining("must alternate"),
        expect.stringContaining("exceed context limit"),
      ]);
    } finally {
      await upstream.close();
    }
  });

  test("reads from its cache what stood before a mark of the last request, and no more", () => {
    const cache = createPromptCache();
    const marked = (text: string): WireMessage => ({
      role: "user",
      content: [{ type: "text", text, cache_control: { type: "ephemeral" } }],
    });
    const first = "first ".repeat(2_000);
    const before = cache.take(request(marked(first)));
    expect(before).toMatchObject({ cacheRead: 0, cacheWritten: before.tokens });
    const reply: WireMessage = { role: "assistant", content: "Aye." };
    const after = cache.take(request({ role: "user", content: first }, reply, marked("And now?")));
    expect(after.cacheRead).toBe(before.tokens);
    expect(after.cacheRead + after.cacheWritten).toBe(after.tokens);
    const changed = cache.take(request(marked(`Other ${first}`)));
    expect(changed.cacheRead).toBe(0);
  });
});
