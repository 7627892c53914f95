/** Cut answers of the proxy, on every wire that streams arguments: the part is kept, tasks follow, and the next request says so. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import type { JsonObject } from "../../message/json.ts";
import { wires } from "../../wire/wires.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Opened {
  readonly engine: Engine;
  readonly data: string;
}

async function open(streaming: JsonObject = {}): Promise<Opened> {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-cut-"));
  closing.push(() => rmSync(data, { recursive: true }));
  const engine = await openEngine({ data, config: { llm: { streaming } } as object });
  closing.push(engine.close);
  return { engine, data };
}

const asked = "Write the component LoginForm in src/LoginForm.tsx.";
const half = "export function LoginForm() {\n  return <form>";

/** Sends the user's words; the answer is a call that writes half a file and then stops in the way that is named. */
async function cutTurn(
  { engine }: Opened,
  how: "full_length" | "broken" | "left",
  messages: readonly JsonObject[] = [{ role: "user", content: asked }],
): Promise<string> {
  const body = {
    model: "claude-sonnet-4-6",
    max_tokens: 4096,
    messages,
    tools: [{ name: "Write", input_schema: { type: "object" } }],
  };
  const turn = await engine.receive({
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: { isCompacted: false, clientKey: "client:talk" },
  });
  const input = JSON.stringify({ file_path: "src/LoginForm.tsx", content: `${half}</form>;\n}` });
  const reader = wires.anthropic.answer.open();
  const send = (name: string, event: JsonObject): void =>
    void reader.take({ name, data: JSON.stringify({ type: name, ...event }) });
  send("message_start", {
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      content: [],
      model: "claude-sonnet-4-6",
      usage: { input_tokens: 50, output_tokens: 1 },
    },
  });
  send("content_block_start", {
    index: 0,
    content_block: { type: "tool_use", id: "toolu_1", name: "Write", input: {} },
  });
  const cutAt = input.indexOf("</form>");
  send("content_block_delta", {
    index: 0,
    delta: { type: "input_json_delta", partial_json: input.slice(0, cutAt) },
  });
  if (how === "full_length") {
    send("message_delta", {
      delta: { stop_reason: "max_tokens" },
      usage: { output_tokens: 4096 },
    });
    send("message_stop", {});
  }
  const answer = reader.finish();
  const status = { full_length: "complete", broken: "incomplete", left: "aborted" } as const;
  await turn.end({ status: status[how], answer });
  return turn.session;
}

async function settled({ engine }: Opened, session: string): Promise<JsonObject> {
  for (let tries = 0; tries < 400; tries++) {
    const events = await engine.store.events({ session, after: 0, limit: 100 });
    const found = events.find(({ event }) => event.type === "answer-cut");
    if (found !== undefined) return found.event as unknown as JsonObject;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("Nothing was said of the cut answer.");
}

describe.each(["full_length", "broken"] as const)(
  "an answer that ends by %s in the middle of a file",
  (how) => {
    test("leaves the part in a file, and a follow-up task with all that is needed to complete it", async () => {
      const opened = await open();
      const session = await cutTurn(opened, how);
      const event = await settled(opened, session);
      const path = join(opened.data, "partials", session, "LoginForm.incomplete.tsx");
      expect(event).toMatchObject({
        end: how,
        outcome: "followed-up",
        partial: path,
        task: "T-1",
        followUp: "T-2",
      });
      expect(readFileSync(path, "utf8")).toBe(half);
      const { tasks } = opened.engine.work;
      expect(await tasks.get("t", "T-1")).toMatchObject({
        status: "partial",
        title: asked,
        session,
      });
      expect(await tasks.get("t", "T-2")).toMatchObject({
        status: "pending",
        title: `Complete: ${asked}`,
        parent: "T-1",
        priority: 2,
        context: { partialCodePath: path, originalPrompt: asked },
      });
    });
  },
);

test("the next request of the session says where the part is", async () => {
  const opened = await open();
  const session = await cutTurn(opened, "broken");
  await settled(opened, session);
  const { engine } = opened;
  const bodyOf = async (more: readonly JsonObject[]): Promise<string> => {
    const messages = [{ role: "user", content: asked }, ...more];
    const turn = await engine.receive({
      tenant: "t",
      provider: "anthropic",
      wire: wires.anthropic,
      body: new TextEncoder().encode(
        JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 4096, messages }),
      ),
      hints: { isCompacted: false, clientKey: "client:talk" },
    });
    const said = { role: "assistant", content: [{ type: "text", text: "Done." }] };
    await turn.end({ status: "complete", answer: { outcome: "message", choices: [[said]] } });
    return turn.body === undefined ? "" : Buffer.from(turn.body).toString();
  };
  const first = await bodyOf([]);
  expect(first).toContain("LoginForm.incomplete.tsx");
  expect(first).toContain("do not begin again");
});

test("too little of an answer is only seen, because its client asks again", async () => {
  const opened = await open({ on_timeout: { min_completion_percent: 0.9 } });
  const session = await cutTurn(opened, "broken", [
    { role: "user", content: "Read src/LoginForm.tsx." },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "r", name: "Read", input: { file_path: "src/LoginForm.tsx" } },
      ],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "r", content: "x".repeat(1000) }],
    },
  ]);
  expect(await settled(opened, session)).toMatchObject({
    outcome: "seen",
    basis: expect.stringContaining("from the length that the file had before"),
  });
  expect(await opened.engine.work.tasks.list({ tenant: "t", limit: 9 })).toEqual([]);
});

test("with escalate, a person gets a ticket", async () => {
  const opened = await open({ on_timeout: { fallback_action: "escalate" } });
  const session = await cutTurn(opened, "full_length");
  expect(await settled(opened, session)).toMatchObject({
    outcome: "escalated",
    task: "T-1",
    ticket: "TK-1",
  });
  expect(await opened.engine.work.tickets.get("t", "TK-1")).toMatchObject({
    type: "investigation",
    assignee: "user",
    task: "T-1",
    title: `Cut answer: Cannot complete ${asked}`,
    description:
      "The answer stopped, and an unknown share of it had arrived. Manual review needed.",
  });
});

test("a client that leaves by itself leaves no task", async () => {
  const opened = await open();
  await cutTurn(opened, "left");
  await opened.engine.close();
  expect(existsSync(join(opened.data, "partials"))).toBe(false);
});

test("the parts go with their session", async () => {
  const opened = await open();
  const session = await cutTurn(opened, "broken");
  await settled(opened, session);
  expect(existsSync(join(opened.data, "partials", session))).toBe(true);
  await opened.engine.forgetting.forget([session]);
  expect(existsSync(join(opened.data, "partials", session))).toBe(false);
  expect(await opened.engine.work.tasks.list({ tenant: "t", limit: 9 })).toEqual([]);
});
