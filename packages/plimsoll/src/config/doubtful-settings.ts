/** Sentences that tell the operator about settings that contradict each other, and about settings that do nothing yet. */

import { usualThresholds } from "../budget/thresholds.ts";
import { grouped } from "../text/digits.ts";
import { type BreakingStrategy, strategiesIn, withSettings } from "./breaking-strategy.ts";
import type { Config } from "./schema.ts";

/** Sentences that name the settings without an effect. */
export function unusedSettings({ context, context_config: own }: Config): readonly string[] {
  const notYet = pathsIn(context, "context");
  const notRun = settingsNotRun(own?.breaking_strategy ?? {}).flatMap(([name, value]) =>
    pathsIn(value, `context_config.breaking_strategy.${name}`),
  );
  return [
    ...sentenceOf(notYet, "Plimsoll accepts this, but it has no effect yet."),
    ...sentenceOf(
      notRun,
      "The chain has no strategy that uses this, so ordinary compactions ignore it. Add the strategy to context_config.breaking_strategy.chain_order, or remove the settings.",
    ),
  ];
}

function sentenceOf(names: readonly string[], consequence: string): readonly string[] {
  return names.length === 0 ? [] : [`The configuration has ${names.join(", ")}. ${consequence}`];
}

/** The settings that nothing in the chain reads, with their values. */
function settingsNotRun(breaking: BreakingStrategy): readonly (readonly [string, unknown])[] {
  const { chain_order: order = [], chain_stops, truncate } = breaking;
  const running = strategiesIn(order);
  const idle = withSettings.filter((name) => !running.has(name));
  const isCut = truncate?.last_resort !== false || running.has("truncate");
  const { last_resort: _, ...ofCut } = truncate ?? {};
  return [
    ...(order.length === 0 ? [["chain_stops", chain_stops] as const] : []),
    ...(isCut
      ? []
      : Object.entries(ofCut).map(([key, value]) => [`truncate.${key}`, value] as const)),
    ...idle.map((name) => [name, breaking[name]] as const),
  ];
}

/** The settings in a section, by their whole names. */
function pathsIn(value: unknown, path: string): readonly string[] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null) return [path];
  const inside = Object.entries(value);
  return inside.length === 0
    ? [path]
    : inside.flatMap(([key, one]) => pathsIn(one, `${path}.${key}`));
}

export function contradictions(config: Config): readonly string[] {
  return [...thresholdsCrossed(config), ...answerOverBudget(config)];
}

function thresholdsCrossed({ agent }: Config): readonly string[] {
  const { compact_trigger: trigger = usualThresholds.compact, hard_block: block } = agent ?? {};
  if (block === undefined || block >= trigger) return [];
  return [
    `agent.hard_block (${block}) is below agent.compact_trigger (${trigger}), so nothing happens at ${block}: compactions begin at ${trigger}, and are never put off. Set agent.compact_trigger to ${block} or less.`,
  ];
}

function answerOverBudget({ agent = {}, defaults }: Config): readonly string[] {
  const { context_budget: budget, output_in_budget: isInBudget } = agent;
  const { max_output_tokens: output = defaults?.maxOutputTokens } = agent;
  if (isInBudget !== true || typeof budget !== "number" || output === undefined) return [];
  if (output < budget) return [];
  return [
    `agent.max_output_tokens (${grouped(output)}) fills the whole agent.context_budget (${grouped(budget)}), although output_in_budget says that the answer is part of it. Plimsoll keeps only a quarter of the budget for the answer. Set a larger budget, or a shorter answer.`,
  ];
}
