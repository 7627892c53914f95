/** Reports events and errors of a turn to subscribers and to the table of errors. */

import type { ErrorCode } from "../../message/error.ts";
import type { FailoverEvent, Rung } from "../../message/event.ts";
import { announce } from "./append.ts";
import { type BranchState, remember, type SessionLog } from "./log.ts";

/** The turn that a report is about. */
interface ReportedTurn {
  readonly log: SessionLog;
  readonly turn: { readonly id: string; readonly at: number };
}

export function reportWarning({ log, turn }: ReportedTurn, filled: number, limit: number): void {
  announce(log, {
    type: "context-warning",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    filled,
    limit,
  });
}

/** A budget that is too small for system prompt and tools, and the limit that applies instead. */
export interface RaisedBudget {
  readonly budget: number;
  readonly limit: number;
  readonly preambleTokens: number;
}

/** Reports a raised budget, once per session and budget. */
export function reportRaisedBudget(
  { log, turn }: ReportedTurn,
  branch: BranchState,
  { budget, limit, preambleTokens }: RaisedBudget,
): void {
  if ([...log.branches.values()].some(({ memory }) => memory.raisedBudget === budget)) return;
  remember(branch, { kind: "budget-raised", budget });
  announce(log, {
    type: "budget-raised",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    budget,
    limit,
    preambleTokens,
  });
}

/**
 * Reports the names of Plimsoll's tools if they had to change. Reports them once per conversation, because the names stay the
 * same.
 */
export function reportRenamed(
  { log, turn }: ReportedTurn,
  branch: BranchState,
  names: readonly string[],
): void {
  if (branch.memory.renamed === names.join(" ")) return;
  remember(branch, { kind: "tools-renamed", names: names.join(" ") });
  announce(log, {
    type: "own-tools-renamed",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    names,
  });
}

/** A failure inside Plimsoll. The strategies may be fine, so its code is not BREAKER_FAILED. */
export function reportDegraded(reported: ReportedTurn, rung: Rung, reason: string): void {
  const { log, turn } = reported;
  announce(log, {
    type: "degraded",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    rung,
    reason,
  });
  recordError(reported, "DEGRADED", reason, { rung });
}

/** Tells that another provider answers this turn. */
export function reportFailover(
  { log, turn }: ReportedTurn,
  route: Pick<FailoverEvent, "from" | "to" | "leftOut">,
): void {
  announce(log, {
    type: "failover",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    ...route,
  });
}

export function reportEnforced(
  reported: ReportedTurn,
  action: "final" | "refused",
  tokens: number,
  limit: number,
): void {
  const { log, turn } = reported;
  announce(log, {
    type: "guard-enforced",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    action,
    reason: "context",
    tokens,
    limit,
  });
  recordError(
    reported,
    "TOKEN_LIMIT_EXCEEDED",
    action === "final"
      ? "Context guard enforced: still over limit after shrink, so the request is sent as the final turn."
      : "Context guard enforced: the request does not fit, and nothing more can be taken out.",
    { tokens, limit },
  );
}

export function recordError(
  { log, turn }: ReportedTurn,
  code: ErrorCode,
  message: string,
  fields: Readonly<Record<string, string | number | boolean>> = {},
): void {
  const { id: session, tenant } = log.record;
  const error = { session, code, message, at: turn.at, fields: { turn: turn.id, ...fields } };
  log.unsaved.push(Promise.resolve({ kind: "error", tenant, error }));
}
