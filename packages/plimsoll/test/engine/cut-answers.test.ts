/** The example of document A, on every wire: an answer stops half-way, and ends as a verified file, or with a person. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Config } from "../../src/config/schema.ts";
import { type Engine, openEngine } from "../../src/engine.ts";
import type { AnswerCutEvent } from "../../src/message/event.ts";
import type { JsonObject } from "../../src/message/json.ts";
import type { Session } from "../../src/session/library/session.ts";
import type { WireName } from "../../src/wire/format/wire.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(
  config: Config = {},
): Promise<{ readonly engine: Engine; readonly data: string }> {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-streamed-"));
  closing.push(() => rmSync(data, { recursive: true }));
  const engine = await openEngine({ data, config });
  closing.push(engine.close);
  return { engine, data };
}

const component = Array.from(
  { length: 40 },
  (_, line) => `export const field${line} = { name: "field${line}", label: "Field ${line}" };`,
).join("\n");
const cutAt = Math.floor(component.length * 0.6);
const first = component.slice(0, cutAt);
const fenced = (code: string): string => `\`\`\`tsx\n${code}`;
const prompt = "Write the React login component.";

type How = "full_length" | "broken" | "silent" | "whole";

/** The events of an answer with these words, which ends in the way that is named. Gemini's have no names. */
const streams: Readonly<Record<WireName, (words: string, how: How) => readonly JsonObject[]>> = {
  anthropic: (text, how) => [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        content: [],
        model: "m",
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...pieces(text).map((piece) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: piece },
    })),
    ...(how === "broken" || how === "silent"
      ? []
      : [
          { type: "content_block_stop", index: 0 },
          {
            type: "message_delta",
            delta: { stop_reason: how === "whole" ? "end_turn" : "max_tokens" },
            usage: { output_tokens: 600 },
          },
          { type: "message_stop" },
        ]),
  ],
  "openai-chat": (content, how) => [
    ...pieces(content).map((piece) => ({
      id: "c",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta: { role: "assistant", content: piece }, finish_reason: null }],
    })),
    ...(how === "broken" || how === "silent"
      ? []
      : [
          {
            id: "c",
            object: "chat.completion.chunk",
            model: "m",
            choices: [{ index: 0, delta: {}, finish_reason: how === "whole" ? "stop" : "length" }],
          },
        ]),
  ],
  "openai-responses": (text, how) => {
    const item = { type: "message", id: "msg_1", role: "assistant", status: "in_progress" };
    const content = { type: "output_text", text, annotations: [] };
    const isWhole = how === "whole";
    const done = { ...item, status: isWhole ? "completed" : "incomplete", content: [content] };
    const response = { id: "resp_1", object: "response", model: "m", output: [] };
    const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const end = isWhole ? "completed" : "incomplete";
    return [
      { type: "response.created", response: { ...response, status: "in_progress" } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.content_part.added", ...place, part: { ...content, text: "" } },
      ...pieces(text).map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
      ...(how === "broken" || how === "silent"
        ? []
        : [
            { type: "response.output_item.done", output_index: 0, item: done },
            {
              type: `response.${end}`,
              response: {
                ...response,
                status: end,
                output: [done],
                ...(isWhole ? {} : { incomplete_details: { reason: "max_output_tokens" } }),
              },
            },
          ]),
    ];
  },
  gemini: (text, how) => [
    ...pieces(text).map((piece) => ({
      candidates: [{ index: 0, content: { role: "model", parts: [{ text: piece }] } }],
    })),
    ...(how === "broken" || how === "silent"
      ? []
      : [
          {
            candidates: [
              {
                index: 0,
                content: { role: "model", parts: [{ text: "" }] },
                finishReason: how === "whole" ? "STOP" : "MAX_TOKENS",
              },
            ],
          },
        ]),
  ],
};

/** The models that the test asks on each wire. */
const models: Readonly<Record<WireName, string>> = {
  anthropic: "anthropic/claude-sonnet-4-6",
  "openai-chat": "openai/gpt-4o",
  "openai-responses": "openai/gpt-4o",
  gemini: "gemini/gemini-2.5-pro",
};

function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,200}/g) ?? [];
}

async function* streamOf(wire: WireName, words: string, how: How): AsyncGenerator<JsonObject> {
  for (const event of streams[wire](words, how)) yield event;
  if (how === "broken") throw new Error("socket hang up");
  if (how === "silent") await new Promise(() => undefined);
}

async function asked(engine: Engine, wire: WireName): Promise<Session> {
  const session = await engine.session({ agent: "coder" });
  await session.append({ role: "user", parts: [{ kind: "text", text: prompt }] });
  await session.prepare({ target: models[wire], wire, maxOutputTokens: 4096 });
  return session;
}

