/**
 * Corrects estimates by the usage that providers report. A plain value: the session keeps it, per model.
 *
 * A provider reports one total, and our estimates are off by different factors for the system prompt, for tool schemas and for
 * the conversation. The factors are found by recursive least squares: the first report scales all of them, and each later one
 * moves those that explain what is left, above all the conversation's, whose growth from report to report is seen alone.
 */

import type { Count } from "./tokenizer.ts";

/** In tokens, or as factors. Skills are part of the system prompt. */
export interface ByComponent {
  readonly system: number;
  readonly tools: number;
  readonly conversation: number;
}

export interface Calibration {
  /** Reported tokens for one estimated token. */
  readonly factors: ByComponent;
  /** The same for the last whole request: what people are told. */
  readonly factor: number;
  readonly samples: number;
  /** The highest factor that was seen of words added to a conversation: some kinds of text take more tokens than others. */
  readonly steepest?: number;
  /** How far off the factors may be, together: a covariance, row by row. */
  readonly spread: readonly number[];
  /** The last report, and our estimate for the same request. */
  readonly last?: { readonly estimated: ByComponent; readonly reportedTokens: number };
}

const ones: ByComponent = { system: 1, tools: 1, conversation: 1 };

/** Squares of the usual error of each factor, once all of them were scaled by the first report. */
const firstSpread = [0.04, 0, 0, 0, 0.09, 0, 0, 0, 0.04];
/** So much the factors may move from one report to the next: a conversation changes its content. */
const drift = [0.0001, 0, 0, 0, 0.0001, 0, 0, 0, 0.001];

export const uncalibrated: Calibration = {
  factors: ones,
  factor: 1,
  samples: 0,
  spread: firstSpread,
};

/** As it was stored: how sure it was is not stored. */
export function restored(stored: {
  readonly factor: number;
  readonly samples: number;
  readonly factors?: ByComponent;
  readonly steepest?: number;
}): Calibration {
  const { factor, samples, steepest } = stored;
  const even = { system: factor, tools: factor, conversation: factor };
  const known = { factors: stored.factors ?? even, factor, samples, spread: firstSpread };
  return steepest === undefined ? known : { ...known, steepest };
}

/** Outside of these a report is a misunderstanding: another model answered, or a cache was not counted. */
const plausible = { min: 0.1, max: 3 };
/** Below this, what a provider adds to every request weighs more than the text. */
const estimateTokensMin = 200;
/** How exact a report is: of a whole request, and of what was added since the last. */
const noise = { tokensMin: 20, ofWhole: 0.01, ofGrowth: 0.05 };

/** `estimated` is the estimate before correction, for the same request as the report. */
export function observe(
  calibration: Calibration,
  estimated: ByComponent,
  reportedTokens: number,
): Calibration {
  const total = sumOf(estimated);
  if (!(total >= estimateTokensMin && reportedTokens > 0)) return calibration;
  // Whoever reports what cannot be meant has perhaps not meant what it reported before.
  if (!isPlausible(total, reportedTokens)) return uncalibrated;
  const ratio = reportedTokens / total;
  const { samples, last } = calibration;
  const expected = weightedSum(estimated, calibration.factors);
  const scaled =
    samples === 0 ? scaledBy(calibration, reportedTokens / expected) : drifted(calibration);
  const grown =
    last === undefined ? scaled : withGrowth(scaled, last, { estimated, reportedTokens });
  const level = Math.max(noise.tokensMin, reportedTokens * noise.ofWhole);
  const whole = withReport(grown, estimated, { reportedTokens, noise: level });
  return {
    ...whole,
    factor: ratio,
    samples: samples + 1,
    last: { estimated, reportedTokens },
  };
}

export function isPlausible(estimatedTokens: number, reportedTokens: number): boolean {
  const ratio = reportedTokens / estimatedTokens;
  return ratio >= plausible.min && ratio <= plausible.max;
}

function scaledBy(calibration: Calibration, ratio: number): Calibration {
  const { system, tools, conversation } = calibration.factors;
  const first = {
    system: system * ratio,
    tools: tools * ratio,
    conversation: conversation * ratio,
  };
  return { ...calibration, factors: first };
}

function drifted(calibration: Calibration): Calibration {
  const spread = calibration.spread.map((value, index) => value + (drift[index] ?? 0));
  return { ...calibration, spread };
}

type Report = NonNullable<Calibration["last"]>;

/** Where only the conversation has grown, the difference of two reports is of what was added alone. */
function withGrowth(calibration: Calibration, before: Report, now: Report): Calibration {
  const added = now.estimated.conversation - before.estimated.conversation;
  const isSameHead =
    now.estimated.system === before.estimated.system &&
    now.estimated.tools === before.estimated.tools;
  const reportedTokens = now.reportedTokens - before.reportedTokens;
  const isGrowth = isSameHead && added >= estimateTokensMin;
  if (!isGrowth || !isPlausible(added, reportedTokens)) return calibration;
  const level = Math.max(noise.tokensMin, reportedTokens * noise.ofGrowth);
  const grown = { system: 0, tools: 0, conversation: added };
  const steepest = Math.max(calibration.steepest ?? 0, reportedTokens / added);
  return { ...withReport(calibration, grown, { reportedTokens, noise: level }), steepest };
}

/** One step of recursive least squares. */
function withReport(
  calibration: Calibration,
  estimated: ByComponent,
  report: { readonly reportedTokens: number; readonly noise: number },
): Calibration {
  const tokens = [estimated.system, estimated.tools, estimated.conversation];
  const { factors, spread } = calibration;
  const at = (row: number, column: number): number => spread[row * 3 + column] ?? 0;
  const weighed = [0, 1, 2].map((row) =>
    tokens.reduce((sum, value, column) => sum + at(row, column) * value, 0),
  );
  const variance = tokens.reduce((sum, value, row) => sum + value * (weighed[row] ?? 0), 0);
  const all = variance + report.noise ** 2;
  const left = report.reportedTokens - weightedSum(estimated, factors);
  const moved = (row: number, factor: number): number =>
    within(factor + ((weighed[row] ?? 0) / all) * left);
  return {
    ...calibration,
    factors: {
      system: moved(0, factors.system),
      tools: moved(1, factors.tools),
      conversation: moved(2, factors.conversation),
    },
    spread: spread.map(
      (value, index) =>
        value - ((weighed[Math.floor(index / 3)] ?? 0) * (weighed[index % 3] ?? 0)) / all,
    ),
  };
}

/** A provider may leave out a part of what was counted exactly, such as old reasoning, but not most of it. */
const exactFactorMin = 0.5;

/** Also of exact counts: a provider may read less of a request than all of it, or write more around it. */
export function corrected({ tokens, certainty }: Count, factor: number): Count {
  const scaled = Math.ceil(
    tokens * (certainty === "estimate" ? factor : Math.max(exactFactorMin, factor)),
  );
  return { tokens: scaled, certainty: scaled === tokens ? certainty : "estimate" };
}

function weightedSum(tokens: ByComponent, factors: ByComponent): number {
  return (
    tokens.system * factors.system +
    tokens.tools * factors.tools +
    tokens.conversation * factors.conversation
  );
}

function sumOf({ system, tools, conversation }: ByComponent): number {
  return system + tools + conversation;
}

function within(factor: number): number {
  return Math.min(plausible.max, Math.max(plausible.min, factor));
}
