/** Usage figures that no provider should report, on every wire, streamed and in one piece. */

import { expect, test } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import { wires } from "../wires.ts";
import { createStreamReader } from "./answer-reader.ts";
import type { Answer, WireName } from "./wire.ts";

/** Written as JSON text, because some of these values cannot be written by JSON.stringify. */
const odd = [
  "-7",
  "1e400",
  "-1e400",
  "1e300",
  "1.5",
  '"12"',
  "null",
  "true",
  "[3]",
  '{"a":1}',
  '"NaN"',
];

const usageText: Readonly<Record<WireName, (figure: string) => string>> = {
  anthropic: (figure) =>
    `{"input_tokens":${figure},"output_tokens":${figure},"cache_read_input_tokens":${figure},"cache_creation_input_tokens":${figure},"cache_creation":{"ephemeral_1h_input_tokens":${figure}}}`,
  "openai-chat": (figure) =>
    `{"prompt_tokens":${figure},"completion_tokens":${figure},"prompt_tokens_details":{"cached_tokens":${figure}},"completion_tokens_details":{"reasoning_tokens":${figure}}}`,
  "openai-responses": (figure) =>
    `{"input_tokens":${figure},"output_tokens":${figure},"input_tokens_details":{"cached_tokens":${figure},"cache_write_tokens":${figure}},"output_tokens_details":{"reasoning_tokens":${figure}}}`,
  gemini: (figure) =>
    `{"promptTokenCount":${figure},"candidatesTokenCount":${figure},"cachedContentTokenCount":${figure},"thoughtsTokenCount":${figure},"toolUsePromptTokenCount":${figure}}`,
};

const whole: Readonly<Record<WireName, (usage: string) => string>> = {
  anthropic: (usage) =>
    `{"type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":${usage}}`,
  "openai-chat": (usage) =>
    `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":${usage}}`,
  "openai-responses": (usage) =>
    `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}],"usage":${usage}}`,
  gemini: (usage) =>
    `{"candidates":[{"content":{"role":"model","parts":[{"text":"Yes."}]},"finishReason":"STOP"}],"usageMetadata":${usage}}`,
};

const streamed: Readonly<Record<WireName, (usage: string) => string>> = {
  anthropic: (usage) =>
    [
      `event: message_start\ndata: {"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":${usage}}}`,
      `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}`,
      `event: content_block_stop\ndata: {"type":"content_block_stop","index":0}`,
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":${usage}}`,
      `event: message_stop\ndata: {"type":"message_stop"}`,
    ].join("\n\n"),
  "openai-chat": (usage) =>
    [
      `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`,
      `data: {"choices":[],"usage":${usage}}`,
      "data: [DONE]",
    ].join("\n\n"),
  "openai-responses": (usage) =>
    `event: response.completed\ndata: {"type":"response.completed","response":${whole["openai-responses"](usage)}}`,
  gemini: (usage) => `data: ${whole.gemini(usage)}`,
};

const wireNames = Object.keys(wires) as readonly WireName[];

function answers(name: WireName, figure: string): readonly Answer[] {
  const usage = usageText[name](figure);
  const reader = createStreamReader(wires[name]);
  reader.push(new TextEncoder().encode(`${streamed[name](usage)}\n\n`));
  return [wires[name].answer.read(JSON.parse(whole[name](usage)) as JsonObject), reader.finish()];
}

test.each(wireNames.flatMap((name) => odd.map((figure) => [name, figure] as const)))(
  "%s: a figure of %s is no figure",
  (name, figure) => {
    const said = answers(name, figure);
    expect(said.map(({ outcome, usage }) => [outcome, usage])).toEqual([
      ["message", undefined],
      ["message", undefined],
    ]);
  },
);

test.each(wireNames)("%s: one odd figure does not take the others with it", (name) => {
  const text = usageText[name]("40").replace(
    /"(input_tokens|prompt_tokens|promptTokenCount)":40/,
    '"$1":-1',
  );
  const { usage } = wires[name].answer.read(JSON.parse(whole[name](text)) as JsonObject);
  // Anthropic's input is the sum of three figures. Gemini counts results of its own tools, and thoughts, apart.
  const input = { anthropic: 80, "openai-chat": 0, "openai-responses": 0, gemini: 40 }[name];
  const output = name === "gemini" ? 80 : 40;
  expect(usage).toMatchObject({ inputTokens: input, outputTokens: output, cacheReadTokens: 40 });
});

test.each(wireNames)("%s: the largest figure there is, and none at all, are figures", (name) => {
  const figures = ["2147483648", "0"].map(
    (figure) => answers(name, figure)[0]?.usage?.outputTokens,
  );
  expect(figures).toEqual([name === "gemini" ? 2 ** 32 : 2 ** 31, 0]);
});
