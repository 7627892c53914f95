/** Counts messages exactly, with the product's tokenizer and threads: the same counter for every library that takes one. */

import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { createFactsReader } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import { createTokenCounter } from "../packages/plimsoll/src/session/measure/token-counter.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { ruler } from "./conversation.ts";

export interface ExactCounter {
  tokensOf(messages: readonly JsonObject[]): Promise<readonly number[]>;
  sumOf(messages: readonly JsonObject[]): Promise<number>;
  close(): Promise<void>;
}

/** Ready to count when it is returned: loading the tokenizer is no part of anyone's time. */
export async function openExactCounter(): Promise<ExactCounter> {
  const counter = createTokenCounter();
  const facts = createFactsReader(counter);
  const encoder = new TextEncoder();
  const tokensOf = async (messages: readonly JsonObject[]): Promise<readonly number[]> => {
    const bytes = messages.map((message) => encoder.encode(JSON.stringify(message)));
    const learned = await facts.learn(wires["openai-chat"], bytes, ruler);
    return learned.map(({ tokens }) => tokens);
  };
  await tokensOf([{ role: "user", content: "Hello." }]);
  return {
    tokensOf,
    sumOf: async (messages) => (await tokensOf(messages)).reduce((sum, tokens) => sum + tokens, 0),
    close: async () => void (await counter.close()),
  };
}
