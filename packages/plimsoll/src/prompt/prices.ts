/** Token prices and cache rules per model family, as data. An unknown price is never treated as zero. */

import { bareName } from "../budget/catalogue.ts";
import { type CacheRule, type PriceList, type Prices, priceRows } from "./price-rows.ts";

/** The user's own figures for a model: prices in US dollars per million tokens, and the rule of its cache. */
export interface PriceSettings {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
  readonly cache_write_long?: number | undefined;
  readonly cache_min_tokens?: number | undefined;
  readonly cache_ttl_seconds?: number | undefined;
}

/** Servers that run models on the user's own machine. They send no bill, and their caches are not documented. */
const localProviders = /^(?:ollama|llama[-_.]?cpp|llamafile|lm-?studio|vllm|localhost|local)\b/;

/** Models without a row get the cache rule of their provider. */
const cacheByProvider: readonly { readonly match: RegExp; readonly like: string }[] = [
  { match: /^anthropic/, like: "claude" },
  { match: /^(?:openai|azure)/, like: "gpt" },
  { match: /^(?:google|gemini|vertex)/, like: "gemini-3" },
  { match: /^deepseek/, like: "deepseek" },
];

export function priceListOf(
  provider: string,
  model: string,
  settings: PriceSettings = {},
): PriceList {
  return overridden(listedPrices(provider.toLowerCase(), bareName(model)), settings);
}

function listedPrices(provider: string, name: string): PriceList {
  const unknown = { cache: { kind: "unknown" }, source: "no prices are known", date: "" } as const;
  if (localProviders.test(provider)) return { ...unknown, source: "a local server" };
  const row = priceRows.find(({ match }) => match.test(name));
  if (row !== undefined) return row.list;
  const like = cacheByProvider.find(({ match }) => match.test(provider))?.like;
  const relative = like && priceRows.findLast(({ match }) => match.test(like))?.list;
  if (!relative) return unknown;
  const { prices: _, ...rules } = relative;
  return { ...rules, source: `the cache rule of the provider; no price is known for this model` };
}

/**
 * The user's values replace the values of the list, and other prices are not derived from them. If a price is still missing, all
 * prices of the model are unknown.
 */
function overridden(list: PriceList, settings: PriceSettings): PriceList {
  if (Object.values(settings).every((value) => value === undefined)) return list;
  const cache = overriddenRule(list.cache, settings);
  const prices = overriddenPrices(list.prices, cache, settings);
  const { prices: _, ...rest } = list;
  return {
    ...rest,
    ...(prices === undefined ? {} : { prices }),
    cache,
    source: `settings; else ${list.source}`,
  };
}

function overriddenPrices(
  listed: Prices | undefined,
  cache: CacheRule,
  settings: PriceSettings,
): Prices | undefined {
  const input = settings.input ?? listed?.input;
  const output = settings.output ?? listed?.output;
  const cacheRead = settings.cache_read ?? listed?.cacheRead;
  const isBilledAsInput = cache.kind === "automatic" && !cache.hasWritePrice;
  const cacheWrite = isBilledAsInput ? input : (settings.cache_write ?? listed?.cacheWrite);
  const cacheWriteLong = settings.cache_write_long ?? listed?.cacheWriteLong;
  if (input === undefined || output === undefined) return undefined;
  if (cacheRead === undefined || cacheWrite === undefined) return undefined;
  const long = cacheWriteLong === undefined ? {} : { cacheWriteLong };
  return { input, output, cacheRead, cacheWrite, ...long };
}

function overriddenRule(rule: CacheRule, settings: PriceSettings): CacheRule {
  if (rule.kind === "unknown") return rule;
  const minTokens = settings.cache_min_tokens ?? rule.minTokens;
  const ttlSeconds = settings.cache_ttl_seconds ?? rule.ttlSeconds;
  if (rule.kind === "marks") return { ...rule, minTokens, ttlSeconds };
  const hasWritePrice = rule.hasWritePrice || settings.cache_write !== undefined;
  return { ...rule, minTokens, ttlSeconds, hasWritePrice };
}
