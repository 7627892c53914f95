/** `npm run demo`, as its users see it: a real child process that plays its script through the real service, and its parts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { judge } from "../demo/judge.ts";
import { playSession } from "../demo/player.ts";
import { createPromptCache } from "../demo/prompt-cache.ts";
import { cast, type SessionScript, sessionHeader, sessionScripts } from "../demo/script.ts";
import { startUpstream } from "../demo/upstream.ts";
import type { News, Reply } from "../demo/wires/form.ts";
import { wireForms } from "../demo/wires/forms.ts";
import { outputKinds } from "../demo/work.ts";
import { WIRES, type Wire } from "./harness/json.ts";
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

test("the same seed gives the same figures", async () => {
  const words = ["--fast", "--turns", "20", "--sessions", "4", "--seed", "5"];
  const reports = await Promise.all([runDemo(...words), runDemo(...words)]);
  const [one, other] = reports.map(({ stdout }) =>
    stdout.slice(stdout.indexOf("Report:")).replace(/ in [\d.]+ s /, " "),
  );
  expect(one).toMatch(/^Report: 4 sessions/);
  expect(one).toBe(other);
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
      "5",
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
    expect(numbersIn(/^Report: /).slice(0, 2)).toEqual([5, 90 + 4 * 30]);
    const [sent = 0, sendable = 0, out = 0, saved = 0] = numbersIn(/^Tokens /);
    expect(sendable).toBeLessThan(sent);
    expect(sendable - out).toBe(saved);
    expect(saved).toBeGreaterThan(sendable / 4);
    expect(ended.stdout).toMatch(/^Money {5}\$\d+\.\d\d .*\$\d+\.\d\d saved/m);
    const [cached = 0] = numbersIn(/^Cache /);
    expect(cached).toBeGreaterThan(50);
    const [compactions = 0] = numbersIn(/^Compacted /);
    expect(compactions).toBeGreaterThan(4);
    expect(compactions).toBe(ended.stdout.match(/^\S+ +compacted [\d,]+ → /gm)?.length);
  });

  test("speaks every wire, and the strict upstream refuses nothing", () => {
    for (const { topic, agent, wire } of cast)
      expect(ended.stdout).toMatch(new RegExp(`^ {2}${topic} +${agent} +${wire} +\\d`, "m"));
    const line = /^Valid .* refused none; it answered (.*)$/m.exec(ended.stdout)?.[1] ?? "";
    const counts = Object.fromEntries(
      line.split(", ").map((text) => [text.split(" ")[0], Number(text.split(" ")[1])]),
    );
    expect(Object.keys(counts).toSorted()).toEqual(WIRES.toSorted());
    // A turn is a request at least.
    for (const wire of WIRES) expect(counts[wire]).toBeGreaterThanOrEqual(30);
  });

  test("compacts on every wire", () => {
    for (const { topic } of cast)
      expect(ended.stdout).toMatch(new RegExp(`^${topic} +compacted [\\d,]+ → `, "m"));
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
    expect(new Set(scripts.slice(0, 4).map(({ wire }) => wire))).toEqual(new Set(WIRES));
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

/** A session of the script that speaks this wire. */
function speaking(wire: Wire, options: { readonly seed?: number; readonly turns?: number } = {}) {
  const scripts = sessionScripts({ seed: 1, turns: 90, sessions: 4, ...options });
  const script = scripts.find((one) => one.wire === wire);
  if (script === undefined) throw new Error(`Nobody speaks ${wire}.`);
  return script;
}

