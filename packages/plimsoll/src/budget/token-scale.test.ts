import fc from "fast-check";
import { expect, test } from "vitest";
import {
  inOwnTokens,
  inProviderTokens,
  notBelowOwn,
  sameScale,
  scaleBetween,
  scaleBy,
  shownTokens,
} from "./token-scale.ts";

test("what a provider counts more of, its tokens are more of, and back again", () => {
  const scale = scaleBetween(1000, 1250);
  expect(inProviderTokens(400, scale)).toBe(500);
  expect(inOwnTokens(500, scale)).toBe(400);
  expect(inProviderTokens(400, scaleBy(1.25))).toBe(500);
});

test("the request that was counted comes out as it was counted, whatever the counts are", () => {
  const count = fc.integer({ min: 1, max: 10_000_000 });
  fc.assert(
    fc.property(count, count, (own, provider) => {
      const scale = scaleBetween(own, provider);
      expect(inProviderTokens(own, scale)).toBe(provider);
      expect(inOwnTokens(provider, scale)).toBe(own);
    }),
  );
});

test.each([
  ["Plimsoll has counted nothing", 0, 100],
  ["the provider has counted nothing", 100, 0],
])("where %s, one token is one token", (_who, own, provider) => {
  expect(scaleBetween(own, provider)).toEqual(sameScale);
  expect(shownTokens(7, scaleBetween(own, provider))).toBe(7);
});

test("a provider that counts less is not believed by whoever must not take too little", () => {
  expect(notBelowOwn(scaleBy(0.5))).toEqual(sameScale);
  expect(notBelowOwn(scaleBy(1.5))).toEqual(scaleBy(1.5));
});

test("people are shown whole tokens, and what has no end stays without one", () => {
  expect(shownTokens(3, scaleBy(1.5))).toBe(5);
  expect(inProviderTokens(Number.POSITIVE_INFINITY, scaleBetween(3, 7))).toBe(
    Number.POSITIVE_INFINITY,
  );
});
