/** How large the conversation of a branch was after its last turn, and how its provider counts: what is stored with the branch. */

import type { Calibration } from "../../budget/calibrate.ts";
import type { Measurement } from "../../budget/measure.ts";
import { scaleBy, type TokenScale } from "../../budget/token-scale.ts";
import type { Usage } from "../../message/message.ts";
import type { BranchRecord, Counters } from "../../store/store.ts";

export interface EndedTurn {
  /** Of the request, as the provider would count. */
  readonly measurement: Pick<Measurement, "total" | "tools">;
  readonly answerTokens: number;
  /** What the provider reported, where it did. */
  readonly usage?: Usage | undefined;
  readonly target: string;
  readonly calibration?: Calibration | undefined;
}

/** Without usage the estimates count; with it, what the provider reported does, schemas included. */
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

/** As far as the provider has reported. */
export function scaleOf({ counters }: Pick<BranchRecord, "counters">): TokenScale {
  return scaleBy(counters?.calibration?.factor ?? 1);
}