describe.each(WIRES)("the client on %s", (wire) => {
  async function play(script: SessionScript, known: SessionScript): Promise<number> {
    const windows = new Map([[script.model, 1_000_000]]);
    const upstream = await startUpstream({ scripts: [known], windows });
    let turns = 0;
    const onTurn = (): void => void turns++;
    const { signal } = new AbortController();
    try {
      await playSession(script, { url: upstream.url, paceMs: 0, maxTokens: 100, signal, onTurn });
      expect(upstream.refusals).toEqual([]);
      expect([...upstream.answered]).toEqual([[wire, turns]]);
    } finally {
      await upstream.close();
    }
    return turns;
  }

  test.each([true, false])("plays its script to the end (streamed: %s)", async (isStreamed) => {
    const script = { ...speaking(wire), isStreamed };
    expect(await play(script, script)).toBe(script.steps.length);
  });

  test("notices an answer that the model did not give", async () => {
    await expect(play(speaking(wire), speaking(wire, { seed: 2 }))).rejects.toThrow(
      /^Turn \d+ of .* brought another answer/,
    );
  });

  test("notices a stream that ends too early", () => {
    const { client, upstream } = wireForms[wire];
    const events = upstream.events(upstream.answer({ text: "Aye.", calls: [] }, frame));
    expect(() => client.joined(events.slice(0, -1))).toThrow(/ended before/);
  });
});

const look = { id: "a", name: "read_file", input: {} };
const usage = { fresh: 1, cacheRead: 0, cacheWrite: 0, output: 1 };
const frame = { number: 1, model: "any", usage };
const output = { kind: "note", content: "seen" } as const;

/** What is said in a conversation: news from the client, or a reply of the model. */
type Said = Partial<News> | Reply;

/** The messages of a conversation, as the client of a wire would send them. */
function messagesOf(wire: Wire, ...talk: readonly Said[]): readonly object[] {
  const { client, upstream } = wireForms[wire];
  return talk.flatMap((said, index) =>
    "text" in said
      ? client.kept(upstream.answer(said, { ...frame, number: index }))
      : client.messagesOf({ calls: [], user: undefined, ...said }),
  );
}

function bodyOf(wire: Wire, messages: readonly object[]): object {
  const { model } = speaking(wire, { turns: 8 });
  const said = { model, maxTokens: 100, isStreamed: true, system: "Be brief.", messages };
  return wireForms[wire].client.body(said);
}

function faultIn(wire: Wire, body: unknown): string | undefined {
  const judged = judge(wireForms[wire], body, {});
  return judged.kind === "fault" ? judged.sentence : undefined;
}

const hello: Said = { user: "Hello." };
const calling: Said = { text: "", calls: [look] };
const seen: Said = { calls: [{ ...look, output }] };

