/** Correction by reported usage: for each session and target, with what is known of the target as a first guess. */

import { type Calibration, corrected, observe, uncalibrated } from "../budget/calibrate.ts";
import { type Measurement, measurement } from "../budget/measure.ts";
import type { SessionLog } from "./log.ts";

export interface Calibrations {
  correct(log: SessionLog, target: string, measured: Measurement): Measurement;
  /** `measured` is what was counted before correction. */
  observe(log: SessionLog, target: string, measured: Measurement, reportedTokens: number): void;
}

const maxTargets = 1000;
const maxTargetsPerSession = 50;

export function createCalibrations(): Calibrations {
  const ofTargets = new Map<string, Calibration>();
  const known = (log: SessionLog, target: string): Calibration =>
    log.calibrations.get(target) ?? ofTargets.get(target) ?? uncalibrated;

  return {
    correct: (log, target, { components }) => {
      const calibration = known(log, target);
      return measurement({
        system: corrected(components.system, calibration),
        skills: corrected(components.skills, calibration),
        tools: corrected(components.tools, calibration),
        conversation: corrected(components.conversation, calibration),
      });
    },
    observe: (log, target, { total }, reportedTokens) => {
      if (ofTargets.size >= maxTargets) ofTargets.clear();
      if (log.calibrations.size >= maxTargetsPerSession) log.calibrations.clear();
      const ofSession = log.calibrations.get(target) ?? uncalibrated;
      ofTargets.set(target, observe(ofTargets.get(target) ?? uncalibrated, total, reportedTokens));
      log.calibrations.set(target, observe(ofSession, total, reportedTokens));
    },
  };
}
