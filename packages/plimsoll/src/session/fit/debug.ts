/** Prints the guard's reasoning by topic if CONTEXT_DEBUG=true is set. */

import { inspect } from "node:util";
import { budgetOf, effectiveLimit, type OwnLimits, type Verdict } from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import type { Projection } from "../../budget/projection.ts";
import type { Draft } from "../draft/draft.ts";
import type { Target } from "../measure/target.ts";

export type DebugTopic =
  | "context-guard/init-counters"
  | "context-guard/loop-init"
  | "context-guard/schema-estimate"
  | "context-guard/evaluate"
  | "context-guard/evaluate-target"
  | "context-guard/provider-eval"
  | "context-guard/build-metrics"
  | "context-guard/enforce";

/** `fields` is called only if debugging is on. */
export type Debug = (topic: DebugTopic, fields: () => Readonly<Record<string, unknown>>) => void;

export function createDebug(isOn: boolean, write: (line: string) => void): Debug {
  if (!isOn) return () => undefined;
  return (topic, fields) =>
    write(`${topic} ${inspect(fields(), { depth: 4, breakLength: 100 })}\n`);
}

export function targetFields({ provider, model }: Target): { provider: string; model: string } {
  return { provider, model };
}

export interface Evaluation {
  readonly projection: Projection;
  readonly verdict: Verdict;
  readonly measurement: Measurement;
  readonly own: OwnLimits;
}

/** Prints the guard's input and its verdict. */
export function debugGuard(
  debug: Debug,
  draft: Draft,
  { projection, verdict, measurement, own }: Evaluation,
): void {
  const limitOf = ({ key, limit }: Target): number =>
    effectiveLimit({ name: key, limit }, own, projection);
  const { counters } = draft.branch.record;
  if (counters === undefined)
    debug("context-guard/init-counters", () => ({
      currentCtxTokens: 0,
      pendingCtxTokens: projection.tokens,
      newCtxTokens: 0,
      schemaCtxTokens: measurement.tools,
    }));
  debug("context-guard/loop-init", () => ({
    turn: draft.turn.id,
    messages: draft.path.length,
    seedCtxTokens: measurement.total,
  }));
  debug("context-guard/schema-estimate", () => ({ schemaCtxTokens: measurement.tools }));
  debug("context-guard/evaluate", () => ({
    projectedTokens: projection.tokens,
    currentCtxTokens: counters?.current ?? 0,
    pendingCtxTokens: projection.tokens - (counters?.current ?? 0),
    newCtxTokens: 0,
    schemaCtxTokens: measurement.tools,
    extraTokens: 0,
    currentReasoningTokens: counters?.reasoning ?? 0,
  }));
  for (const target of draft.targets)
    debug("context-guard/evaluate-target", () => ({
      ...targetFields(target),
      contextWindow: target.limit.window,
      bufferTokens: target.limit.buffer,
      maxOutputTokens: target.limit.maxOutput,
      limit: limitOf(target),
    }));
  debug("context-guard/provider-eval", () => ({
    ...targetFields(draft.targets[0]),
    status: verdict.kind,
    blocked: draft.targets
      // If the size of a target's window is unknown, the window blocks no request.
      .filter(
        ({ limit }) => limit.windowSource !== "fallback" || budgetOf(limit, own) !== undefined,
      )
      .map((target) => ({
        ...targetFields(target),
        limit: limitOf(target),
        projected: projection.tokens,
      }))
      .filter(({ limit, projected }) => projected > limit),
  }));
}
