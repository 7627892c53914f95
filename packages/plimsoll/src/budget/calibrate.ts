/**
 * Corrects estimates with the usage that providers report. A calibration is a plain value; a session keeps one for each model.
 *
 * A provider reports one total, but Plimsoll's estimates are off by different factors for the system prompt, the tool schemas and
 * the conversation. Recursive least squares finds these factors. The first report scales all of them. Each later report adjusts
 * the factors that explain the remaining difference. This is mostly the factor of the conversation, because usually only the
 * conversation grows between two reports.
 */

import type { Count } from "./tokenizer.ts";

/** Values per component, in tokens or as factors. Skills are part of the system prompt. */
export interface ByComponent {
  readonly system: number;
  readonly tools: number;
  readonly conversation: number;
}

export interface Calibration {
  /** Reported tokens per estimated token. */
  readonly factors: ByComponent;
  /** Reported tokens per estimated token for the last whole request. This is the figure that people see. */
  readonly factor: number;
  readonly samples: number;
  /** The highest factor seen so far for text added to a conversation. Some kinds of text take more tokens than others. */
  readonly steepest?: number;
  /** The joint uncertainty of the factors: a covariance matrix, row by row. */
  readonly spread: readonly number[];
  /** The last report, and Plimsoll's estimate for the same request. */
  readonly last?: { readonly estimated: ByComponent; readonly reportedTokens: number };
}

const ones: ByComponent = { system: 1, tools: 1, conversation: 1 };

/** The spread after the first report has scaled all factors. The diagonal has the square of each factor's typical error. */
const firstSpread = [0.04, 0, 0, 0, 0.09, 0, 0, 0, 0.04];
/** How much the factors may move from one report to the next, because the content of a conversation changes. */
const drift = [0.0001, 0, 0, 0, 0.0001, 0, 0, 0, 0.001];

export const uncalibrated: Calibration = {
  factors: ones,
  factor: 1,
  samples: 0,
  spread: firstSpread,
};

/** Makes a calibration from stored values. The spread is not stored, so it starts at `firstSpread` again. */
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

/** A report outside these ratios cannot be right: another model answered, or cached tokens were not counted. */
const plausible = { min: 0.1, max: 3 };
/** Minimum size of an estimate, in tokens. Below it, the provider's fixed overhead per request matters more than the text. */
const estimateTokensMin = 200;
/**
 * Expected error of a report: a share of the reported tokens of the whole request or of the added text, and at least `tokensMin`
 * tokens.
 */
const noise = { tokensMin: 20, ofWhole: 0.01, ofGrowth: 0.05 };

/** No request has so many tokens. A higher figure is an error, and its square would not be a number. */
const tokensMost = 1e9;

/** `estimated` is the uncorrected estimate for the request that the report is about. */
export function observe(
  calibration: Calibration,
  estimated: ByComponent,
  reportedTokens: number,
): Calibration {
  const total = sumOf(estimated);
  if (!(total >= estimateTokensMin && reportedTokens > 0)) return calibration;
  if ([...Object.values(estimated), reportedTokens].some((tokens) => Math.abs(tokens) > tokensMost))
    return calibration;
  // The report is not plausible, so earlier reports of this provider may have been wrong too.
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

/** If only the conversation has grown, the difference between two reports is due to the added text alone. */
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

/** Lowest factor for exact counts. A provider may leave out a part of the request, such as old reasoning, but not most of it. */
const exactFactorMin = 0.5;

/** Corrects exact counts too, because a provider may read less than the whole request or add text of its own. */
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
