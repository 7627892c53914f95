import { expect, test } from "vitest";
import type { JsonObject } from "../message/json.ts";
import { wireOfBody, wireOfMessage } from "./detect.ts";
import type { WireName } from "./format/wire.ts";

const text = { type: "text", text: "a" };

test.each<[JsonObject, WireName | undefined]>([
  [{ role: "user", content: "a" }, undefined],
  [{ role: "user", content: [text] }, undefined],
  [{ role: "user", content: [{ type: "tool_result" }] }, "anthropic"],
  [{ type: "message", role: "assistant", content: [text, { type: "tool_use" }] }, "anthropic"],
  [{ type: "message", role: "assistant", content: [text] }, undefined],
  [{ role: "tool", content: "a" }, "openai-chat"],
  [{ role: "developer", content: "a" }, "openai-chat"],
  [{ role: "assistant", content: null, tool_calls: [] }, "openai-chat"],
  [{ role: "assistant", content: [{ type: "refusal" }] }, "openai-chat"],
  [{ type: "message", role: "assistant", content: [{ type: "refusal" }] }, "openai-responses"],
  [{ type: "message", role: "user", content: "a" }, "openai-responses"],
  [{ role: "developer", content: [{ type: "input_text" }] }, "openai-responses"],
  [{ role: "assistant", content: [{ type: "output_text" }] }, "openai-responses"],
  [{ role: "user", content: [{ type: "input_image" }] }, "openai-responses"],
  [{ type: "function_call", call_id: "c" }, "openai-responses"],
  [{ type: "function_call_output", call_id: "c", output: "a" }, "openai-responses"],
  [{ type: "reasoning", summary: [] }, "openai-responses"],
  [{ type: "future_item" }, "openai-responses"],
  [{ id: "msg_1" }, "openai-responses"],
])("%j is of %s", (message, wire) => {
  expect(wireOfMessage(message)).toBe(wire);
});

test.each<[JsonObject, WireName]>([
  [{ model: "m", messages: [{ role: "user", content: "a" }] }, "openai-chat"],
  [{ model: "claude-x", messages: [{ role: "user", content: "a" }] }, "anthropic"],
  [{ model: "m", system: "s", messages: [] }, "anthropic"],
  [{ model: "m", input: "a" }, "openai-responses"],
  [{ model: "m", input: [] }, "openai-responses"],
  [{ model: "m", previous_response_id: "resp_1" }, "openai-responses"],
  [{ model: "m", instructions: "a", tools: [{ type: "web_search" }] }, "openai-responses"],
  [{ model: "m", input: "ignored", messages: [{ role: "tool" }] }, "openai-chat"],
])("the body %j is of %s", (body, wire) => {
  expect(wireOfBody(body)).toBe(wire);
});
