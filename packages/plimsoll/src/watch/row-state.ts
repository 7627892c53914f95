/** What is known of one session at a glance, and how events change it. Pure. */

import { usualThresholds } from "../budget/thresholds.ts";
import type { ConfigAnswer, ProgressSettings, SessionRow, TurnPoint } from "../message/api.ts";
import type {
  ContextBreakingUpdateEvent,
  PlimsollEvent,
  SessionStartEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "../message/event.ts";
import { type FillState, isLastPhase, isRecoveryPhase } from "./phase-words.ts";

export interface RowState {
  readonly row: SessionRow;
  /** Of what went out last, is on its way, or would go out by now. */
  readonly tokens: number;
  /** 0: nobody knows yet how full it is. */
  readonly limit: number;
  /** 0: not known yet. */
  readonly window: number;
  readonly isWindowGuess?: true;
  /** Share of the limit. */
  readonly fill: number;
  readonly state: FillState;
  /** A turn that has begun, and not ended. */
  readonly running?: TurnStartEvent;
  /** Where a compaction is; stays a while after its end. */
  readonly phase?: ContextBreakingUpdateEvent;
  /** What the model sees since a compaction, or somebody's hand, has changed it; until a turn begins or ends. */
  readonly steered?: Size;
  /** Rows stand in the order of this, the newest first. It moves only after a rest, so that rows of busy sessions do not jump. */
  readonly orderedAt: number;
}

export interface Size {
  readonly tokens: number;
  readonly limit: number;
}

/** What the rest of a row is made of. */
type Known = Pick<RowState, "row" | "running" | "phase" | "steered" | "orderedAt">;

/** What the user's settings have to do with rows. */
export interface RowSettings {
  readonly warningThreshold: number;
  readonly progress: ProgressSettings;
}

export const usualSettings: RowSettings = {
  warningThreshold: usualThresholds.warn,
  progress: { show: true, detail: "normal", auto_hide_seconds: 3, highlight_p1: true },
};

export function settingsOf({
  progress,
  limits,
}: Pick<ConfigAnswer, "progress" | "limits">): RowSettings {
  return { progress, warningThreshold: limits.warning_threshold };
}

/** After so long without a turn a session that goes on moves to the top. */
const restMs = 60_000;

/** A row as the service lists it; what events have said since is kept. */
export function listedRow(
  row: SessionRow,
  known: RowState | undefined,
  settings: RowSettings,
): RowState {
  if (known === undefined) return settle({ row, orderedAt: row.updatedAt }, settings);
  // The list was read after the stream was opened: events may be ahead of it.
  if (isAhead(known.row, row)) return known;
  // Of a row, the service counts the turns first: the last turn may be a newer one.
  const turns = Math.max(row.turns, known.row.turns);
  const kept = isAhead(row, known.row) ? withoutSteered(known) : known;
  return settle({ ...kept, row: { ...row, turns } }, settings);
}

function isAhead(one: SessionRow, other: SessionRow): boolean {
  return (one.lastTurn?.endedAt ?? 0) > (other.lastTurn?.endedAt ?? 0);
}

/** The list had the end of this turn: whether it had counted it is not known. */
export function isListedEnd(known: RowState | undefined, event: PlimsollEvent): boolean {
  return event.type === "turn-end" && known?.row.lastTurn?.id === event.turn;
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
      return hasEnded(known, event) ? known : settle(begun(known, event), settings);
    case "turn-end":
      return hasEnded(known, event) ? known : settle(ended(known, event), settings);
    case "context-breaking-update":
      return settle(inPhase(known, event), settings);
    case "view-steered":
      // By how much is not said: what the last turn sent is the best that is known.
      return known.steered === undefined ? known : settle(withoutSteered(known), settings);
    default:
      return known;
  }
}

