/** The rules of a strict provider of OpenAI Responses. The rules that all wires share are in `judge.ts`. */

import { firstFault, isObject } from "../form.ts";
import { isArguments } from "../openai.ts";
import {
  type Body,
  type Item,
  isMessage,
  itemId,
  type MessageItem,
  numberOf,
  reasoningWanted,
  sealOf,
} from "./body.ts";

export function faultIn(body: unknown): string | undefined {
  if (!isRequest(body)) return "model, max_output_tokens and input: missing parameter";
  const { input, include, store } = body;
  if (store !== false || !include.includes(reasoningWanted))
    return "store, include: this upstream stores nothing, so reasoning must be sent back";
  const ids = input.flatMap(({ id }) => id ?? []);
  const twice = ids.find((id, index) => ids.indexOf(id) < index);
  if (twice !== undefined) return `input: duplicate item found with id ${twice}`;
  return firstFault(
    input,
    (item, index) => faultInItem(item, index) ?? faultInReasoning(input, index),
  );
}

function isRequest(body: unknown): body is Body {
  if (!isObject(body)) return false;
  const { model, max_output_tokens: most, input, include } = body;
  const hasLists = Array.isArray(input) && Array.isArray(include);
  return typeof model === "string" && Number(most) >= 16 && hasLists;
}

function faultInItem(item: Item, index: number): string | undefined {
  const place = `input[${index}]`;
  if (isMessage(item)) return faultInMessage(item, place);
  switch (item.type) {
    case "function_call":
      return isArguments(item.arguments) ? undefined : `${place}.arguments: expected JSON`;
    case "function_call_output":
      return typeof item.output === "string" || item.output.length > 0
        ? undefined
        : `${place}.output: expected a string or content`;
    case "reasoning":
      return item.encrypted_content === sealOf(numberOf(item) ?? "")
        ? undefined
        : `${place}: the encrypted content for item ${item.id} could not be verified`;
    default:
      return `${place}: invalid item`;
  }
}

function faultInMessage({ role, content }: MessageItem, place: string): string | undefined {
  if (!["user", "developer", "system", "assistant"].includes(role))
    return `${place}: invalid role '${role}'`;
  if (typeof content === "string") return undefined;
  const isOutput = role === "assistant";
  const strange = content.find(({ type }) => (type === "output_text") !== isOutput);
  if (strange !== undefined) return `${place}: invalid value '${strange.type}' for role ${role}`;
  return content.length === 0 ? `${place}: expected content` : undefined;
}

/** Reasoning and the items that follow from it may not be separated. */
function faultInReasoning(input: readonly Item[], index: number): string | undefined {
  const item = input[index];
  const answer = item === undefined ? undefined : numberOf(item);
  if (item === undefined || answer === undefined) return undefined;
  if (item.type === "reasoning") {
    const after = input[index + 1];
    return after !== undefined && numberOf(after) === answer
      ? undefined
      : `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
  }
  const needed = itemId("rs", Number(answer));
  return input.slice(0, index).some(({ id }) => id === needed)
    ? undefined
    : `Item '${item.id}' was provided without its required 'reasoning' item: '${needed}'.`;
}
