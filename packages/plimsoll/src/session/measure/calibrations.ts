/** Correction by reported usage: for each session and target, with what is known of the target as a first guess. */

import {
  type ByComponent,
  type Calibration,
  corrected,
  isPlausible,
  observe,
  uncalibrated,
} from "../../budget/calibrate.ts";
import { type Measurement, measurement } from "../../budget/measure.ts";
import type { BranchState, SessionLog } from "../log/log.ts";
import type { Target } from "./target.ts";

export interface Calibrations {
  correct(log: SessionLog, target: Target, measured: Measurement): Measurement;
  /** Reported tokens for one of ours. */
  factors(log: SessionLog, target: Target): ByComponent;
  /** The same for new words of a conversation, at their worst so far. */
  steepest(log: SessionLog, target: Target): number;
  /** Whether the provider has reported any usage for this target yet, in any session. */
  isReportedFor(target: Target): boolean;
  /** The same, or in this session. */
  isReported(log: SessionLog, target: Target): boolean;
  /** The provider has counted a head before it reported any usage: `headRatio` is its count divided by ours. */
  expect(log: SessionLog, target: Target, headRatio: number): void;
  /** `measured` is what was counted before correction. */
  observe(log: SessionLog, target: Target, measured: Measurement, reportedTokens: number): void;
}

const maxTargets = 1000;
const maxTargetsPerSession = 50;

export function createCalibrations(): Calibrations {
  const ofTargets = new Map<string, Calibration>();
  const known = (log: SessionLog, { key }: Target): Calibration =>
    log.calibrations.get(key) ?? ofTargets.get(key) ?? uncalibrated;

  const factors = (log: SessionLog, target: Target): ByComponent => {
    const { factors: found } = known(log, target);
    return target.cutsSilently ? raised(found) : found;
  };

  return {
    factors,
    steepest: (log, target) =>
      Math.max(known(log, target).steepest ?? 0, factors(log, target).conversation),
    isReportedFor: ({ key }) => ofTargets.has(key),
    isReported: (log, target) => known(log, target).samples > 0,
    correct: (log, target, { components }) => {
      const { system, tools, conversation } = factors(log, target);
      return measurement({
        system: corrected(components.system, system),
        skills: corrected(components.skills, system),
        tools: corrected(components.tools, tools),
        conversation: corrected(components.conversation, conversation),
      });
    },
    expect: ({ calibrations }, { key }, headRatio) => {
      if (headRatio === 1 || calibrations.has(key)) return;
      const expected = { system: headRatio, tools: headRatio, conversation: 1 };
      calibrations.set(key, { ...uncalibrated, factors: expected });
    },
    observe: (log, { key }, measured, reportedTokens) => {
      if (ofTargets.size >= maxTargets) ofTargets.clear();
      if (log.calibrations.size >= maxTargetsPerSession) log.calibrations.clear();
      const estimated = byComponent(measured);
      const ofSession = log.calibrations.get(key) ?? uncalibrated;
      const ofTarget = ofTargets.get(key) ?? (ofSession.samples === 0 ? ofSession : uncalibrated);
      // Requests of other sessions lie between two reports of this one: only its own tell what was added.
      const { last: _, ...alone } = observe(ofTarget, estimated, reportedTokens);
      ofTargets.set(key, alone);
      log.calibrations.set(key, observe(ofSession, estimated, reportedTokens));
    },
  };
}

export function byComponent({ system, skills, tools, conversation }: Measurement): ByComponent {
  return { system: system + skills, tools, conversation };
}

export interface ReportedRequest {
  readonly target: Target;
  /** Before correction. */
  readonly measured: Measurement;
  /** What stood behind it, in our tokens. */
  readonly lookedUpTokens?: number | undefined;
}

/** The next projection of the branch starts from this report, or from none where it cannot be meant. */
export function takeBasis(
  branch: BranchState,
  { target, measured, lookedUpTokens = 0 }: ReportedRequest,
  inputTokens: number,
): void {
  delete branch.basis;
  const total = measured.total + lookedUpTokens;
  if (!isPlausible(total, inputTokens)) return;
  const sent = byComponent(measured);
  const estimated = { ...sent, conversation: sent.conversation + lookedUpTokens };
  branch.basis = { inputTokens, estimated, target: target.key };
}

/** What a provider took, its window holds: a guess that it holds less, after a refusal without figures, is refuted. */
export function noteTaken(
  { windows, taken }: SessionLog,
  { basis }: BranchState,
  answer: { readonly givenTokens: number; readonly askedTokens: number },
): void {
  if (basis === undefined) return;
  const { target, inputTokens: input } = basis;
  const before = taken.get(target) ?? { input: 0, used: 0, total: 0 };
  const used = Math.max(before.used, input + answer.givenTokens);
  if (taken.size >= maxTargetsPerSession) taken.clear();
  taken.set(target, {
    input: Math.max(before.input, input),
    used,
    total: Math.max(before.total, input + answer.askedTokens),
  });
  const guess = windows.get(target);
  if (guess !== undefined && used > guess) windows.set(target, used);
}

/** A server that cuts what is too long tells nobody: its low figures may be of what it has cut. */
function raised({ system, tools, conversation }: ByComponent): ByComponent {
  return {
    system: Math.max(1, system),
    tools: Math.max(1, tools),
    conversation: Math.max(1, conversation),
  };
}
