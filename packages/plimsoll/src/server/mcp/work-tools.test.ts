/** The MCP tools for tasks and tickets: what a model may write, and what it gets to read. */

import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { memoryWork } from "../../../test/engine/memory-work.ts";
import type { CallerWork } from "../../session/work/caller-work.ts";
import { mcpServerOver } from "./mcp-server.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Call = (name: string, input: Record<string, unknown>) => Promise<unknown>;

/** A client of a server that has nothing but tasks and tickets. */
async function connected(work: CallerWork): Promise<{ readonly client: Client; call: Call }> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const noHome = (): Promise<never> => Promise.reject(new Error("There are no sessions."));
  await mcpServerOver(noHome, { tenant: "alice", version: "1", work }).connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  closing.push(() => client.close());
  const call: Call = async (name, input) => {
    const { structuredContent, content } = await client.callTool({ name, arguments: input });
    const [block] = content;
    return structuredContent ?? (block?.type === "text" ? block.text : undefined);
  };
  return { client, call };
}

test("a report without a task creates one, and the next reports change it", async () => {
  const { call } = await connected(memoryWork());
  expect(await call("reportTaskStatus", { title: "Grease", status: "in_progress" })).toEqual({
    taskId: "T-1",
    title: "Grease",
    status: "in_progress",
  });
  const report = { taskId: "T-1", status: "partial", progress: "60 %", note: "Two tins." };
  await call("reportTaskStatus", report);
  expect(await call("getTask", { taskId: 1 })).toMatchObject({
    status: "partial",
    progress: 60,
    note: "Two tins.",
    description: "",
  });
  expect(await call("listTasks", { status: "partial", limit: null })).toMatchObject({
    tasks: [{ taskId: "T-1" }],
  });
});

test("a long list comes in pages", async () => {
  const work = memoryWork();
  for (const title of ["a", "b", "c"]) await work.tasks.create({ title });
  const { call } = await connected(work);
  const first = await call("listTasks", { limit: 2 });
  expect(first).toMatchObject({ tasks: [{ title: "c" }, { title: "b" }], next: "T-2" });
  const second = await call("listTasks", { limit: 2, after: "T-2" });
  expect(second).toEqual({ tasks: [{ taskId: "T-1", title: "a", status: "pending" }] });
});

test.each([
  ["reportTaskStatus", { status: "done" }, "give a `title` to create a task"],
  ["reportTaskStatus", { title: "a" }, "`status` must be one of pending, "],
  ["reportTaskStatus", { title: "a", status: "finished" }, "`status` must be one of pending, "],
  ["reportTaskStatus", { title: "a", status: "done", progress: "half" }, "must be a number"],
  ["reportTaskStatus", { title: "a", status: "done", progress: 101 }, "from 0 to 100"],
  ["reportTaskStatus", { title: ["a"], status: "done" }, "`title` must be text"],
  ["reportTaskStatus", { taskId: "T-9", status: "done" }, 'no task "T-9"'],
  ["createTicket", { title: "a" }, "`type` must be one of question, "],
  ["createTicket", { type: "issue", title: "" }, "The title is empty"],
  ["createTicket", { type: "issue", title: "a", taskId: "T-9" }, 'no task "T-9"'],
  ["askQuestion", {}, "Write your `question`"],
  ["askQuestion", { ticket: "TK-9" }, 'no ticket "TK-9"'],
  ["getTask", {}, "Say in `taskId` which task"],
] as const)("%s refuses %o in a sentence", async (name, input, sentence) => {
  const { call } = await connected(memoryWork());
  expect(await call(name, input)).toContain(sentence);
});

describe("a question", () => {
  test("that nobody answers says how to look again, and finds the answer then", async () => {
    const work = memoryWork();
    await work.tasks.create({ title: "Open the port", status: "in_progress" });
    const { call } = await connected(work);
    const asked = await call("askQuestion", { question: "Which port?", taskId: "T-1" });
    expect(asked).toEqual({
      ticketId: "TK-1",
      isAnswered: false,
      text: 'Nobody has answered yet. Your question is TK-1, and it stays open. T-1 is blocked until somebody answers. Go on with other work if there is any. To look again, call askQuestion with {"ticket": "TK-1"}.',
    });
    await work.tickets.answer("TK-1", { text: "8080" });
    expect(await call("askQuestion", { ticket: "TK-1" })).toEqual({
      ticketId: "TK-1",
      isAnswered: true,
      text: "user answered TK-1: 8080",
    });
  });

  test("waits longer than its client would, because the client hears of progress", async () => {
    const work = memoryWork({ waitMs: 60_000 });
    const { client } = await connected(work);
    const heard: unknown[] = [];
    const onprogress = ({ message }: { readonly message?: string | undefined }): void => {
      heard.push(message);
      if (heard.length === 3) void work.tickets.answer("TK-1", { text: "8080" });
    };
    const result = await client.callTool(
      { name: "askQuestion", arguments: { question: "Which port?" } },
      { timeout: 2000, resetTimeoutOnProgress: true, onprogress },
    );
    expect(result).toMatchObject({ structuredContent: { isAnswered: true } });
    expect(heard.length).toBeGreaterThanOrEqual(3);
    expect(heard[0]).toContain("plimsoll tickets answer");
  });

  test("ends when its client no longer waits, and its task is blocked", async () => {
    const work = memoryWork({ waitMs: 60_000 });
    await work.tasks.create({ title: "Open the port" });
    const { client } = await connected(work);
    const left = new AbortController();
    const asked = client
      .callTool(
        { name: "askQuestion", arguments: { question: "Which port?", taskId: "T-1" } },
        { signal: left.signal },
      )
      .catch(() => "left");
    await expect.poll(async () => (await work.tickets.list()).length).toBe(1);
    left.abort("The user pressed Escape.");
    expect(await asked).toBe("left");
    await expect
      .poll(async () => (await work.tasks.get("T-1")).status)
      .toBe("blocked_awaiting_feedback");
  });
});
