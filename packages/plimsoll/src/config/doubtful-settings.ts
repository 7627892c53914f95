/** Sentences that tell the operator about settings that contradict each other, and about settings that do nothing yet. */

import { usualThresholds } from "../budget/thresholds.ts";
import { grouped } from "../text/digits.ts";
import type { Config } from "./schema.ts";

/** One sentence that names the settings without an effect, or none. */
export function unusedSettings({ context }: Config): readonly string[] {
  const names = pathsIn(context, "context");
  return names.length === 0
    ? []
    : [
        `The configuration has ${names.join(", ")}. Plimsoll accepts this, but it has no effect yet.`,
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
