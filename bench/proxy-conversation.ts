/** Conversations as an agent sends them over the Anthropic wire: all of it, every time, and a little more. */

import { randomUUID } from "node:crypto";
import type { TextSource } from "./texts.ts";

export interface ConversationOptions {
  readonly texts: TextSource;
  /** Calls and results that are there from the start, and the characters of each result. */
  readonly exchanges: number;
  readonly resultCharacters: number;
  /** After so many requests another conversation begins. */
  readonly requestsMax: number;
}

export interface ConversationRequest {
  readonly body: Buffer;
  /** The client's own name for the conversation. */
  readonly session: string;
  /** For the upstream of the benchmark. */
  readonly headers?: Readonly<Record<string, string>>;
}

const messageCharacters = 100;
/** What the upstream of the benchmark answers. */
const answer = { role: "assistant", content: [{ type: "text", text: "Done." }] };

/** Each call gives the next request: what there was, the answer to it, and one small message more. */
export function createConversation(options: ConversationOptions): () => ConversationRequest {
  let session = "";
  let json = "";
  let requests = options.requestsMax;
  return () => {
    if (requests === options.requestsMax) {
      requests = 0;
      session = randomUUID();
      json = opening(options);
    } else json += `,${JSON.stringify(answer)}`;
    requests++;
    const content = options.texts.text(messageCharacters);
    json += `,${JSON.stringify({ role: "user", content })}`;
    return { body: Buffer.from(`${json}]}`), session };
  };
}

function opening({ texts, exchanges, resultCharacters }: ConversationOptions): string {
  const messages = [
    { role: "user", content: texts.text(messageCharacters) },
    ...Array.from({ length: exchanges }, (_, index) =>
      exchange(texts, `toolu_${index}`, resultCharacters),
    ).flat(),
    answer,
  ];
  const head = JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 1000 }).slice(0, -1);
  return `${head},"messages":${JSON.stringify(messages).slice(0, -1)}`;
}

function exchange(texts: TextSource, id: string, resultCharacters: number): readonly object[] {
  const input = { path: texts.text(40), limit: 100 };
  const content = texts.text(resultCharacters);
  return [
    { role: "assistant", content: [{ type: "tool_use", id, name: "read", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
  ];
}
