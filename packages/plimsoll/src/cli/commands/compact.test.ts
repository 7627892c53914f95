/** `plimsoll compact` on the command line: what it prints and refuses, and its exit codes. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { requestsOf, WIRES } from "../../../test/generate/conversations.ts";
import { MESSAGES_FIELD } from "../../../test/generate/rehearsal.ts";
import { plainScript } from "../../../test/generate/script.ts";
import { childEnvironment } from "../../../test/harness/child-environment.ts";
import { PlimsollError } from "../../message/error.ts";
import { type CompactFlags, runCompact, runCompactJsonl } from "./compact.ts";

const program = fileURLToPath(new URL("../../../bin/plimsoll.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "plimsoll-compact-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(words: readonly string[], input?: string): Promise<Ran> {
  const env = childEnvironment({ HOME: folder });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, "compact", ...words],
      { env, timeout: 30_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
    if (input !== undefined) child.stdin?.end(input);
  });
}

/** Runs the command in this process and returns its output. */
async function runHere(file: string, flags: CompactFlags): Promise<Omit<Ran, "code">> {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const told = vi.spyOn(console, "error").mockImplementation(() => undefined);
  try {
    await runCompact(file, { ...flags, data: folder });
    return { stdout: printed.mock.calls.join("\n"), stderr: told.mock.calls.join("\n") };
  } finally {
    printed.mockRestore();
    told.mockRestore();
  }
}

function fileWith(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

type Body = Readonly<Record<string, unknown>>;
const SCRIPT = plainScript({ rounds: 8, steps: 1, characters: 500 });

function bodyOn(wire: (typeof WIRES)[number]): Body {
  const body = requestsOf(wire, SCRIPT).at(-1)?.body;
  return JSON.parse(new TextDecoder().decode(body)) as Body;
}

describe.each(WIRES)("a file of %s", (wire) => {
  const field = MESSAGES_FIELD[wire];
  const body = bodyOn(wire);

  test("a request body: only its messages are shorter, stdout is JSON, stderr says what was done", async () => {
    const file = fileWith(`${wire}-body.json`, body);
    const { code, stdout, stderr } = await run([file, "--budget", "900"]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/tokens/)]);
    const result = JSON.parse(stdout) as Body;
    expect({ ...result, [field]: [] }).toEqual({ ...body, [field]: [] });
    const size = (some: unknown): number => JSON.stringify(some).length;
    expect(size(result[field])).toBeLessThan(size(body[field]) / 2);
    expect(stdout).not.toMatch(/pl_[0-9A-Za-z]{22}/);
  });

  test("a list of messages: a list comes back", async () => {
    const file = fileWith(`${wire}-list.json`, body[field]);
    const { stdout } = await runHere(file, { budget: 900, format: wire });
    const result = JSON.parse(stdout) as unknown[];
    expect(Array.isArray(result)).toBe(true);
    expect(result.length).toBeGreaterThan(1);
  });
});

describe("what was done", () => {
  const file = fileWith("receipt.json", bodyOn("openai-chat"));

  test("as JSON, and into a file", async () => {
    const receiptFile = join(folder, "receipt-out.json");
    const { stdout, stderr } = await run([
      file,
      "--budget",
      "900",
      "--json",
      "--receipt",
      receiptFile,
    ]);
    expect(() => JSON.parse(stdout) as unknown).not.toThrow();
    const receipt = JSON.parse(stderr) as { tokensBefore: number; tokensAfter: number };
    expect(receipt.tokensAfter).toBeLessThanOrEqual(900);
    expect(receipt.tokensBefore).toBeGreaterThan(900);
    expect(JSON.parse(readFileSync(receiptFile, "utf8"))).toEqual(receipt);
  });

  test("nothing, where it fits already", async () => {
    const { stdout, stderr } = await runHere(file, { budget: 1_000_000 });
    expect(JSON.parse(stdout)).toEqual(bodyOn("openai-chat"));
    expect(stderr).toContain("nothing was removed");
  });
});

describe("wrong use gets one sentence", () => {
  const good = fileWith("good.json", bodyOn("openai-chat"));
  const budget = 900;
  test.each<[string, string, CompactFlags, string]>([
    ["no budget", good, {}, "--budget"],
    ["an unknown format", good, { budget, format: "morse" }, 'no format "morse"'],
    ["a file that is no JSON", fileWith("bad.json", "{oops"), { budget }, "cannot be read as JSON"],
    ["JSON without messages", fileWith("none.json", { model: "x" }), { budget }, "no messages"],
    ["an empty list", fileWith("empty.json", []), { budget }, "no messages"],
    ["a number", fileWith("number.json", "17"), { budget }, "no conversation"],
    ["a list of words", fileWith("words.json", ["hi"]), { budget }, "no messages"],
    ["neither file nor session", "nothing-of-the-kind", { budget }, "neither a file nor a session"],
  ])("%s", async (_, what, flags, sentence) => {
    const error: unknown = await runCompact(what, { ...flags, data: folder }).catch(
      (thrown) => thrown,
    );
    if (!PlimsollError.is(error)) throw new Error("nothing was thrown");
    expect(error.code).toBe("USAGE");
    expect(error.message).toContain(sentence);
  });

  test.each([
    ["no budget", [good], 2, "--budget"],
    ["a budget that is no number", [good, "--budget", "many"], 2, "many"],
    ["a budget that is too small", [good, "--budget", "3"], 1, "cannot be reduced to 3 tokens"],
  ])("%s, with its exit code and nothing on standard output", async (_, words, code, sentence) => {
    const ran = await run(words);
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(sentence);
    expect(ran.stderr).not.toContain("    at ");
  });
});

