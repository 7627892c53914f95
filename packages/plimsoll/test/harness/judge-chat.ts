/**
 * Checks an OpenAI Chat Completions body like a strict provider, from this one body alone: required fields, content
 * types, and the rules C1 to C4, C6 and C7 of wire-fixtures/rules.json. Written from the rules and the provider's texts,
 * independently of the product's validator.
 */
import { elements, isObject, isString, objects } from "./json.ts";
import { type Finding, shape } from "./judge.ts";

interface Body {
  readonly model?: unknown;
  readonly messages?: unknown;
  readonly tools?: unknown;
  readonly stream?: unknown;
}
interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly audio?: unknown;
  readonly tool_calls?: unknown;
  readonly function_call?: unknown;
  readonly tool_call_id?: unknown;
}
interface Call {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly function?: unknown;
  readonly custom?: unknown;
}
interface Definition {
  readonly name?: unknown;
  readonly arguments?: unknown;
}
interface ContentPart {
  readonly type?: unknown;
}
interface Place {
  readonly message: Message;
  readonly index: number;
}

const ROLES: readonly unknown[] = ["developer", "system", "user", "assistant", "tool", "function"];
const COUNT_MAX = 128;
const CALL_ID_LENGTH_MAX = 40;
const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

export function judgeChat(body: unknown): Finding[] {
  if (!isObject(body)) return [shape("We could not parse the JSON body of your request.")];
  const fields: Body = body;
  const messages = objects<Message>(fields.messages).map((message, index) => ({ message, index }));
  return [
    ...judgeFields(fields),
    ...messages.flatMap(judgeMessageShape),
    ...judgePairs(messages),
    ...messages.flatMap(judgeContent),
    ...judgeNames(fields, messages),
    ...judgeCounts(fields, messages),
  ];
}

function judgeFields(body: Body): Finding[] {
  const findings: Finding[] = [];
  if (!isString(body.model) || body.model === "") {
    findings.push(shape("you must provide a model parameter", "model"));
  }
  if (elements(body.messages).length === 0) {
    findings.push(shape("Invalid 'messages': expected a non-empty array.", "messages"));
  }
  if (elements(body.messages).some((message) => !isObject(message))) {
    findings.push(shape("Invalid 'messages': expected an array of objects.", "messages"));
  }
  if (body.stream !== undefined && body.stream !== null && typeof body.stream !== "boolean") {
    findings.push(shape("Invalid type for 'stream': expected a boolean.", "stream"));
  }
  if (body.tools !== undefined && !Array.isArray(body.tools)) {
    findings.push(shape("Invalid type for 'tools': expected an array.", "tools"));
  }
  return findings;
}

function judgeMessageShape({ message, index }: Place): Finding[] {
  const param = `messages[${index}]`;
  if (!ROLES.includes(message.role)) {
    return [shape(`Invalid value: '${String(message.role)}'.`, `${param}.role`)];
  }
  if (message.role === "tool" && !isString(message.tool_call_id)) {
    return [shape(`Missing parameter '${param}.tool_call_id'.`, `${param}.tool_call_id`)];
  }
  return objects<Call>(message.tool_calls).flatMap((call, position) =>
    judgeCallShape(call, `${param}.tool_calls[${position}]`),
  );
}

function judgeCallShape(call: Call, param: string): Finding[] {
  if (!isString(call.id)) return [shape(`Missing required parameter: '${param}.id'.`, param)];
  if (call.type === "custom") return [];
  const { name, arguments: input }: Definition = isObject(call.function) ? call.function : {};
  if (!isString(name)) {
    return [shape(`Missing required parameter: '${param}.function.name'.`, param)];
  }
  if (isString(input)) return [];
  return [shape(`Invalid type for '${param}.function.arguments': expected a string.`, param)];
}

function callIds(message: Message): string[] {
  return objects<Call>(message.tool_calls).flatMap(({ id }) => (isString(id) ? [id] : []));
}

