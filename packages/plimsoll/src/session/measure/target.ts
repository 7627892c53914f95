/** Targets: how much of a model's window a request may use, and how the tokens of the request are counted. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { findModel, type ModelFacts } from "../../budget/catalogue.ts";
import { type Limit, narrowLimit, resolveLimit } from "../../budget/limit.ts";
import { cutsSilently } from "../../budget/servers.ts";
import { settingOf } from "../../config/levels.ts";
import type { Config, ProviderSettings } from "../../config/schema.ts";
import { priceListOf } from "../../prompt/prices.ts";
import type { MediaLimits, Profile, Wire, WireRequest } from "../../wire/format/wire.ts";
import type { Ruler } from "./message-facts.ts";
import { createTargetMemories, type TargetMemories } from "./target-memory.ts";

export interface Target {
  readonly provider: string;
  readonly model: string;
  /** The target as `provider/model`. */
  readonly key: string;
  readonly tenant: string;
  /** Name of the model in the catalogue, if the headers of the request select a variant of the model. */
  readonly facts: string | undefined;
  readonly wire: Wire;
  readonly limit: Limit;
  readonly ruler: Ruler;
  readonly media: MediaLimits;
  /** Whether the provider itself defers tools until a search finds them. */
  readonly defersNatively: boolean;
  /** Whether the server silently cuts requests that are too long. Plimsoll must never send such a server too much. */
  readonly cutsSilently: boolean;
  /** Whether the server can count the tokens of a request without answering it. */
  readonly countsTokens: boolean;
  /** The server whose rules apply in addition to the rules of the wire. */
  readonly profile: Profile | undefined;
}

/** The facts about a request that are needed to find its target. */
export interface Wanted extends Pick<WireRequest, "model" | "maxOutputTokens"> {
  /** Name of the model in the catalogue, if the headers of the request select a variant of the model. */
  readonly facts?: string;
  /** The agent that asks. It may have settings of its own. */
  readonly agent?: string;
  /** Windows are remembered per tenant, because one tenant's provider must not influence another tenant. */
  readonly tenant?: string;
}

export interface Targets {
  resolve(provider: string, wire: Wire, request: Wanted): Target;
  /** The requested target, followed by its configured fallbacks. All have the same provider and wire. */
  candidates(provider: string, wire: Wire, request: Wanted): readonly [Target, ...Target[]];
  /**
   * Call this when a provider names its model's window. If this window is smaller than the known one, or the known one is a
   * guess, Plimsoll uses it for an hour.
   */
  learnWindow(target: Target, tokens: number): void;
  /** Call this when a server turns out not to defer tools. For an hour, Plimsoll then no longer asks it to. */
  distrust(target: Target): void;
  /** The same target with a smaller window, after its provider refused a request of about that size. */
  narrowed(target: Target, window: number | undefined): Target;
}

/** Maximum number of targets. Clients choose the names of models, so the number is bounded. */
const maxKnown = 1000;
/**
 * How long Plimsoll relies on a fact that it learned about a provider, in milliseconds. The time is limited because a model may
 * get a larger window, and a server may begin to support deferred tools.
 */
const believedForMs = { window: 60 * 60 * 1000, distrust: 60 * 60 * 1000 };
/**
 * Minimum size of a window in tokens. If a provider seems to name a smaller window, Plimsoll has probably misread its message.
 */
const windowMin = 256;