describe("lines of JSON", () => {
  const messages = bodyOn("openai-chat")["messages"];
  const line = (id: string, budgetTokens: unknown, kind = "future"): string =>
    JSON.stringify({ kind, id, messages, budgetTokens });

  async function answers(...input: readonly string[]): Promise<{
    readonly lines: readonly {
      readonly id: string;
      readonly messages?: unknown[];
      readonly error?: string;
    }[];
    readonly failure: unknown;
  }> {
    const output = new PassThrough();
    const written = textOf(output);
    const failure: unknown = await runCompactJsonl(Readable.from([input.join("\n")]), output, {
      data: folder,
    }).catch((error: unknown) => error);
    output.end();
    const lines = (await written).split("\n").filter(Boolean);
    return { failure, lines: lines.map((one) => JSON.parse(one) as never) };
  }

  test("cases are answered in their order; other kinds and blank lines are passed over", async () => {
    const other = JSON.stringify({ kind: "recall", id: "r" });
    const { lines, failure } = await answers(
      line("a", 700),
      "",
      other,
      line("b", 1_000, "evidence"),
    );
    expect(failure).toBeUndefined();
    expect(lines.map(({ id }) => id)).toEqual(["a", "b"]);
    for (const one of lines) expect(one.messages?.length).toBeGreaterThan(1);
  });

  test("a case that cannot be met says why, and the stream goes on", async () => {
    const { lines, failure } = await answers(line("tiny", 2), line("fine", 900));
    expect(failure).toBeUndefined();
    expect(lines[0]).toEqual({
      id: "tiny",
      error: expect.stringContaining("cannot be reduced to 2 tokens"),
    });
    expect(lines[1]?.messages?.length).toBeGreaterThan(1);
  });

  test.each([
    ["no JSON", "{oops", "Line 2 cannot be used: it is not a JSON object"],
    [
      "no messages",
      JSON.stringify({ kind: "future", id: "x", budgetTokens: 9 }),
      'Line 2 .*"messages"',
    ],
    [
      "messages that are words",
      JSON.stringify({ kind: "future", id: "x", messages: ["hi"], budgetTokens: 9 }),
      'Line 2 .*"messages"',
    ],
    ["no budget", JSON.stringify({ kind: "future", id: "x", messages }), 'Line 2 .*"budgetTokens"'],
    ["a budget of nothing", line("x", 0), 'Line 2 .*"budgetTokens"'],
    ["a budget that is a word", line("x", "many"), 'Line 2 .*"budgetTokens"'],
  ])("%s is refused by line number, after the answers before it", async (_, bad, sentence) => {
    const { lines, failure } = await answers(line("a", 900), bad, line("b", 900));
    if (!PlimsollError.is(failure)) throw new Error("nothing was thrown");
    expect(failure.code).toBe("USAGE");
    expect(failure.message).toMatch(new RegExp(sentence));
    expect(lines.map(({ id }) => id)).toEqual(["a"]);
  });

  test("from standard input to standard output", async () => {
    const { code, stdout, stderr } = await run(["--jsonl"], `${line("a", 900)}\n${line("b", 2)}\n`);
    expect([code, stderr]).toEqual([0, ""]);
    const ids = stdout
      .trim()
      .split("\n")
      .map((one) => (JSON.parse(one) as { id: string }).id);
    expect(ids).toEqual(["a", "b"]);
  });

  test("a bad line ends it with exit code 2 and one sentence", async () => {
    const { code, stderr } = await run(["--jsonl"], "{oops\n");
    expect([code, stderr]).toEqual([2, expect.stringContaining("Line 1")]);
  });
});

describe("--history", () => {
  const talk = ["Look at a.ts.", "I will.", "Here it is: ".concat("x ".repeat(40)), "Thanks."];
  const conversation = join(folder, "api_conversation_history.json");
  const history = join(folder, "context_history.json");
  writeFileSync(
    conversation,
    JSON.stringify(
      talk.map((text, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: [{ type: "text", text }],
      })),
    ),
  );

  test("the changes of a context_history.json are applied first", async () => {
    writeFileSync(
      history,
      JSON.stringify([[2, [4, [[0, [[5, "text", ["a.ts came again."], []]]]]]]]),
    );
    const { stdout } = await runHere(conversation, { budget: 10_000, history });
    expect(JSON.parse(stdout)).toMatchObject([
      {},
      {},
      { content: [{ text: "a.ts came again." }] },
      {},
    ]);
  });

  test("changes of what is not there are named", async () => {
    writeFileSync(history, JSON.stringify([[9, [4, [[1, [[5, "text", ["x"], []]]]]]]]));
    const { stderr } = await runHere(conversation, { budget: 10_000, history });
    expect(stderr).toContain("1 of 1 changes in");
    expect(stderr).toContain("such as block 9.1");
  });

  test("without a conversation in a file it is wrong usage", async () => {
    await expect(runCompact("ses_1", { budget: 100, history })).rejects.toThrow(
      "--history belongs to a conversation in a file.",
    );
  });
});
