/** The rules of a strict provider of Anthropic Messages. The rules that all wires share are in `judge.ts`. */

import { firstFault, isObject } from "../form.ts";
import { type Body, blocks, blocksOf, type Message } from "./body.ts";

const marksMax = 4;

export function faultIn(body: unknown): string | undefined {
  if (!isRequest(body)) return "model, max_tokens and messages: Field required";
  const { messages, tools = [] } = body;
  if (tools.some(({ input_schema: schema }) => !isObject(schema)))
    return "tools: input_schema: Field required";
  const marks = blocks(body).filter(({ isMarked }) => isMarked).length;
  if (marks > marksMax)
    return `A maximum of ${marksMax} blocks with cache_control may be provided. Found ${marks}.`;
  return firstFault(messages, faultInMessage);
}

function isRequest(body: unknown): body is Body {
  if (!isObject(body)) return false;
  const { model, max_tokens: most, messages } = body;
  return typeof model === "string" && Number(most) > 0 && Array.isArray(messages);
}

function faultInMessage(message: Message, index: number): string | undefined {
  const { role } = message;
  if (role !== (index % 2 === 0 ? "user" : "assistant"))
    return `messages.${index}: roles must alternate, beginning with "user"`;
  const all = blocksOf(message);
  if (all.length === 0) return `messages.${index}: all messages must have non-empty content`;
  const known = role === "user" ? ["text", "image", "tool_result"] : ["text", "tool_use"];
  const strange = all.find(({ type }) => !known.includes(type));
  return strange === undefined
    ? undefined
    : `messages.${index}: unexpected ${strange.type} in a message of role ${role}`;
}
