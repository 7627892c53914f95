/** The limits that the configuration sets in addition to the window: for agents, for types of models, and for all requests. */

import type { OwnLimits } from "../budget/guard.ts";
import { type GuardThresholds, usualThresholds } from "../budget/thresholds.ts";
import { matchesWildcard } from "../text/wildcard.ts";
import type { Config } from "./schema.ts";

export interface WhoAsks {
  readonly agent?: string | undefined;
  readonly priority?: 1 | 2 | 3 | undefined;
  readonly provider: string;
  readonly model: string;
  /** The id of the `plimsoll run` that started the client. No limit depends on it. */
  readonly run?: string | undefined;
}

const usualFloor = 3500;
const usualDefault = 5000;

/** The limits from the configuration that apply to a request. If several limits of `context_config` apply, the lowest is used. */
export function ownLimitsOf(config: Config, who: WhoAsks): OwnLimits {
  const contextBudget = budgetOf(config);
  const named = namedLimits(config, who);
  return {
    ...(contextBudget === "window" ? {} : { contextBudget }),
    ...(config.agent?.output_in_budget === true
      ? { outputInBudget: config.agent.max_output_tokens ?? "as asked" }
      : {}),
    ...(config.agent?.strict_limit === true ? { isStrict: true } : {}),
    ...(named.length === 0 ? {} : { agentLimit: Math.max(floorOf(config), Math.min(...named)) }),
    ...(who.priority === undefined ? {} : { priority: who.priority }),
  };
}

function namedLimits(config: Config, { agent, provider, model }: WhoAsks): readonly number[] {
  const { per_agent: perAgent = {}, per_llm: perLlm = [] } = config.context_config ?? {};
  const ofAgent = new Map(Object.entries(perAgent)).get(agent ?? "");
  const names = [provider, model, `${provider}/${model}`].map((name) => name.toLowerCase());
  const ofKind = perLlm.filter(({ type, models = [] }) =>
    [type, ...models].some((pattern) => isNamed(pattern, names)),
  );
  return [
    ...(ofAgent === undefined ? [] : [ofAgent]),
    ...ofKind.map(({ limit, follow_default: follows }) => (follows ? defaultOf(config) : limit)),
  ];
}

/** `names` are in lower case. */
function isNamed(pattern: string, names: readonly string[]): boolean {
  return names.some((name) => matchesWildcard(pattern.toLowerCase(), name));
}

export function budgetOf({ agent }: Config): number | "auto" | "window" {
  return agent?.context_budget ?? "auto";
}

export function floorOf(config: Config): number {
  return config.context_config?.min_limit ?? usualFloor;
}

export function defaultOf(config: Config): number {
  return config.context_config?.default_limit ?? usualDefault;
}

/** Sentences that tell the operator once which limits were below `min_limit` and were raised to it. */
export function raisedLimits(config: Config): readonly string[] {
  const floor = floorOf(config);
  const { per_agent: perAgent = {}, per_llm: perLlm = [] } = config.context_config ?? {};
  const limits = [
    ...Object.entries(perAgent).map(([name, limit]) => ({ name: `per_agent.${name}`, limit })),
    ...perLlm.map(({ type, limit, follow_default: follows }) => ({
      name: `per_llm.${type}`,
      limit: follows ? defaultOf(config) : limit,
    })),
  ];
  return limits
    .filter(({ limit }) => limit < floor)
    .map(
      ({ name, limit }) =>
        `context_config.${name}: ${limit} is below min_limit and was raised to ${floor}.`,
    );
}

export function thresholdsOf(config: Config): GuardThresholds {
  return {
    warn: config.context_config?.warning_threshold ?? usualThresholds.warn,
    compact: config.agent?.compact_trigger ?? usualThresholds.compact,
    block: config.agent?.hard_block ?? usualThresholds.block,
  };
}

/** The settings of a running service after its limits and its progress settings have changed. All others are read once. */
export function withLimits(
  config: Config,
  { agent, context_config: limits, progress }: Config,
): Config {
  const { min_limit, default_limit, warning_threshold, per_agent, per_llm } = limits ?? {};
  return {
    ...config,
    agent: { ...config.agent, context_budget: agent?.context_budget },
    context_config: {
      ...config.context_config,
      min_limit,
      default_limit,
      warning_threshold,
      per_agent,
      per_llm,
    },
    progress,
  };
}
