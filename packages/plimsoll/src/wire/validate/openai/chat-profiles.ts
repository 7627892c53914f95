/** OpenAI Chat Completions: additional rules of compatible providers, by profile. */
import type { JsonObject } from "../../../message/json.ts";
import { type Field, isGiven, type Placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { callsOf, chatMessages } from "./chat.ts";

/** C8: the additional rules of stricter compatible providers. */
function* profileFits(input: RuleInput): Generator<Finding> {
  if (input.profile === "mistral") yield* mistralFits(input.body);
  if (input.profile === "strict-alternation") yield* alternates(input.body);
  if (input.profile === "deepseek") yield* reasoningStays(input);
}

function* mistralFits(body: JsonObject): Generator<Finding> {
  const messages = chatMessages(body);
  for (const [index, { item, place }] of messages.entries()) {
    if (item["role"] === "user" && messages[index - 1]?.item["role"] === "tool")
      yield { rule: "C8", message: "a user message follows a tool message", place };
    for (const call of callsOf(item))
      if (!/^[a-zA-Z0-9]{9}$/.test(String(call["id"])))
        yield { rule: "C8", message: `call id ${call["id"]} is not 9 letters or digits`, place };
  }
}

/** User and assistant messages alternate. Calls and their results are ignored. */
function* alternates(body: JsonObject): Generator<Finding> {
  const isCounted = ({ item }: Placed) =>
    item["role"] === "user" || (item["role"] === "assistant" && callsOf(item).length === 0);
  let expected = "user";
  for (const { item, place } of chatMessages(body).filter(isCounted)) {
    if (item["role"] !== expected)
      yield {
        rule: "C8",
        message: `a message of role ${item["role"]} breaks the alternation`,
        place,
      };
    expected = item["role"] === "user" ? "assistant" : "user";
  }
}

/** DeepSeek requires reasoning_content to be unchanged inside an open tool loop. */
function* reasoningStays({ body, original }: RuleInput): Generator<Finding> {
  const before = new Map<Field, Field>();
  for (const { item } of openLoop(original))
    for (const call of callsOf(item)) before.set(call["id"], item["reasoning_content"]);
  for (const { item, place } of openLoop(body)) {
    const reasoning = before.get(callsOf(item)[0]?.["id"]);
    if (isGiven(reasoning) && item["reasoning_content"] !== reasoning)
      yield { rule: "C8", message: "reasoning_content of the open loop was changed", place };
  }
}

function openLoop(body: JsonObject | undefined): readonly Placed[] {
  const messages = chatMessages(body);
  const start = messages.findLastIndex(({ item }) => item["role"] === "user") + 1;
  return messages.slice(start).filter(({ item }) => callsOf(item).length > 0);
}

export const chatProfileRules: Rules = { C8: profileFits };
