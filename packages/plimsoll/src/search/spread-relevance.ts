/** Spreads relevance to neighbours, because a passage next to a hit often explains the hit, answers it, or belongs to it. */

import { byLargest, largest } from "./fuse.ts";

/**
 * Shares of a hit's score that the next and the previous passage get. The next passage often answers the hit, and the previous
 * passage often asks for it.
 */
const toNext = 0.4;
const toPrevious = 0.2;
/**
 * With each passage further away from a hit, this share of the hit's score remains. One topic usually covers about ten passages.
 */
const regionDecay = 0.9;
const regionWeight = 1;
/** The surroundings of the best passage get a bonus. It falls to about a third after `bestReach` passages. */
const bestWeight = 0.5;
const bestReach = 8;

/** Turns scores of passages, in conversation order, into relevance from 0 to 1. If nothing was hit, all are 0. */
export function spreadRelevance(scores: Float64Array): Float64Array {
  const hits = byLargest(scores);
  if (!hits.some((hit) => hit > 0)) return hits;
  const region = byLargest(smoothed(hits));
  const near = hits.map(
    (hit, i) =>
      hit +
      toNext * (hits[i - 1] ?? 0) +
      toPrevious * (hits[i + 1] ?? 0) +
      regionWeight * (region[i] ?? 0),
  );
  const best = near.indexOf(largest(near));
  return byLargest(
    near.map((value, i) => value + bestWeight * Math.exp(-Math.abs(i - best) / bestReach)),
  );
}

/** For each passage, the sum of the scores of all passages, each reduced by its distance. Makes one pass in each direction. */
function smoothed(scores: Float64Array): Float64Array {
  const sums = new Float64Array(scores.length);
  let carried = 0;
  for (let i = 0; i < scores.length; i++) {
    carried = carried * regionDecay + (scores[i] ?? 0);
    sums[i] = carried;
  }
  carried = 0;
  for (let i = scores.length - 1; i >= 0; i--) {
    sums[i] = (sums[i] ?? 0) + carried;
    carried = (carried + (scores[i] ?? 0)) * regionDecay;
  }
  return sums;
}
