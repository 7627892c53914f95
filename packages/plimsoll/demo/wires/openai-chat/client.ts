/** How the demo's client speaks OpenAI Chat Completions. */

import { demoTools } from "../../tools.ts";
import {
  type ClientForm,
  eventJson,
  type News,
  pictureUrl,
  type Reply,
  type WireEvent,
  type Written,
} from "../form.ts";
import { openaiHeaders } from "../openai.ts";
import {
  type Answer,
  type Body,
  done,
  type Message,
  messageOf,
  path,
  type ToolCall,
  textOf,
  type Usage,
} from "./body.ts";

export const chatClient: ClientForm<Body, Message, Answer> = {
  headers: openaiHeaders,
  path: () => path,
  messagesOf,
  body: bodyOf,
  joined,
  kept: ({ choices: [{ message }] }) => [message],
  reply: ({ choices: [{ message }] }) => ({
    text: textOf(message.content),
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
      id,
      name,
      input: JSON.parse(input) as Reply["calls"][number]["input"],
    })),
  }),
};

/** A tool's message has only text on this wire, so pictures come after all results, as the user's. */
function messagesOf({ calls, user }: News): readonly Message[] {
  const results = calls.map(({ id, output: { kind, content } }) => ({
    role: "tool" as const,
    tool_call_id: id,
    content: kind === "image" ? "The picture follows." : content,
  }));
  const pictures = calls
    .filter(({ output }) => output.kind === "image")
    .map(({ output }) => ({
      type: "image_url" as const,
      image_url: { url: pictureUrl(output.content) },
    }));
  const words = user === undefined ? [] : [{ type: "text" as const, text: user }];
  if (pictures.length > 0) return [...results, { role: "user", content: [...pictures, ...words] }];
  return user === undefined ? results : [...results, { role: "user", content: user }];
}

function bodyOf({ model, maxTokens, isStreamed, system, messages }: Written<Message>): Body {
  return {
    model,
    max_completion_tokens: maxTokens,
    ...(isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}),
    tools: demoTools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
    messages: [{ role: "system", content: system }, ...messages],
  };
}

interface Delta {
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly function: { readonly name?: string; readonly arguments?: string };
  }[];
}

interface Chunk extends Pick<Answer, "id" | "created" | "model"> {
  readonly choices: readonly {
    readonly delta: Delta;
    readonly finish_reason: Answer["choices"][0]["finish_reason"] | null;
  }[];
  readonly usage?: Usage | null;
}

function joined(events: readonly WireEvent[]): Answer {
  const chunks = events.filter(({ data }) => data !== done).map((event) => eventJson<Chunk>(event));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const [first] = chunks;
  const reason = choices.find(({ finish_reason: found }) => found)?.finish_reason;
  const usage = chunks.at(-1)?.usage;
  const isWhole = events.at(-1)?.data === done && usage && reason;
  if (first === undefined || !isWhole) throw new Error("The stream ended before its message did.");
  const content = choices.map(({ delta }) => delta.content ?? "").join("");
  const calls = joinedCalls(choices.flatMap(({ delta }) => delta.tool_calls ?? []));
  const message = messageOf(content, calls);
  return {
    id: first.id,
    object: "chat.completion",
    created: first.created,
    model: first.model,
    choices: [{ index: 0, message, finish_reason: reason }],
    usage,
  };
}

function joinedCalls(deltas: NonNullable<Delta["tool_calls"]>): readonly ToolCall[] {
  const calls = new Map<number, ToolCall>();
  for (const { index, id = "", function: piece } of deltas) {
    const known = calls.get(index);
    const { name, arguments: before } = known?.function ?? {
      name: piece.name ?? "",
      arguments: "",
    };
    calls.set(index, {
      id: known?.id ?? id,
      type: "function",
      function: { name, arguments: before + (piece.arguments ?? "") },
    });
  }
  return [...calls.entries()].toSorted(([left], [right]) => left - right).map(([, call]) => call);
}
