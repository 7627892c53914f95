import { expect, test } from "vitest";
import { spreadRelevance } from "./spread-relevance.ts";

test("the hit is the best, what follows it comes next, then what comes before", () => {
  const relevance = spreadRelevance(Float64Array.of(0, 0, 0, 5, 0, 0, 0));
  expect(relevance[3]).toBe(1);
  expect(relevance[4]).toBeGreaterThan(relevance[2] ?? 1);
  expect(relevance[2]).toBeGreaterThan(relevance[1] ?? 1);
});

test("a passage among hits is more relevant than one alone", () => {
  const scores = new Float64Array(60);
  scores.set([3, 0, 3, 0, 3], 10);
  scores.set([3], 50);
  const relevance = spreadRelevance(scores);
  expect(relevance[13]).toBeGreaterThan(relevance[51] ?? 1);
  expect(relevance[12]).toBeGreaterThan(relevance[50] ?? 1);
});

test("where nothing was hit nothing is relevant", () => {
  expect(spreadRelevance(new Float64Array(4))).toEqual(new Float64Array(4));
  expect(spreadRelevance(new Float64Array(0)).length).toBe(0);
});
