import { describe, expect, test } from "vitest";
import type { Config } from "../../config/schema.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { configured } from "./configured-request.ts";
import type { Incoming } from "./context.ts";

function sent(
  wire: WireName,
  config: Config,
  body: JsonObject,
  more: Partial<Incoming> = {},
): JsonObject | "as it came" {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const provider = wires[wire].vendor;
  const incoming: Incoming = {
    tenant: "t",
    provider,
    wire: wires[wire],
    body: bytes,
    hints: { isCompacted: false },
    ...more,
  };
  const changed = configured(config, incoming);
  if (changed === incoming) return "as it came";
  expect(changed.isChangedBySettings).toBe(true);
  return JSON.parse(new TextDecoder().decode(changed.body)) as JsonObject;
}

const question = { role: "user", content: "Where are we?" };
const claude = { model: "claude-sonnet-4-5", max_tokens: 8000, messages: [question] };
const gpt = { model: "gpt-5.1", messages: [question] };
const high: Config = { defaults: { reasoning: "high" } };

describe("reasoning: Enables extended thinking for capable models", () => {
  test.each<[string, WireName, JsonObject, JsonObject]>([
    ["up to a budget", "anthropic", claude, { thinking: { type: "enabled", budget_tokens: 6400 } }],
    [
      "by effort",
      "anthropic",
      { ...claude, model: "claude-opus-4-7", output_config: { format: null } },
      { thinking: { type: "adaptive" }, output_config: { format: null, effort: "high" } },
    ],
    ["of GPT-5", "openai-chat", gpt, { reasoning_effort: "high" }],
    [
      "of GPT-5, over Responses",
      "openai-responses",
      { model: "gpt-5.1", input: "Hm?", reasoning: { summary: "auto" } },
      { reasoning: { summary: "auto", effort: "high" } },
    ],
    [
      "of Gemini 2.5",
      "gemini",
      { model: "gemini-2.5-pro", contents: [] },
      { generationConfig: { thinkingConfig: { thinkingBudget: 16_384 } } },
    ],
    [
      "of Gemini 3",
      "gemini",
      { model: "gemini-3-pro", contents: [], generation_config: { temperature: 1 } },
      { generation_config: { temperature: 1, thinkingConfig: { thinkingLevel: "high" } } },
    ],
  ])("%s (%s)", (_name, wire, body, fields) => {
    const model = String(body["model"]);
    expect(sent(wire, high, body, { model })).toEqual({ ...body, ...fields });
  });

  test.each<[string, WireName, JsonObject]>([
    ["says it itself", "anthropic", { ...claude, thinking: { type: "disabled" } }],
    ["says it itself", "openai-chat", { ...gpt, reasoning_effort: "low" }],
    [
      "says it itself",
      "openai-responses",
      { model: "gpt-5", input: "", reasoning: { effort: "low" } },
    ],
    ["forces a tool", "anthropic", { ...claude, tool_choice: { type: "any" } }],
    ["samples", "anthropic", { ...claude, temperature: 0.2 }],
    ["has no room for thoughts", "anthropic", { ...claude, max_tokens: 1024 }],
    ["has an old model", "anthropic", { ...claude, model: "claude-3-5-sonnet-20241022" }],
    ["has an old model", "openai-chat", { ...gpt, model: "gpt-4.1" }],
    ["has a model without thoughts", "openai-chat", { ...gpt, model: "gpt-5.1-chat-latest" }],
  ])("a request that %s stays as it is (%s)", (_name, wire, body) => {
    expect(sent(wire, high, body)).toBe("as it came");
  });

  test("a model that Plimsoll does not know thinks if the setting names it", () => {
    const models = { "my-model": { reasoning: "low" as const } };
    const body = { ...gpt, model: "my-model" };
    expect(sent("openai-chat", { providers: { openai: { models } } }, body)).toMatchObject({
      reasoning_effort: "low",
    });
    expect(sent("openai-chat", { providers: { openai: { reasoning: "low" } } }, body)).toBe(
      "as it came",
    );
  });

  const call = { type: "tool_use", id: "c1", name: "look", input: {} };
  const results = { role: "user", content: [{ type: "tool_result", tool_use_id: "c1" }] };
  const thought = { type: "thinking", thinking: "Hm.", signature: "s" };
  test.each([
    ["not when it answers calls made without a thought", [call], false],
    ["when it answers calls made after a thought", [thought, call], true],
  ])("a model thinks between calls: %s", (_name, content, isSet) => {
    const messages = [question, { role: "assistant", content }, results];
    const changed = sent("anthropic", high, { ...claude, messages });
    expect(changed === "as it came").toBe(!isSet);
  });

  test("Reasoning/thinking tokens are INSIDE maxOutputTokens, not added on top", () => {
    for (const effort of ["minimal", "low", "medium", "high"] as const) {
      const changed = sent("anthropic", { defaults: { reasoning: effort } }, claude) as JsonObject;
      const { budget_tokens: budget } = changed["thinking"] as { budget_tokens: number };
      expect(changed["max_tokens"]).toBe(claude.max_tokens);
      expect(budget).toBeGreaterThanOrEqual(1024);
      expect(budget).toBeLessThan(claude.max_tokens);
    }
  });
});

