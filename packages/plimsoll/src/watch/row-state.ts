/** The state of one session in a list, and how events change it. Pure. */

import { usualThresholds } from "../budget/thresholds.ts";
import type { ConfigAnswer, ProgressSettings, SessionRow, TurnPoint } from "../message/api.ts";
import type {
  ContextBreakingUpdateEvent,
  PlimsollEvent,
  SessionStartEvent,
  TurnEndEvent,
  TurnStartEvent,
  ViewSteeredEvent,
} from "../message/event.ts";
import { type FillState, isLastPhase, isRecoveryPhase } from "./phase-words.ts";

export interface RowState {
  readonly row: SessionRow;
  /**
   * Number of tokens in the window: of the request that is being sent, or of the last request with its answer. If the view was
   * changed since then, of the new view.
   */
  readonly tokens: number;
  /** The limit in tokens, or 0 if it is not known yet. */
  readonly limit: number;
  /** Size of the window in tokens, or 0 if it is not known yet. */
  readonly window: number;
  readonly isWindowGuess?: true;
  /** The limit that the window alone would give. Absent if no lower limit of the user applies. */
  readonly windowLimit?: number;
  /** Share of the limit that is used. 1 means that the whole limit is used. */
  readonly fill: number;
  readonly state: FillState;
  /** The turn that is running now. Undefined if none is running. */
  readonly running?: TurnStartEvent;
  /** The phase of the newest compaction. It stays for a while after the compaction has ended. */
  readonly phase?: ContextBreakingUpdateEvent;
  /** Size of the window after a compaction or a person changed the view. Removed when a turn begins or ends. */
  readonly steered?: Size;
  /**
   * Time by which rows are sorted, newest first. It changes only if a turn begins after a pause, so that rows of busy sessions do
   * not jump.
   */
  readonly orderedAt: number;
}

export interface Size {
  readonly tokens: number;
  readonly limit: number;
}

/** The facts from which the other fields of a row are computed. */
type Known = Pick<RowState, "row" | "running" | "phase" | "steered" | "orderedAt">;

/** The user's settings that affect rows. */
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

/** If a session continues after more than this many milliseconds without a turn, its row moves to the top. */
const restMs = 60_000;

/** The row from the service's list, combined with newer facts from events. */
export function listedRow(
  row: SessionRow,
  known: RowState | undefined,
  settings: RowSettings,
): RowState {
  if (known === undefined) return settle({ row, orderedAt: row.updatedAt }, settings);
  // The list was read after the stream was opened, so events may be newer than the list.
  if (isAhead(known.row, row)) return known;
  // The service counts the turns before it reads the last turn, so its number of turns may be one too low.
  const turns = Math.max(row.turns, known.row.turns);
  const kept = isAhead(row, known.row) ? withoutSteered(known) : known;
  return settle({ ...kept, row: { ...row, turns } }, settings);
}

function isAhead(one: SessionRow, other: SessionRow): boolean {
  return (one.lastTurn?.endedAt ?? 0) > (other.lastTurn?.endedAt ?? 0);
}

/**
 * Whether the list already contained the end of this turn. If so, it is unknown whether the list's number of turns includes this
 * turn.
 */
export function isListedEnd(known: RowState | undefined, event: PlimsollEvent): boolean {
  return event.type === "turn-end" && known?.row.lastTurn?.id === event.turn;
}

/**
 * Contract: returns the same object, not a copy, if the event does not change the row. Returns undefined if the session is
 * unknown.
 */
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
      return steeredBy(known, event, settings);
    default:
      return known;
  }
}

/** Events of earlier versions do not give the size. For these, the size of the last turn is the best known figure. */
function steeredBy(
  known: RowState,
  { tokens, limit }: ViewSteeredEvent,
  settings: RowSettings,
): RowState {
  if (tokens !== undefined && limit !== undefined)
    return settle({ ...known, steered: { tokens, limit } }, settings);
  return known.steered === undefined ? known : settle(withoutSteered(known), settings);
}

/** The row of a new session of which only the first event is known. */
function startedRow(event: SessionStartEvent, settings: RowSettings): RowState {
  const { session: id, at, wire, agent, client, folder } = event;
  const row: SessionRow = {
    id,
    tenant: "",
    wire,
    ...(client === undefined ? {} : { client }),
    ...(folder === undefined ? {} : { folder }),
    ...(agent === undefined ? {} : { agent }),
    createdAt: at,
    updatedAt: at,
    branches: 1,
    messages: 0,
    turns: 0,
  };
  return settle({ row, orderedAt: at }, settings);
}

/**
 * Whether this turn has already ended, so that the event is old. The list may have contained the turn, or the event may be
 * repeated after a reconnection.
 */
function hasEnded({ row: { lastTurn } }: Known, event: TurnStartEvent | TurnEndEvent): boolean {
  return lastTurn !== undefined && (lastTurn.id === event.turn || event.at < lastTurn.endedAt);
}

function begun(known: RowState, event: TurnStartEvent): Known {
  const { row, orderedAt } = known;
  const { at } = event;
  return {
    ...withoutSteered(known),
    row: {
      ...row,
      updatedAt: Math.max(row.updatedAt, at),
    },
    running: event,
    orderedAt: at - row.updatedAt > restMs ? at : orderedAt,
  };
}

