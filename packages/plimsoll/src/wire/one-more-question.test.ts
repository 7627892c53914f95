/** One more question after a request: what changes in its body, and when there is none. */

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../message/json.ts";
import type { WireName } from "./format/wire.ts";
import { bodyWithQuestion, type QuestionBody } from "./one-more-question.ts";
import { wires } from "./wires.ts";

const text = "What came of it?";
const outputTokens = { answer: 1_000, thinking: 4_000, room: 50_000 };
const mark = { type: "ephemeral" };

function questionAfter(
  wire: WireName,
  body: JsonObject,
  changes: Partial<typeof outputTokens> = {},
): QuestionBody {
  const { edit } = wires[wire];
  return bodyWithQuestion(wires[wire], new TextEncoder().encode(JSON.stringify(body)), {
    text,
    ownTextPlacement: edit.ownTextPlacement,
    outputTokens: { ...outputTokens, ...changes },
  });
}

function asked(wire: WireName, body: JsonObject, changes = {}): JsonObject {
  const made = questionAfter(wire, body, changes);
  if (made.kind === "impossible") throw new Error(made.reason);
  return JSON.parse(new TextDecoder().decode(made.body)) as JsonObject;
}

const tool = { name: "run", input_schema: { type: "object" } };

describe("the question", () => {
  test("on Anthropic follows the last block; thinking, stream, tool choice and marks stay", () => {
    const body = {
      model: "m",
      max_tokens: 32_000,
      stream: true,
      thinking: { type: "enabled", budget_tokens: 8_000 },
      tools: [tool],
      messages: [{ role: "user", content: [{ type: "text", text: "Hi.", cache_control: mark }] }],
    };
    const [message] = body.messages;
    expect(asked("anthropic", body)).toEqual({
      ...body,
      max_tokens: 9_000,
      messages: [{ ...message, content: [...(message?.content ?? []), { type: "text", text }] }],
    });
  });

  test("on Chat Completions is a message; without a limit of the client's it sets one", () => {
    const messages = [{ role: "user", content: "Hi." }];
    expect(asked("openai-chat", { model: "m", messages })).toEqual({
      model: "m",
      messages: [...messages, { role: "user", content: text }],
      max_completion_tokens: 5_000,
    });
    const body = { model: "m", max_tokens: 700, tools: [tool], messages };
    expect(asked("openai-chat", body)).toMatchObject({ max_tokens: 700, tool_choice: "none" });
  });

  test("on Responses nothing is kept", () => {
    const body = { model: "m", store: true, input: [{ role: "user", content: "Hi." }] };
    expect(asked("openai-responses", body)).toMatchObject({
      store: false,
      max_output_tokens: 5_000,
    });
  });

  test("on Gemini is the last part; the other settings stay", () => {
    const body = {
      generationConfig: { temperature: 0, thinkingConfig: { thinkingBudget: 500 } },
      contents: [{ role: "user", parts: [{ text: "Hi." }] }],
    };
    expect(asked("gemini", body)).toEqual({
      generationConfig: { ...body.generationConfig, maxOutputTokens: 1_500 },
      contents: [{ role: "user", parts: [{ text: "Hi." }, { text }] }],
    });
  });

  test("gets no more tokens than the window has room for", () => {
    const body = { model: "m", max_tokens: 32_000, messages: [{ role: "user", content: "Hi." }] };
    expect(asked("anthropic", body, { room: 600 })).toMatchObject({ max_tokens: 600 });
    expect(questionAfter("anthropic", body, { room: 100 })).toMatchObject({ kind: "impossible" });
  });
});

describe("nothing is asked", () => {
  const chat = { model: "m", messages: [{ role: "user", content: "Hi." }] };
  test.each<[string, WireName, JsonObject]>([
    [
      "if the provider keeps the conversation",
      "openai-responses",
      { model: "m", previous_response_id: "resp_1", input: [{ role: "user", content: "Hi." }] },
    ],
    [
      "if the question would become part of a conversation of the provider's",
      "openai-responses",
      { model: "m", conversation: "conv_1", input: [{ role: "user", content: "Hi." }] },
    ],
    ["if the client forces a tool", "openai-chat", { ...chat, tool_choice: "required" }],
    ["if the client wants several answers", "openai-chat", { ...chat, n: 3 }],
    ["if the conversation is not a list", "openai-responses", { model: "m", input: "Hi." }],
  ])("%s", (_, wire, body) => {
    expect(questionAfter(wire, body)).toMatchObject({ kind: "impossible" });
  });
});
