/** How the scripted upstream speaks Anthropic Messages. */

import {
  type Asked,
  type Frame,
  type Part,
  piecesOf,
  type Reply,
  type UpstreamForm,
  type WireEvent,
} from "../form.ts";
import {
  type Answer,
  type Body,
  blocks,
  blocksOf,
  type CallBlock,
  type ContentBlock,
  path,
  type ResultBlock,
  type TextBlock,
} from "./body.ts";
import { faultIn } from "./rules.ts";

export const anthropicUpstream: UpstreamForm<Body, Answer> = {
  route: (asked) => (asked === path ? {} : undefined),
  faultIn,
  asked: askedIn,
  blocks,
  pictureTokens: (width, height) => Math.ceil((width * height) / 750),
  answer: answerOf,
  events: eventsOf,
  refusal: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  tooLong: ({ tokens, maxTokens, window }) =>
    `input length and \`max_tokens\` exceed context limit: ${tokens} + ${maxTokens} > ${window}`,
};

function askedIn({ model, max_tokens: maxTokens, stream, tools = [], messages }: Body): Asked {
  return {
    model,
    maxTokens,
    isStreamed: stream === true,
    tools: tools.map(({ name }) => name),
    parts: messages.flatMap((message) =>
      blocksOf(message).flatMap((block) => partsOf(block, message.role === "assistant")),
    ),
  };
}

function partsOf(block: ContentBlock, isFromModel: boolean): readonly Part[] {
  switch (block.type) {
    case "text":
      return [{ kind: "text", isFromModel, text: block.text }];
    case "image":
      return [{ kind: "picture", text: "" }];
    case "tool_use":
      return [{ kind: "call", id: block.id, text: JSON.stringify(block.input) }];
    case "tool_result":
      return [
        {
          kind: "result",
          id: block.tool_use_id,
          text: resultText(block.content),
          isError: block.is_error === true,
        },
      ];
  }
}

function resultText(content: ResultBlock["content"]): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

function answerOf({ text, calls }: Reply, { number, model, usage }: Frame): Answer {
  return {
    id: `msg_demo_${number}`,
    type: "message",
    role: "assistant",
    model,
    content: [
      ...(text === "" ? [] : [{ type: "text", text } as const]),
      ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input }) as const),
    ],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: usage.fresh,
      cache_read_input_tokens: usage.cacheRead,
      cache_creation_input_tokens: usage.cacheWrite,
      output_tokens: usage.output,
    },
  };
}

function eventsOf(answer: Answer): readonly WireEvent[] {
  const { content, stop_reason: stopReason, usage } = answer;
  const opened = {
    ...answer,
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return [
    event("message_start", { message: opened }),
    event("ping", {}),
    ...content.flatMap((block, index) => blockEvents(block, index)),
    event("message_delta", {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    event("message_stop", {}),
  ];
}

function event(type: string, data: object): WireEvent {
  return { type, data: JSON.stringify({ type, ...data }) };
}

function blockEvents(block: TextBlock | CallBlock, index: number): readonly WireEvent[] {
  const isText = block.type === "text";
  const pieces = piecesOf(isText ? block.text : JSON.stringify(block.input));
  const opened = isText ? { type: "text", text: "" } : { ...block, input: {} };
  return [
    event("content_block_start", { index, content_block: opened }),
    ...pieces.map((piece) =>
      event("content_block_delta", {
        index,
        delta: isText
          ? { type: "text_delta", text: piece }
          : { type: "input_json_delta", partial_json: piece },
      }),
    ),
    event("content_block_stop", { index }),
  ];
}