/** A session that is new is known by its first event alone. */
function startedRow(event: SessionStartEvent, settings: RowSettings): RowState {
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
function hasEnded({ row: { lastTurn } }: Known, event: TurnStartEvent | TurnEndEvent): boolean {
  return lastTurn !== undefined && (lastTurn.id === event.turn || event.at < lastTurn.endedAt);
}

function begun(known: RowState, event: TurnStartEvent): Known {
  const { row, orderedAt } = known;
  const { at } = event;
  return {
    ...withoutSteered(known),
    row: { ...row, updatedAt: Math.max(row.updatedAt, at) },
    running: event,
    orderedAt: at - row.updatedAt > restMs ? at : orderedAt,
  };
}

function ended(known: RowState, event: TurnEndEvent): Known {
  const { row, running, window, ...rest } = withoutSteered(known);
  const isOwn = running?.turn === event.turn;
  return {
    ...rest,
    // Of two turns at once, the other goes on.
    ...(isOwn ? {} : running && { running }),
    row: {
      ...row,
      updatedAt: Math.max(row.updatedAt, event.at),
      turns: row.turns + 1,
      lastTurn: pointOf(event, isOwn ? running.at : event.at, window),
    },
  };
}

function pointOf(event: TurnEndEvent, begunAt: number, knownWindow: number): TurnPoint {
  const { turn, type: _, session: __, innerRounds: ___, stopReason: ____, at, ...rest } = event;
  return { id: turn, at: begunAt, endedAt: at, ...rest, window: event.window ?? knownWindow };
}

/** What a compaction came to is what the model sees from its last phase on. */
function inPhase(known: RowState, phase: ContextBreakingUpdateEvent): Known {
  const { tokens, limit } = phase;
  return { ...known, phase, ...(isLastPhase(phase) ? { steered: { tokens, limit } } : {}) };
}

function withoutSteered({ steered: _, ...known }: RowState): RowState {
  return known;
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
export function settle(known: Known, settings: RowSettings): RowState {
  const { row, running, phase, steered, orderedAt } = known;
  const { tokens, limit } = sizeOf(known);
  const fill = limit > 0 ? tokens / limit : 0;
  const { headTokens } = running ?? row.lastTurn ?? {};
  return {
    row,
    tokens,
    limit,
    window: row.lastTurn?.window ?? 0,
    ...(row.lastTurn?.isWindowGuess === true ? { isWindowGuess: true } : {}),
    fill,
    state: stateOf(known, loadOf({ tokens, limit, headTokens }), settings),
    ...(running && { running }),
    ...(phase && { phase }),
    ...(steered && { steered }),
    orderedAt,
  };
}

/** How full a window is, as the guard sees it: of the limit; where that gave way to a large head, of the room beside the head. */
export function loadOf({ tokens, limit, headTokens = 0 }: Load): number {
  if (limit <= 0) return 0;
  return headTokens < limit ? (tokens - headTokens) / (limit - headTokens) : tokens / limit;
}

interface Load extends Size {
  readonly headTokens?: number | undefined;
}

/** By what was heard last. */
function sizeOf({ row: { lastTurn }, running, phase, steered }: Known): Size {
  const isPhaseNewer = phase !== undefined && phase.at >= (running?.at ?? lastTurn?.endedAt ?? 0);
  if (isPhaseNewer && !isLastPhase(phase)) return phase;
  const turn = running ?? lastTurn;
  return steered ?? { tokens: turn?.measurement.total ?? 0, limit: turn?.limit ?? 0 };
}

function stateOf(
  { row: { lastTurn }, running, phase }: Known,
  load: number,
  { warningThreshold, progress }: RowSettings,
): FillState {
  const isRecovering = phase !== undefined && isRecoveryPhase(phase);
  if (isRecovering || lastTurn?.outcome === "recovered") return "recovery";
  const isEnforced = lastTurn?.outcome === "final" || lastTurn?.outcome === "refused";
  if (isEnforced || load >= warningThreshold) return "warning";
  const { priority } = running ?? lastTurn ?? {};
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

/** The compaction whose phase a row shows: whether more of it is to come. Both go by themselves, see `hideAfterMs`. */
export type PhaseCourse = "running" | "done";

/**
 * What an event makes of it: done with the last phase, or with the end of a turn whose compaction never said how it
 * ended; one that is done already is not held up by the turns that follow.
 */
export function phaseAfter(
  known: RowState | undefined,
  event: PlimsollEvent,
  course: PhaseCourse | undefined,
): PhaseCourse | "as-it-was" {
  if (event.type === "context-breaking-update") return isLastPhase(event) ? "done" : "running";
  const isCutOff = event.type === "turn-end" && known?.phase !== undefined && course !== "done";
  return isCutOff ? "done" : "as-it-was";
}

/** The agent's name, or the beginning of the id. */
export function nameOf({ agent = "", id }: Pick<SessionRow, "agent" | "id">): string {
  return agent.trim() === "" ? shortId(id) : agent;
}

/** What tells sessions of one agent apart: the client's own name for the conversation, else ours. */
export function keyOf({ clientKey, id }: Pick<SessionRow, "clientKey" | "id">): string {
  return clientKey === undefined ? shortId(id) : clientKey.replace(/^plimsoll:/, "");
}

function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 10)}…` : id;
}
