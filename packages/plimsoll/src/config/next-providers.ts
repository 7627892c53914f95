/** The targets of other providers that the configuration names for a model, and whether the service can use them. */

import { priceListOf } from "../prompt/prices.ts";
import { isTranslatable, untranslatable } from "../wire/translate/translate.ts";
import { wireFor } from "../wire/wires.ts";
import type { Config } from "./schema.ts";

export interface NextTarget {
  /** As `provider/model`. */
  readonly key: string;
  readonly provider: string;
  readonly model: string;
}

export function targetsElsewhere(
  { targets = {} }: Config,
  provider: string,
  model: string,
): readonly NextTarget[] {
  const keys = Object.hasOwn(targets, model) ? (targets[model] ?? []) : [];
  return keys.map(namedTarget).filter((target) => target.provider !== provider);
}

function namedTarget(key: string): NextTarget {
  const [provider = "", ...model] = key.split("/");
  return { key, provider, model: model.join("/") };
}

/** The key for a provider, or the end of a sentence that says why there is none. */
export type ProviderKey =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "none"; readonly reason: string };

export function keyFor(
  { providers = {} }: Config,
  provider: string,
  env: Readonly<Record<string, string | undefined>>,
): ProviderKey {
  const { apiKeyEnv } = (Object.hasOwn(providers, provider) && providers[provider]) || {};
  if (apiKeyEnv === undefined)
    return { kind: "none", reason: `providers.${provider} has no apiKeyEnv` };
  const key = env[apiKeyEnv]?.trim() ?? "";
  return key === ""
    ? { kind: "none", reason: `the environment variable ${apiKeyEnv} is not set` }
    : { kind: "key", key };
}

/** The vendors of the best-known models. */
const vendors: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "anthropic"],
  [/^gemini/, "gemini"],
  [/^(?:gpt|o\d)/, "openai"],
];

/**
 * Sentences about targets of other providers that the service will not use. A target may belong to the provider that clients ask
 * for the model. That is so if it has the vendor of the model, or comes first, and has no key of its own.
 */
export function unusedTargets(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const { targets = {}, providers = {} } = config;
  return Object.entries(targets).flatMap(([model, keys]) => {
    const named = keys.map(namedTarget);
    const vendor = vendors.find(([pattern]) => pattern.test(model))?.[1];
    return named.flatMap((target) => {
      const settings = Object.hasOwn(providers, target.provider)
        ? providers[target.provider]
        : undefined;
      const isVendors = vendor === (settings?.wire ?? target.provider);
      const isFirst = vendor === undefined && target.provider === named[0]?.provider;
      if (settings?.apiKeyEnv === undefined && (isVendors || isFirst)) return [];
      const reason = problemWith(config, target, env);
      return reason === undefined
        ? []
        : [`targets.${model}: the service does not use ${target.key}, because ${reason}.`];
    });
  });
}

function problemWith(
  config: Config,
  { provider, model }: NextTarget,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const key = keyFor(config, provider, env);
  if (key.kind === "none") return key.reason;
  const settings = config.providers?.[provider];
  const vendor = settings?.wire ?? provider;
  if (!isTranslatable(wireFor(vendor, settings?.api))) return untranslatable;
  const isPriced =
    settings?.models?.[model]?.prices?.input !== undefined ||
    priceListOf(vendor, model).prices !== undefined;
  return isPriced
    ? undefined
    : `its price is not known: set providers.${provider}.models.${model}.prices`;
}
