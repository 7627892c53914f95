/**
 * Plimsoll counts tokens itself, and each provider counts the same request in its own way. A scale converts one count into the
 * other. Figures for people and window limits are in the provider's tokens. Goals of strategies are in Plimsoll's. Pure.
 */

/** Two counts of the same text. Invariant: both are above 0. */
export interface TokenScale {
  readonly own: number;
  readonly provider: number;
}

export const sameScale: TokenScale = { own: 1, provider: 1 };

/** The scale between two counts of one request. If either count is 0, the scale is 1:1. */
export function scaleBetween(own: number, provider: number): TokenScale {
  return own > 0 && provider > 0 ? { own, provider } : sameScale;
}

/** A scale on which each token that Plimsoll counts equals `factor` tokens of the provider. */
export function scaleBy(factor: number): TokenScale {
  return scaleBetween(1, factor);
}

/** A scale that never estimates below Plimsoll's own count. If the provider counts less than Plimsoll, the scale is 1:1. */
export function notBelowOwn(scale: TokenScale): TokenScale {
  return scale.provider < scale.own ? sameScale : scale;
}

/** The result is not rounded, because only the caller knows whether to round up or down. */
export function inProviderTokens(ownTokens: number, { own, provider }: TokenScale): number {
  return (ownTokens * provider) / own;
}

/** The result is not rounded. */
export function inOwnTokens(providerTokens: number, { own, provider }: TokenScale): number {
  return (providerTokens * own) / provider;
}

/** Converts to the provider's tokens and rounds the result, to show it to people. */
export function shownTokens(ownTokens: number, scale: TokenScale): number {
  return Math.round(inProviderTokens(ownTokens, scale));
}
