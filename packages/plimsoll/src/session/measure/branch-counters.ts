/** The counters stored with a branch: the size of its conversation after the last turn, and how its provider counts. */

import type { Calibration } from "../../budget/calibrate.ts";
import type { Measurement } from "../../budget/measure.ts";
import { scaleBy, type TokenScale } from "../../budget/token-scale.ts";
import type { Usage } from "../../message/message.ts";
import type { BranchRecord, Counters } from "../../store/store.ts";

export interface EndedTurn {
  /** Size of the request, in the provider's tokens. */
  readonly measurement: Pick<Measurement, "total" | "tools">;
  readonly answerTokens: number;
  /** The usage that the provider reported. Undefined if it reported none. */
  readonly usage?: Usage | undefined;
  readonly target: string;
  readonly calibration?: Calibration | undefined;
}

/** Uses the figures that the provider reported, which include tool schemas. If it reported none, uses estimates. */
export function countersAfter(turn: EndedTurn): Counters {
  const { measurement, answerTokens, usage, target, calibration } = turn;
  return {
    current:
      usage === undefined
        ? measurement.total + answerTokens
        : usage.inputTokens + usage.outputTokens,
    schema: measurement.tools,
    reasoning: usage?.reasoningTokens ?? 0,
    ...(calibration === undefined ? {} : { calibration: storedCalibration(target, calibration) }),
  };
}

function storedCalibration(
  target: string,
  { factor, factors, samples, steepest }: Calibration,
): NonNullable<Counters["calibration"]> {
  const round = (value: number): number => Math.round(value * 1000) / 1000;
  const { system, tools, conversation } = factors;
  return {
    target,
    factor: round(factor),
    samples,
    factors: { system: round(system), tools: round(tools), conversation: round(conversation) },
    ...(steepest === undefined ? {} : { steepest: round(steepest) }),
  };
}

/** The token scale, from the provider's reports so far. It is 1 if there are no reports. */
export function scaleOf({ counters }: Pick<BranchRecord, "counters">): TokenScale {
  return scaleBy(counters?.calibration?.factor ?? 1);
}
