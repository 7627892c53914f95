/**
 * Conversations of an agent in OpenAI's Chat format, the same in every run: questions, calls with a few words, results
 * of very different sizes, answers. Sizes are those of recorded coding agents: results p50 71, mean 267 tokens.
 */

import type { Config } from "plimsoll";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import type { Ruler } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import { createTexts, type TextSource } from "./texts.ts";

const tokenizer = "tiktoken:o200k_base";

/** Of the provider below: no conversation here has an image in it. */
export const ruler: Ruler = {
  key: tokenizer,
  tokenizer,
  media: { image: { kind: "fixed", tokens: 0 }, pageTokens: 0 },
};

const buffer = 1_000;
export const maxOutput = 1_000;

/** A configuration in which the models of one provider differ in nothing but the limit: `bench/NAME`. */
export function configOf(limits: Readonly<Record<string, number>>): Config {
  return { providers: providerOf(limits), agent: { context_budget: "window" } };
}

function providerOf(limits: Readonly<Record<string, number>>): Config["providers"] {
  const models = Object.entries(limits).map(([name, limit]) => [
    name,
    { contextWindow: limit + buffer + maxOutput },
  ]);
  const settings = { contextWindowBufferTokens: buffer, maxOutputTokens: maxOutput };
  return { bench: { wire: "openai", tokenizer, ...settings, models: Object.fromEntries(models) } };
}

export interface Conversation {
  /** Valid, and with a call at its end that waits for its result. Contract: not to be changed. */
  readonly messages: readonly JsonObject[];
  /** The result that it waits for. */
  result(characters: number): JsonObject;
  /** The next call; results are for this one from now on. */
  call(): JsonObject;
}

const usualExchanges = 8;
/** Every tenth call comes with another beside it. */
const exchangesPerPair = 10;
/** Characters of results, in turn. */
const resultSizes = [200, 300, 350, 400, 600, 1_200, 300, 2_500, 300, 6_000];

/** At least so many messages, and at most three more. The user speaks again after so many exchanges. */
export function createConversation(
  length: number,
  seed = 1,
  exchangesPerQuestion = usualExchanges,
): Conversation {
  const texts = createTexts(seed);
  const messages: JsonObject[] = [{ role: "system", content: texts.text(1_200) }];
  let exchanges = 0;
  let waiting: readonly string[] = [];
  const call = (count = 1): JsonObject => {
    const names = Array.from({ length: count }, (_, index) => `call_${seed}_${exchanges}_${index}`);
    exchanges++;
    waiting = names;
    return {
      role: "assistant",
      content: exchanges % 3 === 0 ? null : texts.text(150),
      tool_calls: names.map((id) => callOf(id, texts)),
    };
  };
  const result = (characters: number): JsonObject => resultOf(waiting[0] ?? "", characters, texts);
  while (messages.length < length) {
    if (exchanges % exchangesPerQuestion === 0) {
      if (exchanges > 0) messages.push({ role: "assistant", content: texts.text(500) });
      messages.push({ role: "user", content: texts.text(300) });
    }
    messages.push(call(exchanges % exchangesPerPair === 9 ? 2 : 1));
    if (messages.length >= length && waiting.length === 1) break;
    const size = resultSizes[exchanges % resultSizes.length] ?? 0;
    messages.push(...waiting.map((id) => resultOf(id, size, texts)));
    if (messages.length >= length) messages.push(call());
  }
  return { messages, result, call: () => call() };
}

function callOf(id: string, texts: TextSource): JsonObject {
  const path = texts.text(30).trim().replaceAll(/\s+/g, "/");
  const input = JSON.stringify({ path, pattern: texts.text(40) });
  return { id, type: "function", function: { name: "search_files", arguments: input } };
}

function resultOf(id: string, characters: number, texts: TextSource): JsonObject {
  return { role: "tool", tool_call_id: id, content: texts.text(characters) };
}

/** What a provider answers that counts exactly as we do. */
export function answerOf(message: JsonObject, inputTokens: number): JsonObject {
  return {
    id: "chatcmpl_1",
    object: "chat.completion",
    model: "bench",
    choices: [{ index: 0, finish_reason: "tool_calls", message }],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: 50,
      total_tokens: inputTokens + 50,
    },
  };
}
