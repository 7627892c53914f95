/** The limits of the usual and the configured models, for people who want to know them before the first request. */

import { budgetOf, effectiveLimit, type OwnLimits } from "../../budget/guard.ts";
import { ownLimitsOf } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import { asGuarded } from "../../session/draft/projection.ts";
import { createTargets, type Target } from "../../session/measure/target.ts";
import { grouped } from "../../text/digits.ts";
import type { Vendor } from "../../wire/format/wire.ts";
import { usualModels } from "../../wire/vendors.ts";
import { wires } from "../../wire/wires.ts";

const vendors = Object.keys(usualModels) as readonly Vendor[];

/** One sentence for each common model of every vendor, and for each model or server that the configuration names. */
export function knownLimits(config: Config): readonly string[] {
  const usual = vendors.flatMap((vendor) => usualLimits(config, vendor));
  const other = { provider: "", vendor: "openai", model: anyModel, name: "other models" } as const;
  return [...usual, ...configuredLimits(config), sentence(config, other)];
}

export function usualLimits(config: Config, vendor: Vendor): readonly string[] {
  return usualModels[vendor].map((model) => sentence(config, { provider: vendor, vendor, model }));
}

/** A sentence about the models for whose requests the configured length of the answer leaves no room, or none. */
export function fullWindows(config: Config): readonly string[] {
  const known = vendors.flatMap((vendor) =>
    usualModels[vendor].map((model) => ({ provider: vendor, vendor, model })),
  );
  const full = known.filter((named) => targetOf(config, named)?.limit.limit === 0);
  const [first, ...others] = full.map(({ model }) => model);
  if (first === undefined) return [];
  const more = others.length === 0 ? "" : ` and ${others.length} other models`;
  const then =
    config.agent?.strict_limit === true
      ? "With agent.strict_limit, every request to them is sent as the final turn"
      : "Plimsoll keeps less than that free";
  return [
    `The configured length of an answer (max_output_tokens) and the buffer fill the whole window of ${first}${more}. ${then}. Set a shorter length.`,
  ];
}

function targetOf(config: Config, { provider, vendor, model }: Named): Target | undefined {
  const wire = Object.values(wires).find((one) => one.vendor === vendor);
  return wire && createTargets(config, () => 0).resolve(provider, wire, { model });
}

interface Named {
  readonly provider: string;
  readonly vendor: Vendor;
  readonly model: string;
  /** The words for the model, if it has no name. */
  readonly name?: string;
}

function configuredLimits(config: Config): readonly string[] {
  return Object.entries(config.providers ?? {}).flatMap(([provider, { wire, models = {} }]) => {
    const own = vendors.find((vendor) => vendor === provider);
    const vendor = wire ?? own ?? "openai";
    const named = Object.keys(models).filter((model) => !usualModels[vendor].includes(model));
    const asked = named.length === 0 && own === undefined ? [anyModel] : named;
    return asked.map((model) => sentence(config, { provider, vendor, model }));
  });
}

/** A name that the catalogue does not know. */
const anyModel = "";

const unknown = "unknown until the provider names the window; until then there is no limit";

function sentence(config: Config, named: Named): string {
  const { provider, vendor, model } = named;
  const target = targetOf(config, named);
  if (target === undefined) return `${named.name ?? model}: ${unknown}`;
  const own = ownLimitsOf(config, { provider, model });
  const usualName = provider === vendor ? model : [provider, model].filter(Boolean).join("/");
  return `${named.name ?? usualName}: ${limitWords(target, own)}`;
}

function limitWords(target: Target, own: OwnLimits): string {
  const { limit } = target;
  const budget = budgetOf(limit, own);
  const isGuess = limit.windowSource === "fallback";
  if (isGuess && budget === undefined) return unknown;
  const tokens = effectiveLimit(asGuarded(target), own);
  const window = isGuess ? "an unknown window" : `a window of ${grouped(limit.window)}`;
  const reason = budget === undefined || budget > tokens ? "" : ` (${budgetKey(own)})`;
  return `${grouped(tokens)} tokens of ${window}${reason}`;
}

function budgetKey({ agentLimit, contextBudget }: OwnLimits): string {
  if (agentLimit !== undefined) return "context_config.per_llm";
  return contextBudget === "auto" ? "agent.context_budget: auto" : "agent.context_budget";
}