function ended(known: RowState, event: TurnEndEvent): Known {
  const { row, running, window, ...rest } = withoutSteered(known);
  const isOwn = running?.turn === event.turn;
  return {
    ...rest,
    // If another turn was running at the same time, it is still running.
    ...(isOwn ? {} : running && { running }),
    row: {
      ...row,
      updatedAt: Math.max(row.updatedAt, event.at),
      turns: row.turns + 1,
      ...(event.title === undefined ? {} : { title: event.title }),
      tokens: event.windowTokens ?? event.measurement.total,
      lastTurn: pointOf(event, isOwn ? running.at : event.at, window),
    },
  };
}

function pointOf(event: TurnEndEvent, begunAt: number, knownWindow: number): TurnPoint {
  const { turn, type: _, session: __, innerRounds: ___, stopReason: ____, ...others } = event;
  const { at, windowTokens: _____, title: ______, ...rest } = others;
  return { id: turn, at: begunAt, endedAt: at, ...rest, window: event.window ?? knownWindow };
}

/** Adds a phase to the row. With the last phase, the row gets the size of the view after the compaction. */
function inPhase(known: RowState, phase: ContextBreakingUpdateEvent): Known {
  const { tokens, limit } = phase;
  return { ...known, phase, ...(isLastPhase(phase) ? { steered: { tokens, limit } } : {}) };
}

function withoutSteered({ steered: _, ...known }: RowState): RowState {
  return known;
}

/** Removes the running turn and the phase, because the connection is gone and nobody knows whether they are still running. */
export function withoutRunning(known: RowState, settings: RowSettings): RowState {
  const { running: _, phase: __, ...rest } = known;
  return settle(rest, settings);
}

export function withoutPhase(known: RowState, settings: RowSettings): RowState {
  const { phase: _, ...rest } = known;
  return settle(rest, settings);
}

/** Computes the row again from its facts and the settings. */
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
    ...(row.lastTurn?.windowLimit === undefined ? {} : { windowLimit: row.lastTurn.windowLimit }),
    fill,
    state: stateOf(known, loadOf({ tokens, limit, headTokens }), settings),
    ...(running && { running }),
    ...(phase && { phase }),
    ...(steered && { steered }),
    orderedAt,
  };
}

/**
 * How full a window is, as the guard sees it: the share of the limit that is used. If the limit was raised because of a large
 * fixed part, this part is subtracted from both the tokens and the limit.
 */
export function loadOf({ tokens, limit, headTokens = 0 }: Load): number {
  if (limit <= 0) return 0;
  return headTokens < limit ? (tokens - headTokens) / (limit - headTokens) : tokens / limit;
}

interface Load extends Size {
  readonly headTokens?: number | undefined;
}

/** The size according to the newest event. */
function sizeOf({ row, running, phase, steered }: Known): Size {
  const { lastTurn } = row;
  const isPhaseNewer = phase !== undefined && phase.at >= (running?.at ?? lastTurn?.endedAt ?? 0);
  if (isPhaseNewer && !isLastPhase(phase)) return phase;
  if (steered !== undefined) return steered;
  if (running !== undefined) return { tokens: running.measurement.total, limit: running.limit };
  return { tokens: row.tokens ?? lastTurn?.measurement.total ?? 0, limit: lastTurn?.limit ?? 0 };
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

/** The state as a word, because some people cannot tell the colours apart. */
export function stateWord({ state, row }: Pick<RowState, "state" | "row">): string {
  if (state === "recovery")
    return row.lastTurn?.outcome === "recovered" ? "recovered" : "recovering";
  if (state === "p1") return "P1 active";
  if (state === "normal") return row.lastTurn === undefined ? "new" : "normal";
  if (row.lastTurn?.outcome === "refused") return "refused";
  return row.lastTurn?.outcome === "final" ? "final turn" : "near limit";
}

/** Whether the compaction shown in a row is still running. A row hides a running or finished compaction after `hideAfterMs`. */
export type PhaseCourse = "running" | "done";

/**
 * How an event changes the state of the compaction shown in a row. A compaction is done when it enters its last phase, or when
 * its turn ends before that. Once it is done, the end of a later turn changes nothing.
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

/** The agent's name. If there is none, the name of its client. Empty if nobody knows either. */
export function agentOf({ agent = "", client = "" }: Pick<SessionRow, "agent" | "client">): string {
  return agent.trim() === "" ? client : agent;
}

/** The title of a session. If there is none, the agent's name or the beginning of the session's id. */
export function nameOf(row: Pick<SessionRow, "title" | "agent" | "client" | "id">): string {
  const { title = "", id } = row;
  if (title.trim() !== "") return title;
  return agentOf(row) === "" ? shortId(id) : agentOf(row);
}

/**
 * A text that distinguishes sessions with the same title: the agent or its client, the folder, and the client's name for the
 * conversation or, if there is none, Plimsoll's id.
 */
export function keyOf(
  row: Pick<SessionRow, "title" | "agent" | "client" | "folder" | "clientKey" | "id">,
): string {
  const { clientKey, folder, id } = row;
  const agent = agentOf(row);
  // If the client is named anyway, its name need not be repeated.
  const prefix = agent !== "" && agent === row.client ? /^[\w-]+:/ : /^plimsoll:/;
  const key = clientKey === undefined ? shortId(id) : clientKey.replace(prefix, "");
  return [
    ...(agent === "" || agent === nameOf(row) ? [] : [agent]),
    ...(folder === undefined ? [] : [folderName(folder)]),
    key,
  ].join(" · ");
}

/** The last part of a path, which people know a folder by. */
export function folderName(folder: string = ""): string {
  return folder.split(/[\\/]/).findLast((part) => part !== "") ?? folder;
}

function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 10)}…` : id;
}
