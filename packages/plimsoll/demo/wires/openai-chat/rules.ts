/** The rules of a strict provider of OpenAI Chat Completions. The rules that all wires share are in `judge.ts`. */

import { firstFault, isObject } from "../form.ts";
import { isArguments } from "../openai.ts";
import type { AnswerMessage, Body, Message } from "./body.ts";

export function faultIn(body: unknown): string | undefined {
  if (!isRequest(body)) return "model, max_completion_tokens and messages: missing parameter";
  const { messages, tools = [] } = body;
  if (tools.some((tool) => !isObject(tool.function))) return "tools: missing parameter 'function'";
  if (messages[0]?.role !== "system") return "messages[0]: expected the system prompt";
  return firstFault(messages, (message, index) => faultInMessage(messages, message, index));
}

/** A stream must report its usage, or nobody would know what it cost. */
function isRequest(body: unknown): body is Body {
  if (!isObject(body)) return false;
  const { model, max_completion_tokens: most, messages, stream, stream_options: options } = body;
  const hasUsage = stream !== true || (isObject(options) && options["include_usage"] === true);
  return typeof model === "string" && Number(most) > 0 && Array.isArray(messages) && hasUsage;
}

function faultInMessage(
  messages: readonly Message[],
  message: Message,
  index: number,
): string | undefined {
  const place = `messages[${index}]`;
  const { role, content } = message;
  if (!["system", "user", "assistant", "tool"].includes(role))
    return `${place}: invalid role '${role}'`;
  const before = messages[index - 1];
  const hasAsked = before?.role === "assistant" && before.tool_calls !== undefined;
  if (hasAsked && role !== "tool")
    return `${place}: an assistant message with 'tool_calls' must be followed by tool messages`;
  if (role === "assistant") return faultInAnswer(message as AnswerMessage, place);
  if (typeof content === "string") return undefined;
  const isList = Array.isArray(content) && content.length > 0;
  if (!isList) return `${place}: invalid content: expected a string or parts`;
  return role === "tool" && content.some(({ type }) => type !== "text")
    ? `${place}: the content of a tool message must be text`
    : undefined;
}

function faultInAnswer(
  { content, tool_calls: calls }: AnswerMessage,
  place: string,
): string | undefined {
  if (calls?.length === 0) return `${place}.tool_calls: array too short`;
  if (content === null && calls === undefined) return `${place}: invalid content: got null`;
  return (calls ?? []).some(
    ({ type, function: called }) => type !== "function" || !isArguments(called.arguments),
  )
    ? `${place}.tool_calls: arguments must be a string of JSON`
    : undefined;
}
