/**
 * Anthropic Messages: cache marks. They are checked in tools, system, messages and results, but not inside inputs and schemas.
 */
import type { JsonObject } from "../../../message/json.ts";
import { isGiven, objectOf, type Placed, placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { isThinking, turnsOf } from "./turns.ts";

const mostMarks = 4;

/** All items that may have a cache mark, in the order in which the server reads them. */
function* markable(body: JsonObject): Generator<Placed> {
  yield* placed(body["tools"], "/tools");
  yield* placed(body["system"], "/system");
  for (const turn of turnsOf(body))
    for (const block of placed(turn.item["content"], `${turn.place}/content`)) {
      if (block.item["type"] === "tool_result")
        yield* placed(block.item["content"], `${block.place}/content`);
      yield block;
    }
}

function marked(body: JsonObject): readonly Placed[] {
  return [...markable(body)].filter(({ item }) => isGiven(item["cache_control"]));
}

/** A mark without a ttl lives five minutes. */
function lifetime(item: JsonObject): string {
  return String(objectOf(item["cache_control"])["ttl"] ?? "5m");
}

/** A14: no cache_control on empty text. */
function* emptyTextIsUnmarked({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of marked(body))
    if (item["type"] === "text" && item["text"] === "")
      yield { rule: "A14", message: "there is a cache mark on empty text", place };
}

/** A15: at most 4 cache_control marks, and none on thinking. A top-level mark does not clash with the mark of the last block. */
function* marksAreFew({ body }: RuleInput): Generator<Finding> {
  const marks = marked(body);
  if (marks.length > mostMarks)
    yield { rule: "A15", message: "there are more than four cache marks", place: "/" };
  for (const { item, place } of marks)
    if (isThinking(item))
      yield { rule: "A15", message: "there is a cache mark on thinking", place };
  const last = turnsOf(body).at(-1)?.blocks.at(-1);
  const clashes = isGiven(last?.["cache_control"]) && lifetime(last ?? {}) !== lifetime(body);
  if (isGiven(body["cache_control"]) && clashes)
    yield {
      rule: "A15",
      message: "the top-level cache mark clashes with the one on the last block",
      place: "/cache_control",
    };
}

/** A16: in the order tools, system, messages, a mark with a long lifetime never follows one with a short lifetime. */
function* lifetimesNeverRise({ body }: RuleInput): Generator<Finding> {
  let isShort = false;
  for (const { item, place } of marked(body)) {
    if (isShort && lifetime(item) === "1h")
      yield { rule: "A16", message: "a mark of 1h follows one of 5m", place };
    isShort ||= lifetime(item) === "5m";
  }
}

export const anthropicCacheRules: Rules = {
  A14: emptyTextIsUnmarked,
  A15: marksAreFew,
  A16: lifetimesNeverRise,
};
