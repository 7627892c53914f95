/** How the demo's client speaks Anthropic Messages. */

import { demoTools } from "../../tools.ts";
import type { ScriptedCall } from "../../work.ts";
import { type ClientForm, eventJson, type News, type WireEvent, type Written } from "../form.ts";
import {
  type Answer,
  type Body,
  type CallBlock,
  type ContentBlock,
  type Message,
  path,
  type ResultBlock,
  type TextBlock,
} from "./body.ts";

export const anthropicClient: ClientForm<Body, Message, Answer> = {
  headers: {
    "anthropic-version": "2023-06-01",
    "x-api-key": "no-key-is-needed-for-the-demo",
  },
  path: () => path,
  messagesOf: (news) => [{ role: "user", content: newsBlocks(news) }],
  body: bodyOf,
  joined,
  kept: ({ content }) => [{ role: "assistant", content }],
  reply: ({ content }) => ({
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
    ),
  }),
};

const mark = { type: "ephemeral" } as const;

function newsBlocks({ calls, user }: News): readonly ContentBlock[] {
  return [
    ...calls.map(resultOf),
    ...(user === undefined ? [] : [{ type: "text", text: user } as const]),
  ];
}

function resultOf({ id, output }: ScriptedCall): ResultBlock {
  const { kind, content } = output;
  const source = { type: "base64", media_type: "image/png", data: content } as const;
  return {
    type: "tool_result",
    tool_use_id: id,
    content: kind === "image" ? [{ type: "image", source }] : content,
    ...(kind === "error" ? { is_error: true } : {}),
  };
}

function bodyOf({ model, maxTokens, isStreamed, system, messages }: Written<Message>): Body {
  return {
    model,
    max_tokens: maxTokens,
    ...(isStreamed ? { stream: true } : {}),
    system: [{ type: "text", text: system, cache_control: mark }],
    tools: demoTools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: schema,
    })),
    messages: withMark(messages),
  };
}

/** Sets a cache mark at the end of the request, as agents do, so that the provider can cache it for the next request. */
function withMark(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined || typeof last.content === "string") return messages;
  const content = last.content.map((block, index, all) =>
    index === all.length - 1 ? { ...block, cache_control: mark } : block,
  );
  return [...messages.slice(0, -1), { ...last, content }];
}

interface StreamData {
  readonly message?: Answer;
  readonly index?: number;
  readonly content_block?: TextBlock | CallBlock;
  readonly delta?: { readonly text?: string; readonly partial_json?: string };
}

function joined(events: readonly WireEvent[]): Answer {
  const blocks = new Map<number, { readonly opened: TextBlock | CallBlock; text: string }>();
  let opened: Answer | undefined;
  for (const event of events) {
    const { message, index = -1, content_block: block, delta } = eventJson<StreamData>(event);
    opened ??= message;
    if (block !== undefined) blocks.set(index, { opened: block, text: "" });
    if (event.type !== "content_block_delta") continue;
    const gathered = blocks.get(index);
    if (gathered === undefined) throw new Error("A delta came for a block that was not begun.");
    gathered.text += delta?.text ?? delta?.partial_json ?? "";
  }
  if (opened === undefined || events.at(-1)?.type !== "message_stop")
    throw new Error("The stream ended before its message did.");
  const content = [...blocks.entries()]
    .toSorted(([left], [right]) => left - right)
    .map(([, { opened: block, text }]) =>
      block.type === "text"
        ? { ...block, text }
        : { ...block, input: JSON.parse(text === "" ? "{}" : text) as CallBlock["input"] },
    );
  return { ...opened, content };
}
