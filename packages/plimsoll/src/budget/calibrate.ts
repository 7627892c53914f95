/** Corrects estimates by the usage that providers report. A plain value: the session keeps it, per model. */

import type { Count } from "./tokenizer.ts";

export interface Calibration {
  /** Reported tokens for one estimated token. */
  readonly factor: number;
  readonly samples: number;
}

export const uncalibrated: Calibration = { factor: 1, samples: 0 };

/** Outside of these a report is a misunderstanding (another model answered, a cache was not counted). */
const factorMin = 0.5;
const factorMax = 3;
/** Below this, what a provider adds to every request weighs more than the text. */
const estimateTokensMin = 200;
/** The weight of a new report never falls below this, so that the factor follows a change of content. */
const weightMin = 0.2;

/** `estimatedTokens` is the estimate before correction, for the same request as the report. */
export function observe(
  calibration: Calibration,
  estimatedTokens: number,
  reportedTokens: number,
): Calibration {
  const ratio = reportedTokens / estimatedTokens;
  if (!(estimatedTokens >= estimateTokensMin && reportedTokens > 0 && Number.isFinite(ratio))) {
    return calibration;
  }
  const weight = Math.max(weightMin, 1 / (calibration.samples + 1));
  const factor = calibration.factor + weight * (within(ratio) - calibration.factor);
  return { factor: within(factor), samples: calibration.samples + 1 };
}

/** An exact count and a bound are only ever raised: below them would be below the truth. */
export function corrected(count: Count, calibration: Calibration): Count {
  const scaled = Math.ceil(count.tokens * within(calibration.factor));
  if (count.certainty === "estimate") return { ...count, tokens: scaled };
  if (scaled <= count.tokens) return count;
  return { tokens: scaled, certainty: count.certainty === "bound" ? "bound" : "estimate" };
}

function within(factor: number): number {
  return Math.min(factorMax, Math.max(factorMin, factor));
}