describe("Use toolsAllowed/toolsDenied to limit tools", () => {
  const named = (name: string): JsonObject => ({ name, input_schema: { type: "object" } });
  const tools = [named("read"), named("mcp__git__push"), named("shell")];
  const left = (body: JsonObject | "as it came"): unknown =>
    body === "as it came" ? body : (body["tools"] as JsonObject[]).map(({ name }) => name);

  test.each<[string, Config, unknown]>([
    ["denied by default", { defaults: { toolsDenied: ["mcp__*"] } }, ["read", "shell"]],
    ["allowed to a provider", { providers: { anthropic: { toolsAllowed: ["read"] } } }, ["read"]],
    [
      "denied to an agent",
      { agents: { coder: { toolsDenied: ["shell"] } }, defaults: { toolsDenied: ["*"] } },
      ["read", "mcp__git__push"],
    ],
    ["no tool concerned", { defaults: { toolsDenied: ["write"] } }, "as it came"],
  ])("%s", (_name, config, expected) => {
    const hints = { isCompacted: false, agent: "coder" };
    expect(left(sent("anthropic", config, { ...claude, tools }, { hints }))).toEqual(expected);
  });

  test("a list from which all tools are denied stays, because a conversation with calls needs it", () => {
    const config = { defaults: { toolsDenied: ["*"] } };
    expect(sent("anthropic", config, { ...claude, tools })).toEqual({
      ...claude,
      tools,
      tool_choice: { type: "none" },
    });
  });

  test("a tool choice that wants a denied tool gets a sentence", () => {
    const body = { ...claude, tools, tool_choice: { type: "tool", name: "shell" } };
    const ask = (): unknown => sent("anthropic", { defaults: { toolsDenied: ["shell"] } }, body);
    expect(ask).toThrow(PlimsollError);
    expect(ask).toThrow(/the tool shell, which toolsAllowed or toolsDenied .* Change/);
  });

  test("Gemini keeps a denied tool that was called, because it refuses calls of unknown tools", () => {
    const contents = [
      { role: "user", parts: [{ text: "Go." }] },
      { role: "model", parts: [{ functionCall: { name: "shell", args: {} } }] },
    ];
    const declared = ["read", "shell", "push"].map((name) => ({ name }));
    const body = { contents, tools: [{ functionDeclarations: declared }] };
    const config = { defaults: { toolsAllowed: ["read"] } };
    expect(sent("gemini", config, body, { model: "gemini-2.5-pro" })).toEqual({
      ...body,
      tools: [{ functionDeclarations: [{ name: "read" }, { name: "shell" }] }],
    });
  });

  test("tools inside an item are taken out there", () => {
    const item = {
      type: "additional_tools",
      tools: ["a", "b"].map((name) => ({ type: "function", name })),
    };
    const user = { type: "message", role: "user", content: "Go." };
    const body = { model: "gpt-5.1", input: [item, user] };
    expect(sent("openai-responses", { defaults: { toolsDenied: ["a"] } }, body)).toEqual({
      ...body,
      input: [{ ...item, tools: [{ type: "function", name: "b" }] }, user],
    });
  });

  test("a bypassed request stays as it came", () => {
    const config = { defaults: { toolsDenied: ["*"] } };
    expect(sent("anthropic", config, { ...claude, tools }, { isBypassed: true })).toBe(
      "as it came",
    );
  });
});
