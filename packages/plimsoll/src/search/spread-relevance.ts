/** Relevance spreads: what stands beside a hit explains it, answers it, or belongs to it. */

import { byLargest, largest } from "./fuse.ts";

/** What follows a hit often answers it, what comes before asks it: a part of the hit's score goes to both. */
const toNext = 0.4;
const toPrevious = 0.2;
/** One topic fills some ten passages: what a passage keeps of the score of its region, per step away from a hit. */
const regionDecay = 0.9;
const regionWeight = 1;
/** The best place of all draws its surroundings in, fading to a third after so many passages. */
const bestWeight = 0.5;
const bestReach = 8;

/** Scores of passages in their order in the conversation → relevance 0…1; all 0 when nothing was hit. */
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

/** The sum of all scores, each faded by its distance; both ways in one pass each. */
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
