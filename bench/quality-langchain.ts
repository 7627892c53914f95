/**
 * LangChain's trimMessages as a program that answers the scorer's cases: the messages after the head are trimmed to what the head
 * leaves of the budget. `startOn` as its documentation has it, so that no result comes first.
 */

import { createInterface } from "node:readline";
import { loadTokenizer } from "../packages/plimsoll/src/budget/tokenizer.ts";
import type { Case, ChatMessage } from "./quality-answers.ts";

interface LangChainMessage {
  readonly id?: string;
}

/** As far as it is used here. */
interface LangChain {
  readonly HumanMessage: new (fields: object) => LangChainMessage;
  readonly AIMessage: new (fields: object) => LangChainMessage;
  readonly ToolMessage: new (fields: object) => LangChainMessage;
  readonly SystemMessage: new (fields: object) => LangChainMessage;
  trimMessages(
    messages: readonly LangChainMessage[],
    options: object,
  ): Promise<readonly (LangChainMessage | undefined)[]>;
}

const langChain: LangChain = await import(import.meta.resolve("@langchain/core/messages"));
const tokenizer = await loadTokenizer("tiktoken:o200k_base");
const messageTokens = 4;

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => (part as { readonly text?: string }).text ?? "").join("");
}

/** As the scorer counts: the text, and each call with its keys and values. */
function tokensOf(message: ChatMessage): number {
  const calls = (message.tool_calls ?? []).map(
    ({ function: { name, arguments: text } }) => `\n[call ${name}]\n${text}`,
  );
  return tokenizer.count(`${textOf(message)}${calls.join("")}`).tokens + messageTokens;
}

function wrapped(message: ChatMessage, id: string): LangChainMessage {
  const fields = { id, content: textOf(message) };
  switch (message.role) {
    case "user":
      return new langChain.HumanMessage(fields);
    case "tool":
      return new langChain.ToolMessage({ ...fields, tool_call_id: id });
    case "system":
      return new langChain.SystemMessage(fields);
    default:
      return new langChain.AIMessage(fields);
  }
}

async function trimmed({ messages = [], budgetTokens = 0, pinnedHeadCount = 0 }: Case) {
  const head = messages.slice(0, pinnedHeadCount);
  const counts = messages.map(tokensOf);
  const headTokens = counts.slice(0, pinnedHeadCount).reduce((sum, one) => sum + one, 0);
  const history = messages
    .slice(pinnedHeadCount)
    .map((message, index) => wrapped(message, String(index + pinnedHeadCount)));
  const left = await langChain.trimMessages(history, {
    maxTokens: budgetTokens - headTokens,
    strategy: "last",
    startOn: ["human", "ai"],
    tokenCounter: (list: readonly LangChainMessage[]) =>
      list.reduce((sum, { id }) => sum + (counts[Number(id)] ?? 0), 0),
  });
  const kept = left.flatMap((message) =>
    message === undefined ? [] : (messages[Number(message.id)] ?? []),
  );
  return [...head, ...kept];
}

for await (const line of createInterface({ input: process.stdin })) {
  const item = JSON.parse(line) as Case;
  if (item.kind !== "future" && item.kind !== "evidence") continue;
  console.log(JSON.stringify({ id: item.id, messages: await trimmed(item) }));
}
