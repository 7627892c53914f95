/** The limit of a request: window, less the safety buffer, less the reserve for the answer. */

import type { ModelFacts } from "./catalogue.ts";

/** As in the configuration, at any of its levels. */
export interface LimitSettings {
  readonly contextWindow?: number | undefined;
  readonly contextWindowBufferTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
}

export interface LimitInput {
  /** What the request itself asks for as its longest answer. */
  readonly requestMaxOutput?: number | undefined;
  readonly model?: LimitSettings | undefined;
  readonly provider?: LimitSettings | undefined;
  readonly defaults?: LimitSettings | undefined;
  readonly facts: ModelFacts;
}

export interface Limit {
  /** Of a window that nobody knows this is a guess, and nothing is done for its sake. */
  readonly window: number;
  /** The window that configuration, catalogue or provider name: more is known not to fit. Infinite where nobody names one. */
  readonly named: number;
  readonly buffer: number;
  /** The longest answer that the client, the configuration or the catalogue names. */
  readonly maxOutput: number;
  /** Room that is kept free for the answer. */
  readonly reserve: number;
  /** Never negative. */
  readonly limit: number;
  /** learned: the provider named it, or refused more. fallback: a guess. */
  readonly windowSource: "model" | "provider" | "defaults" | "catalogue" | "learned" | "fallback";
}

/** A longer answer is hardly ever given: more of the window than this is not kept free for what a client merely allows. */
const reserveShare = 0.25;

const defaultBufferTokens = 8_192;

export function resolveLimit(input: LimitInput): Limit {
  const { model, provider, defaults, facts } = input;
  const window =
    model?.contextWindow ??
    provider?.contextWindow ??
    defaults?.contextWindow ??
    facts.contextWindow;
  const buffer =
    model?.contextWindowBufferTokens ??
    provider?.contextWindowBufferTokens ??
    defaults?.contextWindowBufferTokens ??
    // Of a small window the usual buffer would leave nothing.
    Math.min(defaultBufferTokens, Math.floor(window / 8));
  const configured =
    model?.maxOutputTokens ?? provider?.maxOutputTokens ?? defaults?.maxOutputTokens;
  const maxOutput = input.requestMaxOutput ?? configured ?? facts.maxOutputTokens;
  // Whoever configures an answer's length wants that much kept free.
  const isConfigured = input.requestMaxOutput === undefined && configured !== undefined;
  const reserve = isConfigured ? maxOutput : reserveOf(maxOutput, window);
  const source = windowSource(input);
  return {
    window,
    named: source === "fallback" ? Number.POSITIVE_INFINITY : window,
    buffer,
    maxOutput,
    reserve,
    limit: Math.max(0, window - buffer - reserve),
    windowSource: source,
  };
}

/** `most` is the lower of window and budget. */
export function reserveOf(maxOutput: number, most: number): number {
  return Math.min(maxOutput, Math.floor(most * reserveShare));
}

/** The window that leaves so much beside the reserve. */
export function windowFor(rest: number, maxOutput: number): number {
  return Math.min(rest + maxOutput, Math.ceil(rest / (1 - reserveShare)));
}

/** The same with a smaller window: its provider names it, or refused a request of about that size. The buffer was made for a larger one. */
export function narrowLimit(limit: Limit, window: number, by: "named" | "refused"): Limit {
  const buffer = Math.min(limit.buffer, Math.floor(window / 8));
  const reserve = Math.min(limit.reserve, reserveOf(limit.maxOutput, window));
  const rest = Math.max(0, window - buffer - reserve);
  const named = by === "named" ? window : limit.named;
  return { ...limit, window, named, buffer, reserve, limit: rest, windowSource: "learned" };
}

function windowSource({ model, provider, defaults, facts }: LimitInput): Limit["windowSource"] {
  if (model?.contextWindow !== undefined) return "model";
  if (provider?.contextWindow !== undefined) return "provider";
  if (defaults?.contextWindow !== undefined) return "defaults";
  return facts.known ? "catalogue" : "fallback";
}
