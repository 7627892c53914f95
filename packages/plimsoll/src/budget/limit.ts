/** The effective limit of a request: window, less the safety buffer, less what the model may answer. */

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
  readonly window: number;
  readonly buffer: number;
  readonly maxOutput: number;
  /** Never negative. */
  readonly limit: number;
  readonly windowSource: "model" | "provider" | "defaults" | "catalogue" | "fallback";
}

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
  const maxOutput =
    input.requestMaxOutput ??
    model?.maxOutputTokens ??
    provider?.maxOutputTokens ??
    defaults?.maxOutputTokens ??
    Math.min(facts.maxOutputTokens, Math.floor(window / 4));
  return {
    window,
    buffer,
    maxOutput,
    limit: Math.max(0, window - buffer - maxOutput),
    windowSource: windowSource(input),
  };
}

function windowSource({ model, provider, defaults, facts }: LimitInput): Limit["windowSource"] {
  if (model?.contextWindow !== undefined) return "model";
  if (provider?.contextWindow !== undefined) return "provider";
  if (defaults?.contextWindow !== undefined) return "defaults";
  return facts.known ? "catalogue" : "fallback";
}
