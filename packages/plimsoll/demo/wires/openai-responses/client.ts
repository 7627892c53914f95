/** How the demo's client speaks OpenAI Responses. */

import { demoTools } from "../../tools.ts";
import type { ScriptedCall } from "../../work.ts";
import {
  type Call,
  type ClientForm,
  eventJson,
  type News,
  pictureUrl,
  type WireEvent,
  type Written,
} from "../form.ts";
import { openaiHeaders } from "../openai.ts";
import {
  type Answer,
  type Body,
  type Item,
  isMessage,
  path,
  type ResultItem,
  reasoningWanted,
  textOf,
} from "./body.ts";

export const responsesClient: ClientForm<Body, Item, Answer> = {
  headers: openaiHeaders,
  path: () => path,
  messagesOf,
  body: bodyOf,
  joined,
  kept: ({ output }) => output,
  reply: ({ output }) => ({
    text: output.map((item) => (isMessage(item) ? textOf(item.content) : "")).join(""),
    calls: output.flatMap((item) =>
      item.type === "function_call"
        ? [
            {
              id: item.call_id,
              name: item.name,
              input: JSON.parse(item.arguments) as Call["input"],
            },
          ]
        : [],
    ),
  }),
};

function messagesOf({ calls, user }: News): readonly Item[] {
  const content = [{ type: "input_text", text: user ?? "" }] as const;
  return [
    ...calls.map(resultOf),
    ...(user === undefined ? [] : [{ type: "message", role: "user", content } as const]),
  ];
}

function resultOf({ id, output: { kind, content } }: ScriptedCall): ResultItem {
  const picture = { type: "input_image", detail: "auto", image_url: pictureUrl(content) } as const;
  return {
    type: "function_call_output",
    call_id: id,
    output: kind === "image" ? [picture] : content,
  };
}

function bodyOf({ model, maxTokens, isStreamed, system, messages }: Written<Item>): Body {
  return {
    model,
    max_output_tokens: maxTokens,
    ...(isStreamed ? { stream: true } : {}),
    store: false,
    include: [reasoningWanted],
    instructions: system,
    tools: demoTools.map(({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    })),
    input: messages,
  };
}

/** Takes the items from their own events, as agents do, and the rest from the last event. */
function joined(events: readonly WireEvent[]): Answer {
  const last = events.at(-1);
  if (last?.type !== "response.completed")
    throw new Error("The stream ended before its response did.");
  const output = events
    .filter(({ type }) => type === "response.output_item.done")
    .map((event) => eventJson<{ readonly item: Item }>(event).item);
  return { ...eventJson<{ readonly response: Answer }>(last).response, output };
}