/** Goes through the messages with the ids of calls that have no result yet. */
function judgePairs(messages: readonly Place[]): Finding[] {
  const findings: Finding[] = [];
  let asked: readonly string[] = [];
  let open = new Set<string>();
  let askedAt = 0;
  const close = (): void => {
    if (open.size > 0) findings.push(unanswered([...open], askedAt));
    open = new Set();
  };
  for (const { message, index } of messages) {
    if (message.role === "tool" && isString(message.tool_call_id)) {
      if (!asked.includes(message.tool_call_id)) findings.push(uncalled(index));
      open.delete(message.tool_call_id);
      continue;
    }
    close();
    asked = message.role === "assistant" ? callIds(message) : [];
    open = new Set(asked);
    askedAt = index;
  }
  close();
  return findings;
}

function unanswered(ids: readonly string[], index: number): Finding {
  return {
    rule: "C1",
    message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(", ")}`,
    param: `messages.[${index}].role`,
  };
}

function uncalled(index: number): Finding {
  return {
    rule: "C2",
    message:
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    param: `messages.[${index}].role`,
  };
}

function judgeContent({ message, index }: Place): Finding[] {
  const { content } = message;
  const param = `messages.[${index}].content`;
  if (message.role === "tool") return isToolContent(content) ? [] : [toolContent(index)];
  if (content === undefined || content === null || isEmptyArray(content)) {
    if (message.role === "assistant" && speaksWithoutContent(message)) return [];
    const message400 = "Invalid value for 'content': expected a string, got null.";
    return [{ rule: "C3", message: message400, param }];
  }
  if (isString(content) || isPartsOf(content, isString)) return [];
  return [shape("Invalid type for 'content': expected a string or parts.", param)];
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function speaksWithoutContent(message: Message): boolean {
  if (elements(message.tool_calls).length > 0 || isObject(message.function_call)) return true;
  return isString(message.refusal) || isObject(message.audio);
}

function isToolContent(content: unknown): boolean {
  return isString(content) || isPartsOf(content, (type) => type === "text");
}

function isPartsOf(content: unknown, isKnown: (type: unknown) => boolean): boolean {
  const known = objects<ContentPart>(content).filter((part) => isKnown(part.type));
  return Array.isArray(content) && known.length === content.length;
}

function toolContent(index: number): Finding {
  return {
    rule: "C6",
    message: `Invalid 'messages[${index}]'. The content of a message with role 'tool' must be a string or text parts.`,
    param: `messages[${index}]`,
  };
}

function definitionOf(entry: Call): Definition {
  const definition = entry.type === "custom" ? entry.custom : entry.function;
  return isObject(definition) ? definition : {};
}

function judgeNames(body: Body, messages: readonly Place[]): Finding[] {
  const calls = messages.flatMap(({ message }) => objects<Call>(message.tool_calls));
  return [...objects<Call>(body.tools), ...calls].flatMap((entry) => {
    const { name } = definitionOf(entry);
    if (isString(name) && NAME_PATTERN.test(name)) return [];
    const message = `Invalid function name '${String(name)}'. Expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$'.`;
    return [{ rule: "C4", message, param: "tools" }];
  });
}

function judgeCounts(body: Body, messages: readonly Place[]): Finding[] {
  const lists = [body.tools, ...messages.map(({ message }) => message.tool_calls)];
  const ids = messages.flatMap(({ message }) => callIds(message));
  return [
    ...lists
      .map((list) => elements(list).length)
      .filter((length) => length > COUNT_MAX)
      .map((length) => ({
        rule: "C7",
        message: `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${length} instead.`,
        param: "tools",
      })),
    ...ids
      .filter((id) => id.length > CALL_ID_LENGTH_MAX)
      .map((id) => ({
        rule: "C7",
        message: `Invalid 'tool_calls.id': string too long. Expected a string with maximum length 40, but got a string with length ${id.length} instead.`,
        param: "messages",
      })),
  ];
}
