/** What is known of one session at a glance, and how events change it. Pure. */

import type { SessionRow, TurnPoint } from "../../message/api.ts";
import type {
  ContextBreakingUpdateEvent,
  PlimsollEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "../../message/event.ts";

export interface Row {
  readonly listed: SessionRow;
  /** A turn that has begun, and not ended. */
  readonly running?: TurnStartEvent;
  /** Where a compaction is; stays a while after its end. */
  readonly phase?: ContextBreakingUpdateEvent;
  /** What the model sees since the last turn was changed by hand. */
  readonly steered?: Size;
  /** Rows stand in the order of this, the newest first. It moves only after a rest, so that busy sessions do not jump. */
  readonly orderedAt: number;
}

export interface Size {
  readonly tokens: number;
  readonly limit: number;
}

/** Blue, green, yellow, red. */
export type FillState = "normal" | "P1" | "warning" | "recovery";

/** Of the user's settings, what rows need. */
export interface RowSettings {
  readonly warningThreshold: number;
  readonly mustHighlightP1: boolean;
}

/** After so long without a turn a session that goes on moves to the top. */
const restMs = 60_000;

/** A row as the service lists it; what events have said since is kept. */
export function listedRow(listed: SessionRow, known: Row | undefined): Row {
  if (known === undefined) return { listed, orderedAt: listed.updatedAt };
  // The list is read after the stream was opened: events may be ahead of it.
  const isAhead = (known.listed.lastTurn?.endedAt ?? 0) > (listed.lastTurn?.endedAt ?? 0);
  if (isAhead) return known;
  // Of a row, the service counts the turns first: the last turn may be a newer one.
  const turns = Math.max(listed.turns, known.listed.turns);
  return { ...known, listed: { ...listed, turns } };
}

/** The list had the end of this turn: whether it had counted it is not known. */
export function isListedEnd(known: Row | undefined, event: PlimsollEvent): boolean {
  return event.type === "turn-end" && known?.listed.lastTurn?.id === event.turn;
}

/** Contract: the same row, not a copy, when the event changes nothing of it; undefined when nothing is known of its session. */
export function rowAfter(known: Row | undefined, event: PlimsollEvent): Row | undefined {
  if (event.type === "session-start") return known ?? startedRow(event);
  if (known === undefined) return undefined;
  switch (event.type) {
    case "turn-start":
      return hasEnded(known, event) ? known : begun(known, event);
    case "turn-end":
      return hasEnded(known, event) ? known : ended(known, event);
    case "context-breaking-update":
      return inPhase(known, event);
    case "view-steered":
      return known.steered === undefined ? known : withoutSteered(known);
    default:
      return known;
  }
}

/** By how much is not said: what the last turn sent is the best that is known. */
function withoutSteered({ steered: _, ...row }: Row): Row {
  return row;
}

function startedRow(event: Extract<PlimsollEvent, { readonly type: "session-start" }>): Row {
  const { session: id, at, wire, agent } = event;
  const listed: SessionRow = {
    id,
    tenant: "",
    wire,
    ...(agent === undefined ? {} : { agent }),
    createdAt: at,
    updatedAt: at,
    branches: 1,
    messages: 0,
    turns: 0,
  };
  return { listed, orderedAt: at };
}

/** The list had it already, or it comes again after a reconnection. */
function hasEnded({ listed: { lastTurn } }: Row, event: TurnStartEvent | TurnEndEvent): boolean {
  return lastTurn !== undefined && (lastTurn.id === event.turn || event.at < lastTurn.endedAt);
}

function begun({ steered: _, ...known }: Row, event: TurnStartEvent): Row {
  const { listed, orderedAt } = known;
  const { at } = event;
  return {
    ...known,
    listed: { ...listed, updatedAt: Math.max(listed.updatedAt, at) },
    running: event,
    orderedAt: at - listed.updatedAt > restMs ? at : orderedAt,
  };
}

function ended({ running, steered: _, ...known }: Row, event: TurnEndEvent): Row {
  const { listed, phase, ...rest } = known;
  const begunAt = running?.turn === event.turn ? running.at : event.at;
  return {
    ...rest,
    // Of two turns at once the other goes on; a compaction that came to nothing has ended with its turn.
    ...(running === undefined || running.turn === event.turn ? {} : { running }),
    ...(phase === undefined || (phase.turn === event.turn && !isLastPhase(phase)) ? {} : { phase }),
    listed: {
      ...listed,
      updatedAt: Math.max(listed.updatedAt, event.at),
      turns: listed.turns + 1,
      lastTurn: pointOf(event, begunAt),
    },
  };
}

function pointOf(event: TurnEndEvent, begunAt: number): TurnPoint {
  const { turn, at, branch, model, outcome, status, measurement, tokensBefore, limit } = event;
  const { priority, usage, window = limit } = event;
  return {
    id: turn,
    branch,
    at: begunAt,
    endedAt: at,
    model,
    outcome,
    status,
    measurement,
    tokensBefore,
    limit,
    window,
    ...(priority === undefined ? {} : { priority }),
    ...(usage === undefined ? {} : { usage }),
  };
}

function inPhase(known: Row, phase: ContextBreakingUpdateEvent): Row {
  const { tokens, limit } = phase;
  return { ...known, phase, ...(isLastPhase(phase) ? { steered: { tokens, limit } } : {}) };
}

/** Success, or the handover of a recovery, ends a compaction. */
export function isLastPhase({ phase }: ContextBreakingUpdateEvent): boolean {
  return phase === "success" || phase === "handover";
}

export function withoutPhase({ phase: _, ...row }: Row): Row {
  return row;
}

/** The connection is gone: what was on its way is no longer known. */
export function withoutLive({ running: _, phase: __, ...row }: Row): Row {
  return row;
}

export interface Fill extends Size {
  readonly window: number;
  /** Of the limit. */
  readonly share: number;
}

/** How full it is, by what was heard last; undefined: nobody knows yet. */
export function fillOf({ listed: { lastTurn }, running, phase, steered }: Row): Fill | undefined {
  const isInPhase = phase !== undefined && !isLastPhase(phase);
  const turn = running ?? lastTurn;
  const size: Size | undefined =
    (isInPhase ? phase : steered) ??
    (turn && { tokens: turn.measurement.total, limit: turn.limit });
  if (size === undefined) return undefined;
  const { tokens, limit } = size;
  const window = Math.max(lastTurn?.window ?? 0, limit);
  return { tokens, limit, window, share: limit > 0 ? tokens / limit : 0 };
}

export function stateOf(row: Row, { warningThreshold, mustHighlightP1 }: RowSettings): FillState {
  const {
    listed: { lastTurn },
    running,
    phase,
  } = row;
  const isRecovering = phase?.phase === "recovery" || phase?.phase === "handover";
  const outcome = running === undefined ? lastTurn?.outcome : undefined;
  if (isRecovering || outcome === "recovered") return "recovery";
  const isNearLimit = (fillOf(row)?.share ?? 0) >= warningThreshold;
  if (isNearLimit || outcome === "final" || outcome === "refused") return "warning";
  const priority = running === undefined ? lastTurn?.priority : running.priority;
  const isP1 = priority === 1 || phase?.priority?.level === 1;
  return isP1 && mustHighlightP1 ? "P1" : "normal";
}

/** The agent's name, or the beginning of the id. */
export function nameOf({ agent = "", id }: Pick<SessionRow, "agent" | "id">): string {
  return agent.trim() === "" ? `${id.slice(0, 12)}…` : agent;
}