const onWires = Object.keys(streams) as WireName[];
/** A check that reads the file, and passes if it is whole. */
const passes = [
  process.execPath,
  "--eval",
  "process.exit(require('fs').readFileSync(process.argv[1], 'utf8').includes('field39') ? 0 : 1)",
  "{file}",
];

describe.each(onWires)("on %s", (wire) => {
  test.each(["full_length", "broken", "silent"] as const)(
    "an answer that stops at 60 percent (%s) is completed from its part, checked, and verified",
    async (how) => {
      const { engine, data } = await open({
        llm: { streaming: { timeout_inactivity_seconds: 0.05 } },
      });
      const session = await asked(engine, wire);
      const events: AnswerCutEvent[] = [];
      engine.on("answer-cut", (event) => events.push(event));
      const sent: string[] = [];
      const result = await session.streamed(streamOf(wire, fenced(first), how), {
        estimate: 800,
        send: async ({ request }) => {
          sent.push(JSON.stringify(request));
          return streamOf(wire, `${fenced(component.slice(cutAt))}\n\`\`\``, "whole");
        },
        check: passes,
      });
      const folder = join(data, "partials", session.id);
      expect(result).toMatchObject({
        kind: "completed",
        isVerified: true,
        path: join(folder, "answer.tsx"),
        task: { id: "T-1", status: "verified", title: prompt },
        followUp: { id: "T-2", status: "verified", title: `Complete: ${prompt}`, parent: "T-1" },
      });
      expect(readFileSync(join(folder, "answer.incomplete.tsx"), "utf8")).toBe(first);
      expect(readFileSync(join(folder, "answer.tsx"), "utf8")).toBe(component);
      expect(sent).toHaveLength(1);
      expect(sent[0]).toContain("continue exactly where it ends");
      expect(events).toMatchObject([
        { end: how, outcome: "followed-up", task: "T-1", followUp: "T-2" },
      ]);
    },
  );
});

const wire: WireName = "anthropic";

test("a whole answer is only committed", async () => {
  const { engine } = await open();
  const session = await asked(engine, wire);
  expect(await session.streamed(streamOf(wire, "Done.", "whole"))).toEqual({
    kind: "complete",
    saved: "stored",
  });
  expect(await engine.work.tasks.list({ tenant: "local", limit: 9 })).toEqual([]);
});

test("without a way to ask again, the follow-up task waits", async () => {
  const { engine } = await open();
  const session = await asked(engine, wire);
  expect(
    await session.streamed(streamOf(wire, fenced(first), "broken"), { estimate: 800 }),
  ).toMatchObject({
    kind: "followed-up",
    task: { status: "partial" },
    followUp: { status: "pending" },
  });
});

test("below half, a small conversation is asked again, and the second answer counts", async () => {
  const { engine, data } = await open();
  const session = await asked(engine, wire);
  let asks = 0;
  const result = await session.streamed(streamOf(wire, fenced(first), "broken"), {
    estimate: 100_000,
    send: async () => {
      asks++;
      return streamOf(wire, "Done.", "whole");
    },
  });
  expect([result.kind, asks]).toEqual(["complete", 1]);
  expect(existsSync(join(data, "partials"))).toBe(false);
});

test("a check that fails leaves the follow-up failed, with what the command said, and the original partial", async () => {
  const { engine } = await open();
  const session = await asked(engine, wire);
  const result = await session.streamed(streamOf(wire, fenced(first), "broken"), {
    estimate: 800,
    send: async () => streamOf(wire, fenced(component.slice(cutAt)), "whole"),
    check: [process.execPath, "--eval", "console.error('field 3 is missing'); process.exit(1)"],
  });
  expect(result).toMatchObject({
    kind: "completed",
    isVerified: false,
    task: { status: "partial" },
    followUp: { status: "failed", note: expect.stringContaining("field 3 is missing") },
  });
});

test("below half, with nothing left to take out, a person gets a ticket", async () => {
  const model = { contextWindow: 8000, contextWindowBufferTokens: 100 };
  const config = { providers: { anthropic: { models: { "claude-small": model } } } };
  const { engine } = await open(config);
  const session = await engine.session({ agent: "coder" });
  const text = "The hull needs paint, rope and tar before the spring tide comes. ".repeat(420);
  await session.append({ role: "user", parts: [{ kind: "text", text }] });
  await session.prepare({ target: "anthropic/claude-small", wire, maxOutputTokens: 1024 });
  const cut = streamOf(wire, fenced(first), "broken");
  expect(await session.streamed(cut, { estimate: 100_000 })).toMatchObject({
    kind: "escalated",
    task: { status: "in_progress" },
    ticket: { id: "TK-1", type: "investigation", assignee: "user", task: "T-1" },
  });
});
