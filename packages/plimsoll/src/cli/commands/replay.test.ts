/** `plimsoll replay` on the command line: what it reads, prints and refuses. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it, test, vi } from "vitest";
import { requestsOf, WIRES } from "../../../test/generate/conversations.ts";
import { plainScript } from "../../../test/generate/script.ts";
import { openEngine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { answerOf } from "../../replay/turns.ts";
import { wires } from "../../wire/wires.ts";
import { type ReplayFlags, runReplay } from "./replay.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const script = plainScript({ rounds: 6, steps: 2, characters: 800 });

function fileWith(name: string, content: unknown): string {
  const file = join(folder, name);
  const isBare = typeof content === "string" || Buffer.isBuffer(content);
  writeFileSync(file, isBare ? content : JSON.stringify(content));
  return file;
}

type Body = Readonly<Record<string, unknown>>;

function bodyOn(wire: (typeof WIRES)[number]): Body {
  const body = requestsOf(wire, script).at(-1)?.body;
  return JSON.parse(new TextDecoder().decode(body)) as Body;
}

interface Printed {
  readonly conversations: number;
  readonly model: string;
  readonly wire: string;
  readonly policies: readonly {
    readonly policy: string;
    readonly requests: number;
    readonly sent: number;
    readonly usd?: number;
    readonly prefixShare: number;
  }[];
}

async function run(traces: readonly string[], flags: ReplayFlags): Promise<string> {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    await runReplay(traces, { data: folder, ...flags });
    return printed.mock.calls.join("\n");
  } finally {
    printed.mockRestore();
  }
}

async function runJson(traces: readonly string[], flags: ReplayFlags): Promise<Printed> {
  return JSON.parse(await run(traces, { ...flags, json: true })) as Printed;
}

const chat = bodyOn("openai-chat");
const line = JSON.stringify({ messages: chat["messages"], tools: chat["tools"] });

describe("what can be replayed", () => {
  test.each(WIRES)("a request body of %s, on its own wire", async (wire) => {
    const file = fileWith(`${wire}.json`, bodyOn(wire));
    const printed = await runJson([file], { windowShare: 0.5 });
    expect(printed).toMatchObject({ wire, model: bodyOn(wire)["model"], conversations: 1 });
    expect(printed.policies.map(({ policy }) => policy)).toEqual([
      "none",
      "tail",
      "clear",
      "plimsoll",
    ]);
    expect(new Set(printed.policies.map(({ requests }) => requests)).size).toBe(1);
  });

  it("is lines of JSON, also gzipped, on any wire", async () => {
    const plain = fileWith("two.jsonl", `${line}\n\n${line}\n`);
    const zipped = fileWith("two.jsonl.gz", gzipSync(`${line}\n${line}\n`));
    const flags = { windowShare: 0.5, wire: "anthropic", policy: ["none", "tail"] };
    const one = await runJson([plain], flags);
    expect(one).toMatchObject({
      conversations: 2,
      wire: "anthropic",
      model: "claude-sonnet-4-5",
    });
    expect(await runJson([zipped], flags)).toEqual(one);
    expect((await runJson([plain, zipped], flags)).conversations).toBe(4);
  });

  it("is a session of the store, as its client sent it", async () => {
    const engine = await openEngine({ data: folder });
    let session = "";
    for (const { body, answer } of requestsOf("anthropic", script)) {
      const turn = await engine.receive({
        tenant: "local",
        provider: "anthropic",
        wire: wires.anthropic,
        body,
        hints: { clientKey: "replayed", isCompacted: false },
      });
      await turn.end({ status: "complete", answer: answerOf(answer, undefined) });
      session = turn.session;
    }
    await engine.close();
    const printed = await runJson([session], { window: 100_000, policy: ["none"] });
    expect(printed.wire).toBe("anthropic");
    expect(printed.policies[0]?.requests).toBe(requestsOf("anthropic", script).length);
  });
});

describe("what is printed", () => {
  const file = fileWith("one.jsonl", line);

  it("is a table with the setting, and the bill of each policy", async () => {
    const text = await run([file], { windowShare: 0.4, policy: ["none", "plimsoll", "ideal"] });
    expect(text).toContain("in a window of 40 % of each conversation");
    expect(text).toMatch(/\nnone +\d+ .*\$0\.\d+/);
    expect(text).toMatch(/\nideal /);
  });

  it("says unknown where no price is known", async () => {
    const flags = { model: "rocket-1", policy: ["none"], window: 50_000 };
    expect(await run([file], flags)).toMatch(/Prices: unknown[\s\S]*\nnone .* unknown /);
    expect((await runJson([file], flags)).policies[0]?.usd).toBeUndefined();
  });
});

describe("wrong use gets one sentence", () => {
  const good = fileWith("good.jsonl", line);
  test.each<[string, string, ReplayFlags, string]>([
    ["an unknown policy", good, { policy: ["magic"] }, 'no policy "magic"'],
    ["an unknown wire", good, { wire: "morse" }, 'no wire "morse"'],
    ["two windows", good, { window: 5_000, windowShare: 0.5 }, "not both"],
    ["a window that is too small", good, { window: 30 }, "too small"],
    ["neither file nor session", "nowhere", {}, "neither a file nor a session"],
    ["an unknown session", "ses_0000000000000000000000", {}, "ses_0000000000000000000000"],
    ["a session where nothing is recorded", "ses_0", { data: join(folder, "none") }, "recorded"],
    ["a folder", folder, {}, "cannot be read"],
    ["an empty file", fileWith("empty.jsonl", ""), {}, "is empty"],
    ["no JSON", fileWith("bad.jsonl", "{oops"), {}, "bad.jsonl: Line 1"],
    ["no messages", fileWith("none.json", { model: "x" }), {}, "no conversation"],
    ["messages that are words", fileWith("words.json", ["hi"]), {}, "no conversation"],
    ["no messages on a line", fileWith("second.jsonl", `${line}\n{"a":1}`), {}, "Line 2"],
  ])("%s", async (_, what, flags, sentence) => {
    const error: unknown = await run([what], flags).catch((cause: unknown) => cause);
    expect(PlimsollError.is(error) && error.code).toBe("USAGE");
    expect(String(error)).toContain(sentence);
    expect(String(error)).not.toContain("\n");
  });
});
