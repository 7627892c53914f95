/** What is known of one session at a glance, and how events change it. Pure. */

import type { ProgressSettings, SessionRow, TurnPoint } from "plimsoll/api";
import type {
  ContextBreakingUpdateEvent,
  PlimsollEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "plimsoll/events";

/** Blue, green, orange, red. */
export type FillState = "normal" | "p1" | "warning" | "recovery";

export interface RowState {
  readonly row: SessionRow;
  /** Of what went out last, or is on its way. */
  readonly tokens: number;
  readonly limit: number;
  /** 0: not known yet. */
  readonly window: number;
  /** Share of the limit. */
  readonly fill: number;
  readonly state: FillState;
  /** A turn that has begun, and not ended. */
  readonly running?: TurnStartEvent;
  /** Where a compaction is; stays a while after its end. */
  readonly phase?: ContextBreakingUpdateEvent;
  /** Rows stand in the order of this, the newest first. It moves only after a rest, so that rows of busy sessions do not jump. */
  readonly orderedAt: number;
}

/** What the user's settings have to do with rows. */
export interface RowSettings {
  readonly warningThreshold: number;
  readonly progress: ProgressSettings;
}

export const usualSettings: RowSettings = {
  warningThreshold: 0.8,
  progress: { show: true, detail: "normal", auto_hide_seconds: 3, highlight_p1: true },
};

/** After so long without a turn a session that goes on moves to the top. */
const restMs = 60_000;

/** A row as the service lists it; what events have said since is kept. */
export function listedRow(
  row: SessionRow,
  known: RowState | undefined,
  settings: RowSettings,
): RowState {
  // The list was read after the stream was opened: events may be ahead of it.
  const newest = known !== undefined && isAhead(known.row, row) ? known.row : row;
  return settle(
    {
      row: newest,
      ...(known?.running === undefined ? {} : { running: known.running }),
      ...(known?.phase === undefined ? {} : { phase: known.phase }),
      orderedAt: known?.orderedAt ?? row.updatedAt,
    },
    settings,
  );
}

function isAhead(one: SessionRow, other: SessionRow): boolean {
  return (one.lastTurn?.endedAt ?? 0) > (other.lastTurn?.endedAt ?? 0);
}

/** Contract: the same state, not a copy, when the event changes nothing of the row; undefined when nothing is known of its session. */
export function withEvent(
  known: RowState | undefined,
  event: PlimsollEvent,
  settings: RowSettings,
): RowState | undefined {
  if (event.type === "session-start") return known ?? startedRow(event, settings);
  if (known === undefined) return undefined;
  switch (event.type) {
    case "turn-start":
      return hasEnded(known, event.turn, event.at) ? known : begun(known, event, settings);
    case "turn-end":
      return hasEnded(known, event.turn, event.at) ? known : ended(known, event, settings);
    case "context-breaking-update":
      return settle({ ...known, phase: event }, settings);
    default:
      return known;
  }
}

/** A session that is new is known by its first event alone. */
function startedRow(
  event: Extract<PlimsollEvent, { readonly type: "session-start" }>,
  settings: RowSettings,
): RowState {
  const { session: id, at, wire, agent } = event;
  const row: SessionRow = {
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
  return settle({ row, orderedAt: at }, settings);
}

/** The list had it already, or it comes again after a reconnection. */
function hasEnded({ row: { lastTurn } }: RowState, turn: string, at: number): boolean {
  return lastTurn !== undefined && (lastTurn.id === turn || at < lastTurn.endedAt);
}

function begun(known: RowState, event: TurnStartEvent, settings: RowSettings): RowState {
  const { at } = event;
  const isBack = at - known.row.updatedAt > restMs;
  return settle(
    {
      ...known,
      row: { ...known.row, updatedAt: Math.max(known.row.updatedAt, at) },
      running: event,
      orderedAt: isBack ? at : known.orderedAt,
    },
    settings,
  );
}

function ended(known: RowState, event: TurnEndEvent, settings: RowSettings): RowState {
  const { running, ...rest } = known;
  const begunAt = running?.turn === event.turn ? running.at : event.at;
  return settle(
    {
      ...rest,
      // Of two turns at once, the other goes on.
      ...(running === undefined || running.turn === event.turn ? {} : { running }),
      row: {
        ...known.row,
        updatedAt: Math.max(known.row.updatedAt, event.at),
        turns: known.row.turns + 1,
        lastTurn: pointOf(event, begunAt, known.window),
      },
    },
    settings,
  );
}

function pointOf(event: TurnEndEvent, begunAt: number, knownWindow: number): TurnPoint {
  const { turn, type: _, session: __, innerRounds: ___, stopReason: ____, at, ...rest } = event;
  return { id: turn, at: begunAt, endedAt: at, ...rest, window: event.window ?? knownWindow };
}

/** The connection is gone: what was on its way is no longer known. */
export function withoutRunning(known: RowState, settings: RowSettings): RowState {
  const { running: _, phase: __, ...rest } = known;
  return settle(rest, settings);
}

export function withoutPhase(known: RowState, settings: RowSettings): RowState {
  const { phase: _, ...rest } = known;
  return settle(rest, settings);
}

/** With other settings, the same row may mean something else. */
export function settle(
  known: Pick<RowState, "row" | "running" | "phase" | "orderedAt">,
  settings: RowSettings,
): RowState {
  const { row, running, phase, orderedAt } = known;
  const { tokens, limit } = sizeOf(known);
  const fill = limit > 0 ? tokens / limit : 0;
  return {
    row,
    tokens,
    limit,
    window: row.lastTurn?.window ?? 0,
    fill,
    state: stateOf(known, fill, settings),
    ...(running === undefined ? {} : { running }),
    ...(phase === undefined ? {} : { phase }),
    orderedAt,
  };
}

function sizeOf({ row, running, phase }: Pick<RowState, "row" | "running" | "phase">): {
  readonly tokens: number;
  readonly limit: number;
} {
  const { lastTurn } = row;
  const newest = running ?? lastTurn;
  const isPhaseNewer = phase !== undefined && phase.at >= (running?.at ?? lastTurn?.endedAt ?? 0);
  if (isPhaseNewer) return { tokens: phase.tokens, limit: phase.limit };
  return { tokens: newest?.measurement.total ?? 0, limit: newest?.limit ?? 0 };
}

function stateOf(
  { row, running, phase }: Pick<RowState, "row" | "running" | "phase">,
  fill: number,
  { warningThreshold, progress }: RowSettings,
): FillState {
  const { lastTurn } = row;
  const isRecovering = phase?.phase === "recovery" || phase?.phase === "handover";
  if (isRecovering || lastTurn?.outcome === "recovered") return "recovery";
  const isEnforced = lastTurn?.outcome === "final" || lastTurn?.outcome === "refused";
  if (isEnforced || fill >= warningThreshold) return "warning";
  const priority = running === undefined ? lastTurn?.priority : running.priority;
  return priority === 1 && progress.highlight_p1 ? "p1" : "normal";
}

/** The state in a word: colour alone tells nothing to some. */
export function stateWord({ state, row }: Pick<RowState, "state" | "row">): string {
  if (state === "recovery")
    return row.lastTurn?.outcome === "recovered" ? "recovered" : "recovering";
  if (state === "p1") return "P1 active";
  if (state === "normal") return row.lastTurn === undefined ? "new" : "normal";
  if (row.lastTurn?.outcome === "refused") return "refused";
  return row.lastTurn?.outcome === "final" ? "final turn" : "near limit";
}

/**
 * What becomes of the phase that a row shows: it goes a while after the last one of its compaction, or after the end of
 * a turn whose compaction never said how it ended; one that goes already is not held up by the turns that follow.
 */
export function phaseAfter(
  known: RowState | undefined,
  event: PlimsollEvent,
  isGoing: boolean,
): "goes" | "stays" | "as-it-was" {
  if (event.type === "context-breaking-update")
    return event.phase === "success" || event.phase === "handover" ? "goes" : "stays";
  const isCutOff = event.type === "turn-end" && known?.phase !== undefined && !isGoing;
  return isCutOff ? "goes" : "as-it-was";
}

/** The agent's name, or the beginning of the id. */
export function nameOf({ agent, id }: Pick<SessionRow, "agent" | "id">): string {
  return agent === undefined || agent === "" ? shortId(id) : agent;
}

/** What tells sessions of one agent apart: the client's own name for the conversation, else ours. */
export function keyOf({ clientKey, id }: Pick<SessionRow, "clientKey" | "id">): string {
  return clientKey === undefined ? shortId(id) : clientKey.replace(/^plimsoll:/, "");
}

function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 10)}…` : id;
}
