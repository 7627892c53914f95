/** Prints the guard's reasoning by topic if CONTEXT_DEBUG=true is set. */

import { inspect } from "node:util";
import { type ContextCounters, projectedTokens } from "../../budget/counters.ts";
import {
  assessAfter,
  budgetOf,
  effectiveLimit,
  type OwnLimits,
  type Verdict,
} from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import type { Projection } from "../../budget/projection.ts";
import type { Draft } from "../draft/draft.ts";
import type { Guard } from "../draft/projection.ts";
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
  readonly guard: Guard;
}

/** Prints the counters with which the guard counts, and their sum. */
export function debugEvaluation(debug: Debug, { counters }: Pick<Projection, "counters">): void {
  debug("context-guard/evaluate", () => ({
    projectedTokens: projectedTokens(counters),
    ...inWordsOfDocument(counters),
    extraTokens: counters.extra,
    currentReasoningTokens: counters.reasoning,
  }));
}

function inWordsOfDocument({ current, pending, fresh, schema }: ContextCounters) {
  return {
    currentCtxTokens: current,
    pendingCtxTokens: pending,
    newCtxTokens: fresh,
    schemaCtxTokens: schema,
  };
}

/** Prints the guard's input and its verdict before anything is taken out. */
export function debugGuard(
  debug: Debug,
  draft: Draft,
  { projection, verdict, measurement, guard }: Evaluation,
): void {
  const { counters } = projection;
  const limitOf = ({ key, limit }: Target): number =>
    effectiveLimit({ name: key, limit }, guard.own, projection);
  if (draft.branch.record.counters === undefined)
    debug("context-guard/init-counters", () => inWordsOfDocument(counters));
  debug("context-guard/loop-init", () => ({
    turn: draft.turn.id,
    messages: draft.path.length,
    seedCtxTokens: counters.pending,
  }));
  debug("context-guard/schema-estimate", () => ({ schemaCtxTokens: measurement.tools }));
  debugEvaluation(debug, projection);
  for (const target of draft.targets)
    debug("context-guard/evaluate-target", () => ({
      ...targetFields(target),
      contextWindow: target.limit.window,
      bufferTokens: target.limit.buffer,
      maxOutputTokens: target.limit.maxOutput,
      reservedTokens: target.limit.reserve,
      limit: limitOf(target),
    }));
  const blocked = draft.targets
    .filter((target) => isBlocked(target, guard.own, projection))
    .map((target) => ({
      ...targetFields(target),
      limit: limitOf(target),
      projected: projection.tokens,
    }));
  for (const target of draft.targets)
    debug("context-guard/provider-eval", () => ({
      ...targetFields(target),
      status: statusOf(target, { verdict, guard, projection }),
      verdict: verdict.kind,
      blocked,
    }));
}

/** If the size of a target's window is unknown, the window blocks no request. */
function isBlocked({ key, limit }: Target, own: OwnLimits, projection: Projection): boolean {
  const isKnown = limit.windowSource !== "fallback" || budgetOf(limit, own) !== undefined;
  return isKnown && projection.tokens > effectiveLimit({ name: key, limit }, own, projection);
}

/**
 * What becomes of a target, in the document's words: its request goes (ok), the next target gets it (skip), or no target has
 * room, so that this is the last turn unless a compaction makes room (final).
 */
function statusOf(
  target: Target,
  { verdict, guard, projection }: Pick<Evaluation, "verdict" | "guard" | "projection">,
): "ok" | "skip" | "final" {
  if (!isBlocked(target, guard.own, projection)) return "ok";
  const { limit, key: name } = target;
  const after = assessAfter({ ...guard, projection, targets: [{ name, limit }] });
  const base = projection.tokens - projection.counters.schema;
  const isOfSchemas = base <= effectiveLimit({ name, limit }, guard.own, projection);
  // Only the tool schemas, or the fixed part, are too large, and the window has room for them.
  if ((isOfSchemas || verdict.kind === "head") && after.kind === "fits") return "ok";
  return verdict.kind === "skip" ? "skip" : "final";
}