export function createTargets(
  config: Config,
  now: () => number,
  memories: TargetMemories = createTargetMemories(),
): Targets {
  const known = new BoundedMap<string, Target>({ entries: maxKnown });
  const fallbacks = new Map(Object.entries(config.targets ?? {}));

  /** Whether a time is in the future by at most `mostMs`. A later time was stored while the clock was wrong. */
  const isBefore = (until: number, mostMs: number): boolean =>
    until > now() && until <= now() + mostMs;

  const resolve: Targets["resolve"] = (provider, wire, request) => {
    const { model, maxOutputTokens, facts = "", tenant = "", agent = "" } = request;
    const name = [provider, wire.name, model, maxOutputTokens, facts, tenant, agent].join("\0");
    const found = known.get(name) ?? known.set(name, resolveUncached(provider, wire, request));
    const { window: named, distrustedUntil = 0 } = memories.of(learnedKey(found));
    const isDistrusted = isBefore(distrustedUntil, believedForMs.distrust);
    const trusted = isDistrusted ? { ...found, defersNatively: false } : found;
    const isBelieved = named !== undefined && isBefore(named.until, believedForMs.window);
    return narrowed(trusted, isBelieved ? named.tokens : undefined, "named");
  };

  const resolveUncached: Targets["resolve"] = (provider, wire, request) => {
    const { model, tenant = "", agent } = request;
    const settings = config.providers?.[provider];
    const facts = findModel(settings?.wire ?? provider, request.facts ?? model);
    const modelSettings = settings?.models?.[model];
    const tokenizer = modelSettings?.tokenizer ?? settings?.tokenizer ?? facts.tokenizer;
    const schemaFactor = settingOf(config, { provider, model, agent }, "toolSchemaFactor");
    const key = `${provider}/${model}`;
    const configured = {
      requestMaxOutput: request.maxOutputTokens,
      model: modelSettings,
      provider: settings,
      defaults: { ...config.defaults, ...agentOutput(config) },
      facts,
      isStrict: config.agent?.strict_limit === true,
      priceStep: priceListOf(settings?.wire ?? provider, request.facts ?? model).priceStep,
    };
    const limit = resolveLimit(configured);
    return {
      provider,
      model,
      key,
      tenant,
      facts: request.facts,
      wire,
      limit,
      ruler: rulerOf(tokenizer, facts, schemaFactor),
      media: wire.body.mediaLimits(limit.window),
      profile: wire.body.profileOf(key),
      cutsSilently: settings?.cuts_silently ?? cutsSilently(provider, settings?.baseUrl),
      countsTokens:
        wire.body.counting !== undefined &&
        (settings?.count_tokens ?? isVendors(provider, settings, wire)),
      defersNatively:
        wire.tools.deferral !== undefined &&
        // What a provider's own search has found stays in the conversation, and so in the list.
        config.agent?.tool_deferral !== "each_turn" &&
        (settings?.native_tool_deferral ??
          // Other servers that use this wire may not support deferral, so it must be configured for them.
          (isVendors(provider, settings, wire) && wire.tools.deferral.models.test(model))),
    };
  };

  return {
    resolve,
    candidates: (provider, wire, request) => {
      const first = resolve(provider, wire, request);
      const names = fallbacks.get(request.model) ?? [];
      const others = names
        .filter((name) => name.startsWith(`${provider}/`) && name !== first.key)
        .map((name) =>
          resolve(provider, wire, { ...request, model: name.slice(provider.length + 1) }),
        );
      return alike([first, ...others]);
    },
    narrowed: (target, window) => narrowed(target, window, "refused"),
    distrust: (target) =>
      memories.note(learnedKey(target), { distrustedUntil: now() + believedForMs.distrust }),
    learnWindow: (target, tokens) => {
      const isGuess = target.limit.windowSource === "fallback";
      if (tokens < windowMin || (tokens >= target.limit.window && !isGuess)) return;
      const window = { tokens, until: now() + believedForMs.window };
      memories.note(learnedKey(target), { window });
    },
  };
}

function rulerOf(
  tokenizer: string,
  facts: ModelFacts,
  schemaFactor: number | undefined,
): Target["ruler"] {
  const { media } = facts;
  return {
    key: [tokenizer, JSON.stringify(media), schemaFactor].join("\0"),
    tokenizer,
    media,
    // This figure belongs to the catalogue's tokenizer. A tokenizer from the configuration counts exactly without it.
    toolPromptTokens: tokenizer === facts.tokenizer ? facts.toolPromptTokens : undefined,
    schemaFactor,
  };
}

/** One request is written for all of these targets, so either all of them defer tools or none does. */
function alike(targets: readonly [Target, ...Target[]]): readonly [Target, ...Target[]] {
  const [first, ...others] = targets;
  const isMixed = others.some(({ defersNatively }) => defersNatively !== first.defersNatively);
  const without = (target: Target): Target => ({ ...target, defersNatively: false });
  return isMixed ? [without(first), ...others.map(without)] : targets;
}

function learnedKey({ tenant, key }: Target): string {
  return `${tenant}\0${key}`;
}

/** Uses the window that the provider named or implied, if it is smaller than the known window or the known window is a guess. */
function narrowed(target: Target, window: number | undefined, by: "named" | "refused"): Target {
  const { limit } = target;
  const isGuess = limit.windowSource === "fallback";
  if (window === undefined || (window >= limit.window && !isGuess)) return target;
  return { ...target, limit: narrowLimit(limit, window, by) };
}

/** Whether the provider is the vendor that defined this wire, at the vendor's own address. */
function isVendors(
  provider: string,
  settings: ProviderSettings | undefined,
  { vendor }: Wire,
): boolean {
  return settings?.baseUrl === undefined && vendor === (settings?.wire ?? provider);
}

function agentOutput(config: Config): { readonly maxOutputTokens?: number } {
  const tokens = config.defaults?.maxOutputTokens ?? config.agent?.max_output_tokens;
  return tokens === undefined ? {} : { maxOutputTokens: tokens };
}