describe.each(WIRES)("the upstream on %s", (wire) => {
  test.each<[string, readonly Said[]]>([
    ["a question", [hello]],
    ["a call and its result", [hello, calling, seen]],
    ["a result and a question", [hello, calling, { ...seen, ...hello }]],
    [
      "a picture",
      [hello, calling, { calls: [{ ...look, output: { kind: "image", content: "iVBORw0KGgo" } }] }],
    ],
  ])("takes %s", (_, talk) => {
    expect(faultIn(wire, bodyOf(wire, messagesOf(wire, ...talk)))).toBeUndefined();
  });

  test.each<[string, readonly Said[]]>([
    ["a conversation without messages", []],
    ["a call without its result", [hello, calling]],
    ["a call that is answered too late", [hello, calling, hello, { text: "So?", calls: [] }, seen]],
    ["a result without its call", [hello, { text: "Well.", calls: [] }, seen]],
    ["a result before its call", [seen, calling]],
    ["the same id twice", [hello, calling, seen, calling, seen]],
    ["an empty text", [{ user: " " }]],
  ])("refuses %s", (_, talk) => {
    expect(faultIn(wire, bodyOf(wire, messagesOf(wire, ...talk)))).toEqual(expect.any(String));
  });

  test("refuses what is no request at all", () => {
    for (const body of [null, "Hello.", [], {}])
      expect(faultIn(wire, body)).toMatch(/required|missing|not specified/i);
    for (const message of [null, "Hello.", {}])
      expect(faultIn(wire, bodyOf(wire, [message as object, ...messagesOf(wire, hello)]))).toEqual(
        expect.any(String),
      );
  });

  test("refuses what is wrong, and what does not fit, and remembers both", async () => {
    const script = speaking(wire, { turns: 8 });
    const windows = new Map([[script.model, 2_500]]);
    const upstream = await startUpstream({ scripts: [script], windows });
    const send = async (...talk: readonly Said[]): Promise<number> => {
      const { client } = wireForms[wire];
      const url = `${upstream.url}${client.path(script.model, true)}`;
      const body = JSON.stringify(bodyOf(wire, messagesOf(wire, ...talk)));
      const headers = { [sessionHeader]: script.name };
      return (await fetch(url, { method: "POST", headers, body })).status;
    };
    try {
      expect(await send(hello)).toBe(200);
      expect(await send(hello, calling)).toBe(400);
      expect(await send({ user: "word ".repeat(2_600) })).toBe(400);
      expect(upstream.refusals).toEqual([
        expect.stringContaining(`${wire}: `),
        expect.stringMatching(/exceed|maximum context length/),
      ]);
    } finally {
      await upstream.close();
    }
  });

  test("reads from its cache what the last request contained, and no more", () => {
    const cache = createPromptCache();
    const { model } = speaking(wire, { turns: 8 });
    const take = (...talk: readonly Said[]) =>
      cache.take(wireForms[wire], model, bodyOf(wire, messagesOf(wire, ...talk)));
    const first: Said = { user: "first ".repeat(6_000) };
    const before = take(first);
    expect(before.cacheRead).toBe(0);
    const after = take(first, { text: "Aye.", calls: [] }, { user: "And now?" });
    // Providers without cache marks count in steps of 128 tokens.
    const whole = before.fresh + before.cacheWrite;
    expect(after.cacheRead).toBeGreaterThan(whole - 128);
    expect(after.cacheRead).toBeLessThanOrEqual(whole);
    expect(take({ user: `Other ${first.user}` }).cacheRead).toBeLessThan(whole / 4);
  });
});

/** The rules that only one provider has. */
describe("the upstream", () => {
  const conversation = (wire: Wire, ...talk: readonly Said[]): object[] => [
    ...messagesOf(wire, hello, ...talk),
  ];

  test.each<[string, Wire, readonly object[], RegExp]>([
    [
      "two messages of the same role",
      "anthropic",
      conversation("anthropic", hello),
      /must alternate/,
    ],
    [
      "a picture in a message of a tool",
      "openai-chat",
      conversation("openai-chat", calling, seen).with(2, {
        role: "tool",
        tool_call_id: "a",
        content: [{ type: "image_url", image_url: { url: "data:" } }],
      }),
      /must be text/,
    ],
    [
      "a call without its reasoning",
      "openai-responses",
      conversation("openai-responses", calling, seen).toSpliced(1, 1),
      /without its required 'reasoning' item/,
    ],
    [
      "reasoning without its call",
      "openai-responses",
      conversation("openai-responses", calling, seen).toSpliced(2, 2),
      /without its required following item/,
    ],
    [
      "a call without its signature",
      "gemini",
      conversation("gemini", calling, seen).with(1, {
        role: "model",
        parts: [{ functionCall: { id: "a", name: "read_file", args: {} } }],
      }),
      /missing a thought_signature/,
    ],
    [
      "the signature of another call",
      "gemini",
      conversation("gemini", calling, seen).with(1, {
        role: "model",
        parts: [
          { functionCall: { id: "a", name: "read_file", args: {} }, thoughtSignature: "b3RoZXI=" },
        ],
      }),
      /Corrupted thought signature/,
    ],
    [
      "a call of a function that is not declared",
      "gemini",
      conversation("gemini", { text: "", calls: [{ ...look, name: "fly" }] }),
      /is not declared/,
    ],
  ])("refuses %s", (_, wire, messages, expected) => {
    expect(faultIn(wire, bodyOf(wire, messages))).toMatch(expected);
  });
});
