/** How the scripted upstream speaks OpenAI Chat Completions. */

import {
  type Asked,
  type Block,
  type Frame,
  type Part,
  piecesOf,
  type Reply,
  type UpstreamForm,
  type WireEvent,
} from "../form.ts";
import { openaiPictureTokens, openaiRefusal, openaiTooLong } from "../openai.ts";
import {
  type Answer,
  type Body,
  done,
  type Message,
  messageOf,
  path,
  type SaidMessage,
  type ToolCall,
  textOf,
} from "./body.ts";
import { faultIn } from "./rules.ts";

export const chatUpstream: UpstreamForm<Body, Answer> = {
  route: (asked) => (asked === path ? {} : undefined),
  faultIn,
  asked: askedIn,
  blocks: ({ tools = [], messages }) =>
    [...tools, ...messages].map((json): Block => ({ json, isMarked: false })),
  pictureTokens: openaiPictureTokens,
  answer: answerOf,
  events: eventsOf,
  refusal: openaiRefusal,
  tooLong: openaiTooLong,
};

function askedIn(body: Body): Asked {
  const { model, max_completion_tokens: maxTokens, stream, tools = [], messages } = body;
  return {
    model,
    maxTokens,
    isStreamed: stream === true,
    tools: tools.map(({ function: { name } }) => name),
    parts: messages.slice(1).flatMap(partsOf),
  };
}

function partsOf(message: Message): readonly Part[] {
  const text = textOf(message.content);
  if (message.role === "tool")
    return [{ kind: "result", id: message.tool_call_id, text, isError: false }];
  if (message.role !== "assistant") return saidParts(message);
  const calls = message.tool_calls ?? [];
  return [
    ...(message.content === null ? [] : [{ kind: "text", isFromModel: true, text } as const]),
    ...calls.map((call) => ({ kind: "call", id: call.id, text: call.function.arguments }) as const),
  ];
}

function saidParts({ content }: SaidMessage): readonly Part[] {
  const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  return parts.map((part) =>
    part.type === "text"
      ? { kind: "text", isFromModel: false, text: part.text }
      : { kind: "picture", text: "" },
  );
}

function answerOf({ text, calls }: Reply, { number, model, usage }: Frame): Answer {
  const prompt = usage.fresh + usage.cacheRead + usage.cacheWrite;
  const toolCalls = calls.map(({ id, name, input }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
  return {
    id: `chatcmpl-demo-${number}`,
    object: "chat.completion",
    created: 1_790_000_000,
    model,
    choices: [
      {
        index: 0,
        message: messageOf(text, toolCalls),
        finish_reason: calls.length > 0 ? "tool_calls" : "stop",
      },
    ],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: usage.output,
      total_tokens: prompt + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cacheRead },
    },
  };
}

function eventsOf({ choices, usage, ...frame }: Answer): readonly WireEvent[] {
  const [{ message, finish_reason: reason }] = choices;
  const chunk = (fields: object): WireEvent => ({
    type: "",
    data: JSON.stringify({ ...frame, object: "chat.completion.chunk", ...fields }),
  });
  const deltas: readonly object[] = [
    { role: "assistant", content: message.content === null ? null : "" },
    ...piecesOf(textOf(message.content)).map((content) => ({ content })),
    ...(message.tool_calls ?? []).flatMap(callDeltas),
  ];
  return [
    ...deltas.map((delta) =>
      chunk({ choices: [{ index: 0, delta, finish_reason: null }], usage: null }),
    ),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: null }),
    chunk({ choices: [], usage }),
    { type: "", data: done },
  ];
}

function callDeltas(call: ToolCall, index: number): readonly object[] {
  const opened = { ...call, function: { ...call.function, arguments: "" } };
  return [
    { tool_calls: [{ index, ...opened }] },
    ...piecesOf(call.function.arguments).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ];
}
