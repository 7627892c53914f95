/** Anthropic Messages: messages exist, are in the right order, and none is empty. */
import type { JsonObject } from "../../../message/json.ts";
import { type Field, isBlank, listOf, type Placed, placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import {
  isModelIn,
  prefillRejected,
  systemMessageSupported,
  systemMessageUnsupported,
} from "./models.ts";
import { blocksOf, isServerResult, type Turn, turnsOf } from "./turns.ts";

/** A1: there are messages, and the first is from the user. */
function* beginsWithUser({ body }: RuleInput): Generator<Finding> {
  const first = turnsOf(body)[0];
  if (first === undefined)
    yield { rule: "A1", message: "there are no messages", place: "/messages" };
  else if (first.role !== "user")
    yield { rule: "A1", message: "the first message is not from the user", place: first.place };
}

/** A2: user and assistant messages alternate strictly in a request that Plimsoll sends. System messages are ignored. */
function* rolesAlternate({ body }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body).filter((turn) => turn.role !== "system");
  for (const [index, turn] of turns.entries())
    if (turn.role === turns[index - 1]?.role)
      yield { rule: "A2", message: `two ${turn.role} messages in a row`, place: turn.place };
}

/** A13: no empty or whitespace-only text blocks, and no empty content. */
function* textIsNotEmpty({ body }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  for (const { item, place } of textBlocks(body, turns))
    if (isBlank(item["text"])) yield { rule: "A13", message: "a text block is empty", place };
  for (const turn of turns) {
    const isFinalAnswer = turn.role === "assistant" && turn.index === turns.length - 1;
    if (!hasContent(turn.item["content"]) && !isFinalAnswer)
      yield { rule: "A13", message: "a message has no content", place: turn.place };
  }
}

function hasContent(content: Field): boolean {
  return typeof content === "string" ? !isBlank(content) : listOf(content).length > 0;
}

function* textBlocks(body: JsonObject, turns: readonly Turn[]): Generator<Placed> {
  yield* textIn(placed(body["system"], "/system"));
  for (const turn of turns) {
    yield* textIn(placed(turn.item["content"], `${turn.place}/content`));
    for (const block of placed(turn.item["content"], `${turn.place}/content`))
      if (block.item["type"] === "tool_result")
        yield* textIn(placed(block.item["content"], `${block.place}/content`));
  }
}

function* textIn(blocks: Iterable<Placed>): Generator<Placed> {
  for (const block of blocks) if (block.item["type"] === "text") yield block;
}

/** A19: the model accepts system messages inside the conversation, and each has the right position and content. */
function* systemMessagesFit({ body }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  const isSupported = isModelIn(body["model"], systemMessageSupported);
  for (const turn of turns.filter(({ role }) => role === "system")) {
    if (isModelIn(body["model"], systemMessageUnsupported))
      yield {
        rule: "A19",
        message: "the model does not accept system messages inside the conversation",
        place: turn.place,
      };
    if (!isSupported) continue;
    if (!mayStandBeforeSystem(turns[turn.index - 1]))
      yield {
        rule: "A19",
        message: "a system message does not follow a user message",
        place: turn.place,
      };
    const next = turns[turn.index + 1];
    if (next !== undefined && next.role !== "assistant")
      yield {
        rule: "A19",
        message: "a system message is not followed by an assistant message",
        place: turn.place,
      };
    if (!blocksOf(turn.item["content"]).every(mayBeInSystem))
      yield { rule: "A19", message: "a system message contains more than text", place: turn.place };
  }
}

function mayStandBeforeSystem(turn: Turn | undefined): boolean {
  const last = turn?.blocks.at(-1);
  const endsInServerTool = last?.["type"] === "server_tool_use" || isServerResult(last);
  return turn?.role === "user" || (turn?.role === "assistant" && endsInServerTool);
}

function mayBeInSystem(block: JsonObject): boolean {
  return ["text", "tool_addition", "tool_removal"].includes(String(block["type"]));
}

/** A20: no assistant prefill on newer models. A turn that the provider paused (pause_turn) may come last. */
function* endsWithoutPrefill({ body }: RuleInput): Generator<Finding> {
  const last = turnsOf(body).at(-1);
  if (last?.role !== "assistant" || !isModelIn(body["model"], prefillRejected)) return;
  if (last.blocks.at(-1)?.["type"] === "server_tool_use") return;
  yield {
    rule: "A20",
    message: "the model does not accept an assistant message at the end",
    place: last.place,
  };
}

const billingPrefix = "x-anthropic-billing-header:";

/** A27: the billing block stays first and unchanged. */
function* billingBlockStays({ body, original }: RuleInput): Generator<Finding> {
  const text = firstSystemText(original);
  if (typeof text !== "string" || !text.startsWith(billingPrefix)) return;
  if (firstSystemText(body) !== text)
    yield {
      rule: "A27",
      message: "the billing block is not first, or was changed",
      place: "/system/0",
    };
}

function firstSystemText(body: JsonObject | undefined): unknown {
  return blocksOf(body?.["system"])[0]?.["text"];
}

export const anthropicRules: Rules = {
  A1: beginsWithUser,
  A2: rolesAlternate,
  A13: textIsNotEmpty,
  A19: systemMessagesFit,
  A20: endsWithoutPrefill,
  A27: billingBlockStays,
};
