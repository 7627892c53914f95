/** Anthropic Messages: thinking blocks stay as the model wrote them, and thinking settings fit the model. */
import type { JsonObject } from "../../../message/json.ts";
import { canonical, isGiven, objectOf } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import {
  adaptiveThinkingRejected,
  disabledThinkingRejected,
  isKnownModel,
  isModelIn,
  manualThinkingRejected,
  samplingRejected,
} from "./models.ts";
import {
  betasOf,
  blocksOfType,
  counterparts,
  isThinking,
  latestTurn,
  type Turn,
  turnsOf,
} from "./turns.ts";

/** Cache marks are ignored here, because rule A15 checks marks on thinking. */
const markKey: ReadonlySet<string> = new Set(["cache_control"]);

function thinkingOf(turn: Turn | undefined): readonly string[] {
  return turn?.blocks.filter(isThinking).map((block) => canonical(block, markKey)) ?? [];
}

/**
 * A8: thinking blocks are unchanged, in order, with their signature. A finished turn may lose all its thinking, but not a part of
 * it. If the client's body is known, rule A9 covers the latest turn.
 */
function* thinkingIsUnmodified({ body, original }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  const latest = new Set(original && latestTurn(turns));
  const known = new Set(original && turnsOf(original).map((turn) => thinkingOf(turn).join()));
  for (const turn of turns) {
    const thinking = thinkingOf(turn);
    if (turn.role !== "assistant" || thinking.length === 0 || latest.has(turn)) continue;
    if (original !== undefined && !known.has(thinking.join()))
      yield { rule: "A8", message: "thinking is not as the model wrote it", place: turn.place };
    else if (original === undefined && !turn.blocks.every(isSigned))
      yield { rule: "A8", message: "thinking has no signature", place: turn.place };
  }
}

function isSigned(block: JsonObject): boolean {
  if (block["type"] === "thinking") return isGiven(block["signature"]) && block["signature"] !== "";
  return block["type"] !== "redacted_thinking" || isGiven(block["data"]);
}

/** A9: in the latest assistant turn (the whole open tool loop), the thinking of every message that is kept is unchanged. */
function* latestThinkingIsUntouched({ body, original }: RuleInput): Generator<Finding> {
  if (original === undefined) return;
  const counterpartOf = counterparts(original, body);
  const written = new Set(turnsOf(original).flatMap(thinkingOf));
  for (const turn of latestTurn(turnsOf(original))) {
    const thinking = thinkingOf(turn);
    const kept = counterpartOf(turn);
    if (kept !== undefined && thinkingOf(kept).join() !== thinking.join())
      yield { rule: "A9", message: "thinking of the latest turn was changed", place: kept.place };
  }
  for (const turn of latestTurn(turnsOf(body)))
    if (thinkingOf(turn).some((block) => !written.has(block)))
      yield {
        rule: "A9",
        message: "the latest turn has thinking that the client did not send",
        place: turn.place,
      };
}

/** A10: with manual thinking, an open tool loop begins with a thinking block. With adaptive thinking it may have none. */
function* loopBeginsWithThinking({ body }: RuleInput): Generator<Finding> {
  if (objectOf(body["thinking"])["type"] !== "enabled") return;
  const turns = turnsOf(body);
  const last = turns.findLast((turn) => turn.role !== "system");
  const results = blocksOfType(last, "tool_result");
  const isOpen =
    last?.role === "user" && results.length > 0 && results.length === last.blocks.length;
  const first = latestTurn(turns)[0];
  if (isOpen && first !== undefined && !isThinking(first.blocks[0]))
    yield { rule: "A10", message: "the tool loop begins without thinking", place: first.place };
}

/** A11: thinking that is empty but signed is kept. */
function* emptySignedThinkingIsKept({ body, original }: RuleInput): Generator<Finding> {
  if (original === undefined) return;
  const turns = turnsOf(original);
  const latest = new Set(latestTurn(turns));
  const counterpartOf = counterparts(original, body);
  for (const turn of turns) {
    const empty = turn.blocks.filter(isEmptySigned).map((block) => canonical(block, markKey));
    const kept = empty.length > 0 ? counterpartOf(turn) : undefined;
    const thinking = thinkingOf(kept);
    const mayLoseAll = thinking.length === 0 && !latest.has(turn);
    if (kept !== undefined && !mayLoseAll && empty.some((block) => !thinking.includes(block)))
      yield { rule: "A11", message: "empty signed thinking is missing", place: kept.place };
  }
}

function isEmptySigned(block: JsonObject): boolean {
  return block["type"] === "thinking" && block["thinking"] === "" && isGiven(block["signature"]);
}

const interleavedBeta = "interleaved-thinking-2025-05-14";

/** A12: thinking and sampling parameters fit the model. */
function* parametersFitModel(input: RuleInput): Generator<Finding> {
  const { body } = input;
  const thinking = objectOf(body["thinking"]);
  const rejected = rejectedThinking[String(thinking["type"])] ?? [];
  if (isModelIn(body["model"], rejected))
    yield {
      rule: "A12",
      message: `the model does not accept thinking ${thinking["type"]}`,
      place: "/thinking",
    };
  if (thinking["type"] === "enabled" && isKnownModel(body["model"]))
    yield* budgetFits(input, thinking);
  if (!isModelIn(body["model"], samplingRejected)) return;
  for (const key of ["temperature", "top_p", "top_k"])
    if (isGiven(body[key]))
      yield { rule: "A12", message: `the model does not accept ${key}`, place: `/${key}` };
}
const rejectedThinking: Readonly<Record<string, readonly string[]>> = {
  enabled: manualThinkingRejected,
  adaptive: adaptiveThinkingRejected,
  disabled: disabledThinkingRejected,
};

function* budgetFits(input: RuleInput, thinking: JsonObject): Generator<Finding> {
  const budget = thinking["budget_tokens"];
  const most = input.body["max_tokens"];
  const place = "/thinking/budget_tokens";
  if (typeof budget !== "number" || budget < 1024)
    yield { rule: "A12", message: "the thinking budget is below 1024", place };
  else if (typeof most === "number" && budget >= most && !betasOf(input)?.includes(interleavedBeta))
    yield { rule: "A12", message: "the thinking budget is not below max_tokens", place };
}

export const anthropicThinkingRules: Rules = {
  A8: thinkingIsUnmodified,
  A9: latestThinkingIsUntouched,
  A10: loopBeginsWithThinking,
  A11: emptySignedThinkingIsKept,
  A12: parametersFitModel,
};
