/** The counters stored with a branch: the size of its conversation after the last turn, and how its provider counts. */

import type { Calibration } from "../../budget/calibrate.ts";
import type { Measurement } from "../../budget/measure.ts";
import { scaleBy, type TokenScale } from "../../budget/token-scale.ts";
import type { Counters } from "../../store/store.ts";

export interface EndedTurn {
  /** Size of the request, in the provider's tokens. */
  readonly measurement: Pick<Measurement, "tools">;
  readonly target: string;
  readonly calibration?: Calibration | undefined;
}

/** The counters of a turn that has ended, without the size of its window. */
export function countersAfter(turn: EndedTurn): Omit<Counters, "current"> {
  const { measurement, target, calibration } = turn;
  return {
    schema: measurement.tools,
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
export function scaleOf({
  counters,
}: {
  readonly counters?: Pick<Counters, "calibration">;
}): TokenScale {
  return scaleBy(counters?.calibration?.factor ?? 1);
}
