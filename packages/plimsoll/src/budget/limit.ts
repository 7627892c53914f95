/** The limit of a request: the window, minus the safety buffer, minus the reserve for the answer. */

import type { ModelFacts } from "./catalogue.ts";

/** The settings of one level of the configuration: model, provider or defaults. */
export interface LimitSettings {
  readonly contextWindow?: number | undefined;
  readonly contextWindowBufferTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
}

export interface LimitInput {
  /** The maximum answer length that the request itself asks for. */
  readonly requestMaxOutput?: number | undefined;
  readonly model?: LimitSettings | undefined;
  readonly provider?: LimitSettings | undefined;
  readonly defaults?: LimitSettings | undefined;
  readonly facts: ModelFacts;
  /** Whether a quarter of the window is kept for an answer whose length nobody states, also if the model may give longer ones. */
  readonly isStrict?: boolean;
  /** A request with more tokens than this costs more per token. Undefined if no such step is known. */
  readonly priceStep?: number | undefined;
}

export interface Limit {
  /** If the size of the window is unknown, this is a guess, and Plimsoll does nothing to stay below it. */
  readonly window: number;
  /**
   * The window as stated by configuration, catalogue or provider. No larger request fits. Infinite if none of them states the
   * window.
   */
  readonly named: number;
  readonly buffer: number;
  /** The buffer stays as configured, also in a smaller window. */
  readonly keepsBuffer?: true;
  /** The maximum answer length that the client, the configuration or the catalogue states. */
  readonly maxOutput: number;
  /** The longest answer that the model can give. Undefined if neither its configuration nor the catalogue states it. */
  readonly longest?: number;
  /** Room that is kept free for the answer. */
  readonly reserve: number;
  /** The limit in tokens: window minus buffer minus reserve. Never negative. */
  readonly limit: number;
  /** Where the window size comes from. "learned": the provider stated it, or refused a longer request. "fallback": a guess. */
  readonly windowSource: "model" | "provider" | "defaults" | "catalogue" | "learned" | "fallback";
  /** The price step of the model, if one is known. */
  readonly priceStep?: number;
}

/** Maximum share of the window that is kept free for the answer. Few answers are longer, even if the client allows it. */
const reserveShare = 0.25;

const defaultBufferTokens = 8_192;

export function resolveLimit(input: LimitInput): Limit {
  const { model, provider, defaults, facts } = input;
  const window = windowOf(input);
  const buffer = bufferOf(input, window);
  const configured =
    model?.maxOutputTokens ?? provider?.maxOutputTokens ?? defaults?.maxOutputTokens;
  const isStated = facts.known && input.isStrict !== true;
  const usual = isStated ? facts.maxOutputTokens : Math.floor(window * reserveShare);
  const maxOutput = input.requestMaxOutput ?? configured ?? usual;
  // If the configuration states an answer length, the user wants that much room kept free.
  const isConfigured = input.requestMaxOutput === undefined && configured !== undefined;
  const reserve = isConfigured ? maxOutput : reserveOf(maxOutput, window);
  const longest = longestAnswer(input);
  const source = windowSource(input);
  return {
    window,
    named: source === "fallback" ? Number.POSITIVE_INFINITY : window,
    ...buffer,
    maxOutput,
    ...(longest === undefined ? {} : { longest }),
    reserve,
    limit: Math.max(0, window - buffer.buffer - reserve),
    windowSource: source,
    ...(input.priceStep === undefined ? {} : { priceStep: input.priceStep }),
  };
}

function bufferOf(
  { model, provider, defaults, isStrict }: LimitInput,
  window: number,
): Pick<Limit, "buffer" | "keepsBuffer"> {
  const own =
    model?.contextWindowBufferTokens ??
    provider?.contextWindowBufferTokens ??
    defaults?.contextWindowBufferTokens;
  // In a small window, the default buffer would leave no room for anything else.
  const buffer = own ?? Math.min(defaultBufferTokens, Math.floor(window / 8));
  return isStrict === true && own !== undefined ? { buffer, keepsBuffer: true } : { buffer };
}

function windowOf({ model, provider, defaults, facts }: LimitInput): number {
  return (
    model?.contextWindow ??
    provider?.contextWindow ??
    // The catalogue knows better than a figure that is meant for every model.
    (facts.known ? undefined : defaults?.contextWindow) ??
    facts.contextWindow
  );
}

/** A length that the configuration names for every model says nothing about this one. */
function longestAnswer({ model, provider, facts }: LimitInput): number | undefined {
  const known = facts.known ? facts.maxOutputTokens : undefined;
  return model?.maxOutputTokens ?? provider?.maxOutputTokens ?? known;
}

/** `context_budget: auto` sets a budget for windows of at least this many tokens (docs/decisions/0016). */
const largeWindow = 400_000;
/** The budget of a large window whose model has no known price step. */
const usualBudgetTokens = 200_000;

/**
 * The budget that `context_budget: auto` sets. Undefined if the window is not large, or if its size is a guess: then only the
 * window limits a request.
 */
export function usualBudget({
  named,
  priceStep,
}: Pick<Limit, "named" | "priceStep">): number | undefined {
  if (named < largeWindow || named === Number.POSITIVE_INFINITY) return undefined;
  return priceStep ?? usualBudgetTokens;
}

/** The number of tokens to keep free for the answer. `most` is the window or the budget, whichever is lower. */
export function reserveOf(maxOutput: number, most: number): number {
  return Math.min(maxOutput, Math.floor(most * reserveShare));
}

/** An answer length to send: the wanted one, or the longest that the model can give if that is lower. */
export function possibleAnswer(
  wanted: number,
  { longest = wanted }: Pick<Limit, "longest">,
): number {
  return Math.min(wanted, longest);
}

/** The window size that has `rest` tokens left after the reserve is subtracted. */
export function windowFor(rest: number, maxOutput: number): number {
  return Math.min(rest + maxOutput, Math.ceil(rest / (1 - reserveShare)));
}

/**
 * The limit for a smaller window. Either the provider stated this window, or it refused a request of about that size. The buffer
 * shrinks too, because it was meant for a larger window, unless it is to stay as configured.
 */
export function narrowLimit(limit: Limit, window: number, by: "named" | "refused"): Limit {
  const most = limit.keepsBuffer === true ? limit.buffer : Math.floor(window / 8);
  const buffer = Math.min(limit.buffer, most);
  const reserve = Math.min(limit.reserve, reserveOf(limit.maxOutput, window));
  const rest = Math.max(0, window - buffer - reserve);
  const named = by === "named" ? window : limit.named;
  return { ...limit, window, named, buffer, reserve, limit: rest, windowSource: "learned" };
}

function windowSource({ model, provider, defaults, facts }: LimitInput): Limit["windowSource"] {
  if (model?.contextWindow !== undefined) return "model";
  if (provider?.contextWindow !== undefined) return "provider";
  if (facts.known) return "catalogue";
  return defaults?.contextWindow === undefined ? "fallback" : "defaults";
}
