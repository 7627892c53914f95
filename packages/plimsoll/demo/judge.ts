/** Checks a request like a strict provider of the Messages wire, and returns the provider's error sentence. */

import { type Block, blocksOf, type WireMessage, type WireRequest } from "./wire-forms.ts";

const namePattern = /^[a-zA-Z0-9_-]{1,128}$/;
const marksMax = 4;

/** Contract: accepts any JSON value. Returns undefined if the request is valid. */
export function faultIn(body: unknown): string | undefined {
  if (!isRequest(body)) return "model, max_tokens and messages: Field required";
  const { messages } = body;
  return (
    faultInTools(body) ??
    faultInRoles(messages) ??
    firstOf(messages.map((message, index) => faultInMessage(message, index))) ??
    firstOf(messages.map((_, index) => faultInPairs(messages, index))) ??
    faultInIds(messages) ??
    faultInMarks(body)
  );
}

function isRequest(body: unknown): body is WireRequest {
  if (typeof body !== "object" || body === null) return false;
  const { model, max_tokens: most, messages } = body as Partial<WireRequest>;
  return typeof model === "string" && Number(most) > 0 && Array.isArray(messages);
}

function firstOf(faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}

function faultInTools({ tools = [] }: WireRequest): string | undefined {
  const names = tools.map(({ name }) => name);
  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
  const wrong = tools.findIndex(
    ({ name, input_schema: schema }) => !namePattern.test(name) || typeof schema !== "object",
  );
  return wrong < 0 ? undefined : `tools.${wrong}: name or input_schema is not valid`;
}

function faultInRoles(messages: readonly WireMessage[]): string | undefined {
  if (messages.length === 0) return "messages: at least one message is required";
  const wrong = messages.findIndex(({ role }, index) =>
    index % 2 === 0 ? role !== "user" : role !== "assistant",
  );
  return wrong < 0 ? undefined : `messages.${wrong}: roles must alternate, beginning with "user"`;
}

function faultInMessage(message: WireMessage, index: number): string | undefined {
  const blocks = blocksOf(message);
  if (blocks.length === 0) return `messages.${index}: all messages must have non-empty content`;
  const blank = blocks.findIndex((block) => block.type === "text" && block.text.trim() === "");
  if (blank >= 0) return `messages.${index}.content.${blank}: text must be non-empty`;
  const strange = blocks.findIndex((block) => !belongs(block, message.role));
  if (strange >= 0)
    return `messages.${index}.content.${strange}: unexpected ${blocks[strange]?.type} in a message of role ${message.role}`;
  const firstOther = blocks.findIndex(({ type }) => type !== "tool_result");
  const lastResult = blocks.findLastIndex(({ type }) => type === "tool_result");
  return firstOther >= 0 && lastResult > firstOther
    ? `messages.${index}: tool_result blocks must come before all other content`
    : undefined;
}

function belongs({ type }: Block, role: WireMessage["role"]): boolean {
  return role === "user"
    ? ["text", "image", "tool_result"].includes(type)
    : ["text", "tool_use"].includes(type);
}

function callIds(message: WireMessage | undefined): readonly string[] {
  return message === undefined
    ? []
    : blocksOf(message).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
}

function resultIds(message: WireMessage | undefined): readonly string[] {
  return message === undefined
    ? []
    : blocksOf(message).flatMap((block) =>
        block.type === "tool_result" ? [block.tool_use_id] : [],
      );
}

function faultInPairs(messages: readonly WireMessage[], index: number): string | undefined {
  const calls = callIds(messages[index]);
  const answered = new Set(resultIds(messages[index + 1]));
  const open = calls.find((id) => !answered.has(id));
  if (open !== undefined)
    return `messages.${index}: tool_use ids were found without tool_result blocks immediately after: ${open}`;
  const called = new Set(callIds(messages[index - 1]));
  const results = resultIds(messages[index]);
  const stray = results.find((id) => !called.has(id));
  if (stray !== undefined || new Set(results).size < results.length)
    return `messages.${index}: unexpected tool_use_id found in tool_result blocks: ${stray ?? "the same twice"}`;
  return undefined;
}

function faultInIds(messages: readonly WireMessage[]): string | undefined {
  const ids = messages.flatMap((message) => callIds(message));
  if (new Set(ids).size < ids.length) return "messages: tool_use ids must be unique";
  const wrong = ids.find((id) => !namePattern.test(id));
  return wrong === undefined ? undefined : `messages: tool_use.id ${wrong} is not valid`;
}

function faultInMarks({ system, messages, tools = [] }: WireRequest): string | undefined {
  const blocks: readonly object[] = [
    ...tools,
    ...(Array.isArray(system) ? system : []),
    ...messages.flatMap((message) => blocksOf(message)),
  ];
  const marks = blocks.filter((block) => "cache_control" in block).length;
  return marks > marksMax
    ? `A maximum of ${marksMax} blocks with cache_control may be provided. Found ${marks}.`
    : undefined;
}
