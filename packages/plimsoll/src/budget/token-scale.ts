/**
 * Plimsoll counts tokens itself, and a provider counts the same request in its own way: a scale leads from one count to the
 * other. Figures for people and limits of a window are in the provider's tokens, goals of strategies in Plimsoll's own. Pure.
 */

/** Two counts of the same text. Invariant: both are above nothing. */
export interface TokenScale {
  readonly own: number;
  readonly provider: number;
}

export const sameScale: TokenScale = { own: 1, provider: 1 };

/** From two counts of one request. A count of nothing says nothing: then one token is one token. */
export function scaleBetween(own: number, provider: number): TokenScale {
  return own > 0 && provider > 0 ? { own, provider } : sameScale;
}

/** So many of the provider's tokens for each of Plimsoll's own. */
export function scaleBy(factor: number): TokenScale {
  return scaleBetween(1, factor);
}

/** For whoever must not take too little: a provider that counts less than Plimsoll is not believed. */
export function notBelowOwn(scale: TokenScale): TokenScale {
  return scale.provider < scale.own ? sameScale : scale;
}

/** Not rounded: whoever compares with a limit knows which way. */
export function inProviderTokens(ownTokens: number, { own, provider }: TokenScale): number {
  return (ownTokens * provider) / own;
}

/** Not rounded. */
export function inOwnTokens(providerTokens: number, { own, provider }: TokenScale): number {
  return (providerTokens * own) / provider;
}

/** For people. */
export function shownTokens(ownTokens: number, scale: TokenScale): number {
  return Math.round(inProviderTokens(ownTokens, scale));
}
