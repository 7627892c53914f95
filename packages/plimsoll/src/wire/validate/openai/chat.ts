/** OpenAI Chat Completions: calls and their answers, required content, names and counts. */
import type { JsonObject } from "../../../message/json.ts";
import {
  type Field,
  isGiven,
  listOf,
  objectOf,
  objectsOf,
  type Placed,
  placed,
} from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

export function chatMessages(body: JsonObject | undefined): readonly Placed[] {
  return [...placed(body?.["messages"], "/messages")];
}

export function callsOf(message: JsonObject | undefined): readonly JsonObject[] {
  return objectsOf(message?.["tool_calls"]);
}

/** The ids of the calls that are answered by the tool messages directly after a message. */
function answeredAfter(messages: readonly Placed[], index: number): ReadonlySet<Field> {
  const answered = new Set<Field>();
  for (let next = index + 1; messages[next]?.item["role"] === "tool"; next += 1)
    answered.add(messages[next]?.item["tool_call_id"]);
  return answered;
}

/** C1: every id in tool_calls is answered before the next message of another role. */
function* callsAreAnswered({ body }: RuleInput): Generator<Finding> {
  const messages = chatMessages(body);
  for (const [index, { item, place }] of messages.entries()) {
    const calls = callsOf(item);
    if (calls.length === 0) continue;
    const answered = answeredAfter(messages, index);
    for (const call of calls)
      if (!answered.has(call["id"]))
        yield { rule: "C1", message: `call ${call["id"]} has no answer`, place };
  }
}

/** C2: a tool message answers the tool_calls directly before it. */
function* answersHaveCalls({ body }: RuleInput): Generator<Finding> {
  let open: readonly Field[] = [];
  for (const { item, place } of chatMessages(body)) {
    if (item["role"] !== "tool") open = callsOf(item).map((call) => call["id"]);
    else if (!open.includes(item["tool_call_id"]))
      yield { rule: "C2", message: `answer ${item["tool_call_id"]} has no call before it`, place };
  }
}

/** C3: content is required unless there are tool_calls or a function_call. Rule C6 covers tool messages. */
function* messagesHaveContent({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of chatMessages(body)) {
    const isEmpty = !isGiven(item["content"]);
    if (!isEmpty || item["role"] === "tool" || item["role"] === "function") continue;
    const says = callsOf(item).length > 0 || saysOtherwise.some((key) => isGiven(item[key]));
    if (item["role"] !== "assistant" || !says)
      yield { rule: "C3", message: `a message of role ${item["role"]} has no content`, place };
  }
}
const saysOtherwise = ["function_call", "refusal", "audio"];

/** C4: function names match ^[a-zA-Z0-9_-]{1,64}$. */
function* functionNamesFit({ body }: RuleInput): Generator<Finding> {
  const tools = [...placed(body["tools"], "/tools")];
  const calls = chatMessages(body).flatMap(({ item, place }) =>
    callsOf(item).map((call) => ({ item: call, place })),
  );
  for (const { item, place } of [...tools, ...calls]) {
    const name = objectOf(item["function"])["name"];
    if (item["type"] === "function" && !/^[a-zA-Z0-9_-]{1,64}$/.test(String(name ?? "")))
      yield { rule: "C4", message: `function name ${name} has a wrong form`, place };
  }
}

/** C6: the content of a tool message is a string or text parts. */
function* answersAreText({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of chatMessages(body)) {
    const content = item["content"];
    const isText =
      typeof content === "string" ||
      (Array.isArray(content) &&
        listOf(content).every((part) => objectOf(part)["type"] === "text"));
    if (item["role"] === "tool" && !isText)
      yield { rule: "C6", message: `answer ${item["tool_call_id"]} is not text`, place };
  }
}

const mostTools = 128;
const mostCalls = 128;
const longestId = 40;

/** C7: at most 128 tools, 128 calls per message, and 40 characters per call id. */
function* countsFit({ body }: RuleInput): Generator<Finding> {
  if (listOf(body["tools"]).length > mostTools)
    yield { rule: "C7", message: "there are more than 128 tools", place: "/tools" };
  for (const { item, place } of chatMessages(body)) {
    const calls = callsOf(item);
    if (calls.length > mostCalls)
      yield { rule: "C7", message: "a message has more than 128 calls", place };
    for (const { id } of calls.map((call) => ({ id: String(call["id"]) })))
      if (id.length > longestId) yield { rule: "C7", message: `call id ${id} is too long`, place };
  }
}

export const chatRules: Rules = {
  C1: callsAreAnswered,
  C2: answersHaveCalls,
  C3: messagesHaveContent,
  C4: functionNamesFit,
  C6: answersAreText,
  C7: countsFit,
};
