/**
 * The client's side of a coding conversation over the Anthropic wire: it sends all of it each time, with the results of the calls
 * that the last answer asked for. The provider of coding-upstream.ts answers.
 */

import { randomUUID } from "node:crypto";
import { codingTools, createCodingTexts } from "./coding-texts.ts";
import type { ConversationRequest } from "./proxy-conversation.ts";

export interface CodingOptions {
  readonly seed: number;
  readonly model: string;
  /** What was there before the first request. */
  readonly startBytes: number;
  /** Characters of results, in turn. */
  readonly resultSizes: readonly number[];
  /** Of each result that is added later. Default: as above. */
  readonly addedCharacters?: number;
  /** Calls in one answer. Default: 1. */
  readonly callsPerAnswer?: number;
}

export interface CodingConversation {
  /** Of the next request. */
  readonly bytes: number;
  /** Contract: its bytes are read before the answer is taken. */
  request(): ConversationRequest;
  /** Adds the answer, and what the client says to it. */
  take(answer: string): void;
}

/** As those of recorded coding agents: most results are small, few are large. The mean is about 3,250 characters. */
export const codingSizes: readonly number[] = [400, 1_200, 3_000, 800, 6_000, 2_000, 12_000, 600];
const systemCharacters = 2_000;
/** So often the model has finished, and the user asks for something else. */
const answersPerQuestion = 8;
const maxTokens = 1_000;

interface Block {
  readonly type: string;
  readonly id?: string;
}

export function createCodingConversation(options: CodingOptions): CodingConversation {
  const { model, startBytes, resultSizes, addedCharacters, callsPerAnswer = 1 } = options;
  const texts = createCodingTexts(options.seed);
  const session = randomUUID();
  let results = 0;
  let answers = 0;
  let isStarting = true;
  const nextSize = (): number => {
    const usual = resultSizes[results++ % resultSizes.length] ?? 0;
    return isStarting ? usual : (addedCharacters ?? usual);
  };
  const system = texts.words(systemCharacters);
  const head = { model, max_tokens: maxTokens, system, tools: codingTools, messages: [] };
  const json = growingText(JSON.stringify(head).slice(0, -2), "]}");
  json.add(JSON.stringify({ role: "user", content: texts.words(300) }));

  /** What the client says to an answer: the results of its calls, or the next question. */
  const reply = (blocks: readonly Block[]): void => {
    const found = blocks.filter(({ type }) => type === "tool_use");
    const content =
      found.length === 0
        ? texts.words(300)
        : found.map(({ id }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: texts.result(nextSize()),
          }));
    json.add(`,${JSON.stringify({ role: "user", content })}`);
    answers++;
  };
  const isLast = (): boolean => answers % answersPerQuestion === answersPerQuestion - 1;
  while (json.bytes() < startBytes) {
    const calls = Array.from({ length: isLast() ? 0 : callsPerAnswer }, (_, index) =>
      texts.call(`toolu_start_${answers}_${index}`),
    );
    const content = [{ type: "text", text: texts.words(120) }, ...calls];
    json.add(`,${JSON.stringify({ role: "assistant", content })}`);
    reply(content);
  }
  isStarting = false;
  return {
    get bytes() {
      return json.bytes();
    },
    request: () => ({
      body: json.whole(),
      session,
      headers: { "x-bench-calls": String(isLast() ? 0 : callsPerAnswer) },
    }),
    take: (answer) => {
      const { content } = JSON.parse(answer) as { readonly content: readonly Block[] };
      json.add(`,${JSON.stringify({ role: "assistant", content })}`);
      reply(content);
    },
  };
}

interface GrowingText {
  add(text: string): void;
  /** With its end. Contract: holds until the next `add`. */
  whole(): Buffer;
  bytes(): number;
}

/** Bytes that only grow, so that a long body is not written anew for each request. */
function growingText(start: string, end: string): GrowingText {
  const tail = Buffer.from(end);
  let buffer = Buffer.alloc(0);
  let length = 0;
  const add = (text: string): void => {
    const bytes = Buffer.byteLength(text);
    const needed = length + bytes + tail.length;
    if (needed > buffer.length) {
      const larger = Buffer.allocUnsafe(needed * 2);
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    length += buffer.write(text, length);
    tail.copy(buffer, length);
  };
  add(start);
  return { add, whole: () => buffer.subarray(0, length + tail.length), bytes: () => length };
}
