/** Corrects token counts by reported usage, per session and target. A new session starts with its target's correction. */

import {
  type ByComponent,
  type Calibration,
  corrected,
  isPlausible,
  observe,
  uncalibrated,
} from "../../budget/calibrate.ts";
import { type Measurement, measurement } from "../../budget/measure.ts";
import { type BranchState, remember, rememberInSession, type SessionLog } from "../log/log.ts";
import type { Target } from "./target.ts";
import type { TargetMemories } from "./target-memory.ts";

export interface Calibrations {
  correct(log: SessionLog, target: Target, measured: Measurement): Measurement;
  /** The number of tokens that the provider reports for each token that Plimsoll counts, by component. */
  factors(log: SessionLog, target: Target): ByComponent;
  /** The factor for new messages of the conversation. It is the highest factor seen so far. */
  steepest(log: SessionLog, target: Target): number;
  /** Whether the provider has reported usage for this target yet, in any session. */
  isReportedFor(target: Target): boolean;
  /** Whether the provider has reported usage for this target yet, in this session or in another one. */
  isReported(log: SessionLog, target: Target): boolean;
  /**
   * Call this when the provider has counted a preamble but not reported any usage yet. `preambleRatio` is its count divided by
   * Plimsoll's.
   */
  expect(log: SessionLog, target: Target, preambleRatio: number): void;
  /** Learns from the tokens that a provider reported. `measured` is Plimsoll's count before correction. */
  observe(log: SessionLog, target: Target, measured: Measurement, reportedTokens: number): void;
}

export function createCalibrations(memories: TargetMemories): Calibrations {
  const known = (log: SessionLog, { key }: Target): Calibration =>
    log.memory.calibrations[key] ?? memories.of(key).calibration ?? uncalibrated;

  const factors = (log: SessionLog, target: Target): ByComponent => {
    const { factors: found } = known(log, target);
    return target.cutsSilently ? raised(found) : found;
  };

  return {
    factors,
    steepest: (log, target) =>
      Math.max(known(log, target).steepest ?? 0, factors(log, target).conversation),
    isReportedFor: ({ key }) => memories.of(key).calibration !== undefined,
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
    expect: (log, { key }, preambleRatio) => {
      if (preambleRatio === 1 || log.memory.calibrations[key] !== undefined) return;
      const factors = { system: preambleRatio, tools: preambleRatio, conversation: 1 };
      const calibration = { ...uncalibrated, factors };
      rememberInSession(log, { kind: "calibrated", target: key, calibration });
    },
    observe: (log, { key }, measured, reportedTokens) => {
      const estimated = byComponent(measured);
      const ofSession = log.memory.calibrations[key] ?? uncalibrated;
      const ofTarget =
        memories.of(key).calibration ?? (ofSession.samples === 0 ? ofSession : uncalibrated);
      // All sessions share the target's calibration. It does not keep the last report, because the next one may come from another
      // session and cannot be compared with it.
      const { last: _, ...alone } = observe(ofTarget, estimated, reportedTokens);
      memories.note(key, { calibration: alone });
      const calibration = observe(ofSession, estimated, reportedTokens);
      rememberInSession(log, { kind: "calibrated", target: key, calibration });
    },
  };
}

export function byComponent({ system, skills, tools, conversation }: Measurement): ByComponent {
  return { system: system + skills, tools, conversation };
}

export interface ReportedRequest {
  readonly target: Target;
  /** Plimsoll's count of the request, before correction. */
  readonly measured: Measurement;
  /** Tokens of the lookups that followed the request, as Plimsoll counts them. */
  readonly lookedUpTokens?: number | undefined;
}

/** Makes this report the basis of the branch's next projection. If the report is implausible, the projection uses no report. */
export function takeBasis(
  branch: BranchState,
  { target, measured, lookedUpTokens = 0 }: ReportedRequest,
  inputTokens: number,
): void {
  const isMeant = isPlausible(measured.total + lookedUpTokens, inputTokens);
  const sent = byComponent(measured);
  const estimated = { ...sent, conversation: sent.conversation + lookedUpTokens };
  const basis = isMeant ? { inputTokens, estimated, target: target.key } : undefined;
  remember(branch, { kind: "counted", basis });
}

/** Remembers the size of a request that the provider has accepted and counted. */
export function noteTaken(
  log: SessionLog,
  { memory: { basis } }: BranchState,
  answer: { readonly givenTokens: number; readonly askedTokens: number },
): void {
  if (basis === undefined) return;
  const { target, inputTokens: input } = basis;
  const taken = { input, used: input + answer.givenTokens, total: input + answer.askedTokens };
  rememberInSession(log, { kind: "took", target, taken });
}

/**
 * Raises factors below 1 to 1. A server that silently cuts long requests may report the size after the cut, so low factors are
 * not trusted.
 */
function raised({ system, tools, conversation }: ByComponent): ByComponent {
  return {
    system: Math.max(1, system),
    tools: Math.max(1, tools),
    conversation: Math.max(1, conversation),
  };
}
