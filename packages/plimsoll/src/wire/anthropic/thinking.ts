/** The Anthropic Messages wire: how much a model thinks. */

import { isObject, type JsonObject } from "../../message/json.ts";
import { type FieldReader, readFields } from "../format/body-fields.ts";
import type { BodySlices } from "../format/slices.ts";
import type { FieldValues, WantedReasoning } from "../format/wire.ts";

/** Models that think up to a budget, and models that decide themselves how much to think (Anthropic's guide, 2026-11). */
const models = {
  byBudget: /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?!-?[6-9]|\d))/,
  byEffort: /claude-[a-z]+-(?:4-[6-9]|[5-9])(?!\d{3})/,
};

const nothing: FieldValues = new Map();

export function reasoningFields(
  body: Uint8Array,
  slices: BodySlices,
  { effort, model, isMeant, isAfterCalls }: WantedReasoning,
): FieldValues {
  const fields = readFields(body, slices);
  const isPossible = fields.value("thinking") === undefined && allowsThinking(fields);
  if (!isPossible) return nothing;
  if (models.byEffort.test(model)) return byEffort(fields, effort);
  const isAble = models.byBudget.test(model) || isMeant;
  // The provider wants the thoughts before the calls whose results end the conversation.
  return isAble && !isAfterCalls ? byBudget(fields, effort) : nothing;
}

/** The provider refuses thinking next to a forced tool choice and to most sampling settings. */
function allowsThinking(fields: FieldReader): boolean {
  const choice = fields.value("tool_choice");
  const isForced = isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool");
  const isSampled =
    (fields.value("temperature") ?? 1) !== 1 ||
    fields.value("top_k") !== undefined ||
    Number(fields.value("top_p") ?? 1) < 0.95;
  return !isForced && !isSampled;
}

function byEffort(fields: FieldReader, effort: WantedReasoning["effort"]): FieldValues {
  const known = fields.value("output_config");
  const config: JsonObject = isObject(known) ? known : {};
  if (config["effort"] !== undefined) return nothing;
  const named = effort === "minimal" ? "low" : effort;
  return new Map([
    ["thinking", { type: "adaptive" }],
    ["output_config", { ...config, effort: named }],
  ]);
}

/** Smallest budget that the provider accepts. */
const budgetMin = 1024;
/** Thinking is part of the answer's length, and the answer must have room too. */
const shareOfAnswer = { minimal: 0, low: 0.2, medium: 0.5, high: 0.8 };

function byBudget(fields: FieldReader, effort: WantedReasoning["effort"]): FieldValues {
  const maxTokens = fields.optionalCount("max_tokens") ?? 0;
  if (maxTokens <= budgetMin) return nothing;
  const budget = Math.max(budgetMin, Math.floor(maxTokens * shareOfAnswer[effort]));
  return new Map([["thinking", { type: "enabled", budget_tokens: budget }]]);
}
