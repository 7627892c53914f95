/** Sessions of the library, filled with calls and results. */

import type { Session } from "plimsoll";
import type { TextSource } from "./texts.ts";

/** A model whose tokenizer is known exactly. */
export const target = "openai/gpt-4o";

const call = {
  role: "assistant",
  content: null,
  tool_calls: [
    { id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
  ],
};

/** What a model would answer that wants one more tool result. */
export const toolAnswer: object = {
  id: "chatcmpl_1",
  object: "chat.completion",
  model: "gpt-4o",
  choices: [{ index: 0, finish_reason: "tool_calls", message: call }],
  usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 },
};

export function result(content: string): Record<string, string> {
  return { role: "tool", tool_call_id: "call_1", content };
}

export interface Filling {
  readonly messages: number;
  readonly texts: TextSource;
  /** Of each result; the calls between them are all alike. */
  readonly characters: number;
}

const messagesPerTurn = 20;

/** Gives the bytes of text in the session. It ends with a call that waits for its result. */
export async function fillSession(session: Session, filling: Filling): Promise<number> {
  const { messages, texts, characters } = filling;
  const callBytes = JSON.stringify(call).length;
  let bytes = 0;
  for (let count = 0; count < messages; count += messagesPerTurn) {
    for (let index = 0; index < messagesPerTurn - 1; index++) {
      const message = index % 2 === 0 ? result(texts.text(characters)) : call;
      bytes += message === call ? callBytes : JSON.stringify(message).length;
      await session.append(message);
    }
    await session.prepare({ target });
    await session.commit(toolAnswer);
    bytes += callBytes;
  }
  return bytes;
}
