/** How the scripted upstream speaks OpenAI Responses. */

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
  type Item,
  isMessage,
  itemId,
  path,
  sealOf,
  textOf,
} from "./body.ts";
import { faultIn } from "./rules.ts";

export const responsesUpstream: UpstreamForm<Body, Answer> = {
  route: (asked) => (asked === path ? {} : undefined),
  faultIn,
  asked: askedIn,
  blocks: ({ tools = [], instructions = "", input }) =>
    [...tools, { instructions }, ...input].map((json): Block => ({ json, isMarked: false })),
  pictureTokens: openaiPictureTokens,
  answer: answerOf,
  events: eventsOf,
  refusal: openaiRefusal,
  tooLong: openaiTooLong,
};

function askedIn(body: Body): Asked {
  const { model, max_output_tokens: maxTokens, stream, tools = [], input } = body;
  return {
    model,
    maxTokens,
    isStreamed: stream === true,
    tools: tools.map(({ name }) => name),
    parts: input.flatMap(partsOf),
  };
}

function partsOf(item: Item): readonly Part[] {
  if (isMessage(item)) {
    const isFromModel = item.role === "assistant";
    return [{ kind: "text", isFromModel, text: textOf(item.content) }];
  }
  switch (item.type) {
    case "function_call":
      return [{ kind: "call", id: item.call_id, text: item.arguments }];
    case "function_call_output":
      return [{ kind: "result", id: item.call_id, text: textOf(item.output), isError: false }];
    case "reasoning":
      return [];
  }
}

function answerOf({ text, calls }: Reply, { number, model, usage }: Frame): Answer {
  const input = usage.fresh + usage.cacheRead + usage.cacheWrite;
  const content = [{ type: "output_text", annotations: [], text }] as const;
  return {
    id: `resp_demo_${number}`,
    object: "response",
    created_at: 1_790_000_000,
    status: "completed",
    model,
    output: [
      {
        type: "reasoning",
        id: itemId("rs", number),
        summary: [],
        encrypted_content: sealOf(number),
      },
      ...(text === ""
        ? []
        : [{ type: "message", id: itemId("msg", number), role: "assistant", content } as const]),
      ...calls.map((call, index) => ({
        type: "function_call" as const,
        id: itemId("fc", number, index),
        call_id: call.id,
        name: call.name,
        arguments: JSON.stringify(call.input),
      })),
    ],
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + usage.output,
    },
  };
}

function eventsOf(answer: Answer): readonly WireEvent[] {
  const opened: Answer = { ...answer, status: "in_progress", output: [], usage: null };
  return [
    { type: "response.created", response: opened },
    ...answer.output.flatMap(itemEvents),
    { type: "response.completed", response: answer },
  ].map((event, index) => ({
    type: event.type,
    data: JSON.stringify({ ...event, sequence_number: index }),
  }));
}

type TypedEvent = Readonly<Record<string, unknown>> & { readonly type: string };

function itemEvents(item: Item, index: number): readonly TypedEvent[] {
  const place = { item_id: item.id, output_index: index };
  const added = (opened: object): TypedEvent => ({
    type: "response.output_item.added",
    output_index: index,
    item: { ...item, ...opened },
  });
  const done = { type: "response.output_item.done", output_index: index, item };
  if (isMessage(item))
    return [added({ content: [] }), ...textEvents(textOf(item.content), place), done];
  return item.type === "function_call"
    ? [added({ arguments: "" }), ...argumentEvents(item.arguments, place), done]
    : [added({}), done];
}

function textEvents(text: string, item: object): readonly TypedEvent[] {
  const place = { ...item, content_index: 0 };
  const part = { type: "output_text", annotations: [] };
  return [
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    ...piecesOf(text).map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
    { type: "response.output_text.done", ...place, text },
    { type: "response.content_part.done", ...place, part: { ...part, text } },
  ];
}

function argumentEvents(text: string, place: object): readonly TypedEvent[] {
  const type = "response.function_call_arguments";
  return [
    ...piecesOf(text).map((delta) => ({ type: `${type}.delta`, ...place, delta })),
    { type: `${type}.done`, ...place, arguments: text },
  ];
}
