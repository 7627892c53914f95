/** The whole state of `plimsoll top`, and the changes that news makes to it. Pure: the screen depends only on this state. */

import type { Listed, SessionRow, WindowPicture, WindowUnit } from "../../message/api.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { cutWords } from "../../watch/cut-words.ts";
import type { Connection } from "../../watch/event-stream.ts";
import type { OpenTickets } from "../../watch/open-tickets.ts";
import { isLastPhase } from "../../watch/phase-words.ts";
import {
  listedRow,
  nameOf,
  type RowSettings,
  type RowState,
  settle,
  usualSettings,
  withEvent,
  withoutPhase,
  withoutRunning,
} from "../../watch/row-state.ts";
import type { EditStep } from "./edits.ts";

/** The window and the edits of the selected session. */
export interface Looked {
  readonly session: string;
  readonly picture: WindowPicture;
  /** The steps of edits, newest first. */
  readonly steps: readonly EditStep[];
}

export type Mode =
  | { readonly kind: "sessions" }
  | { readonly kind: "help" }
  /** The user is choosing a unit to pin. The unit is stored by its id, because the picture may change meanwhile. */
  | { readonly kind: "pins"; readonly unit: string };

export interface Note {
  readonly tone: "pending" | "done" | "refused";
  readonly text: string;
}

export interface TopState {
  readonly url: string;
  readonly link: Connection;
  readonly settings: RowSettings;
  /** The rows of the list, by session id. */
  readonly rows: ReadonlyMap<string, RowState>;
  /** True if the service has more sessions than it listed. */
  readonly hasMore: boolean;
  /** Absent until they have been read. */
  readonly tickets?: OpenTickets;
  readonly selected?: string;
  readonly looked?: Looked;
  readonly mode: Mode;
  /** True while an action is running. Only one can run at a time. */
  readonly isActing: boolean;
  readonly note?: Note;
}

export type News =
  | { readonly kind: "link"; readonly link: Connection }
  | { readonly kind: "moved"; readonly url: string }
  | { readonly kind: "settings"; readonly settings: RowSettings }
  | { readonly kind: "listed"; readonly list: Listed<SessionRow> }
  | { readonly kind: "event"; readonly event: PlimsollEvent }
  | { readonly kind: "tickets"; readonly tickets: OpenTickets }
  | { readonly kind: "looked"; readonly looked: Looked }
  /** The session no longer exists in the service. */
  | { readonly kind: "gone"; readonly session: string }
  /** A phase has been shown long enough. `at` is the time when the phase began. */
  | { readonly kind: "phase-over"; readonly session: string; readonly at: number }
  | { readonly kind: "acting"; readonly text: string }
  | { readonly kind: "acted"; readonly session: string; readonly note: Note }
  | { readonly kind: "note"; readonly note: Note };

/** Maximum number of sessions to keep. The oldest are dropped. */
const mostRows = 200;

export function startState(url: string): TopState {
  return {
    url,
    link: { kind: "connecting" },
    settings: usualSettings,
    rows: new Map(),
    hasMore: false,
    mode: { kind: "sessions" },
    isActing: false,
  };
}

export function withNews(state: TopState, news: News): TopState {
  switch (news.kind) {
    case "link":
      return linked(state, news.link);
    case "moved":
      return { ...state, url: news.url };
    case "settings":
      return changedRows({ ...state, settings: news.settings }, settle);
    case "listed":
      return listed(state, news.list);
    case "event":
      return happened(state, news.event);
    case "tickets":
      return { ...state, tickets: news.tickets };
    case "looked":
      return looked(state, news.looked);
    case "gone":
      return gone(state, news.session);
    case "phase-over":
      return withRow(state, news.session, (row) =>
        row?.phase?.at === news.at ? withoutPhase(row, state.settings) : row,
      );
    case "acting":
      return { ...state, isActing: true, note: { tone: "pending", text: news.text } };
    case "acted":
      return acted(state, news.session, news.note);
    case "note":
      return { ...state, note: news.note };
  }
}

function happened(state: TopState, event: PlimsollEvent): TopState {
  const { session } = event;
  if (event.type === "session-forgotten") return gone(state, session);
  if (event.type === "answer-cut") {
    const row = state.rows.get(session)?.row;
    const name = row === undefined ? "" : `${nameOf(row)}: `;
    return { ...state, note: { tone: "refused", text: name + cutWords(event) } };
  }
  return withRow(state, session, (row) => heard(row, event, state.settings));
}

function linked(state: TopState, link: Connection): TopState {
  const isLost = link.kind !== "live" && state.link.kind === "live";
  return isLost ? changedRows({ ...state, link }, withoutRunning) : { ...state, link };
}

function changedRows(
  state: TopState,
  change: (row: RowState, settings: RowSettings) => RowState,
): TopState {
  const rows = [...state.rows].map(([id, row]) => [id, change(row, state.settings)] as const);
  return { ...state, rows: new Map(rows) };
}

/**
 * Applies an event to a row. If a turn ends and its compaction never reported its last phase, the phase is removed from the row.
 * Otherwise the compaction would be shown as running.
 */
function heard(
  known: RowState | undefined,
  event: PlimsollEvent,
  settings: RowSettings,
): RowState | undefined {
  const row = withEvent(known, event, settings);
  if (event.type !== "turn-end" || row?.phase?.turn !== event.turn) return row;
  return isLastPhase(row.phase) ? row : withoutPhase(row, settings);
}

function listed(state: TopState, { items, next }: Listed<SessionRow>): TopState {
  const known = items.map((item): [string, RowState] => [
    item.id,
    listedRow(item, state.rows.get(item.id), state.settings),
  ]);
  // Sessions that began while the list was being read are not in the list, so they are kept.
  const ids = new Set(items.map(({ id }) => id));
  const newest = Math.max(0, ...items.map(({ updatedAt }) => updatedAt));
  const since = [...state.rows].filter(([id, { row }]) => !ids.has(id) && row.updatedAt > newest);
  const rows = bounded(new Map([...since, ...known]));
  return { ...selectable({ ...state, rows }), hasMore: next !== undefined };
}

/** Selects the newest session if none is selected, or if the selected one is gone. */
function selectable(state: TopState): TopState {
  const { selected, ...rest } = state;
  if (selected !== undefined && state.rows.has(selected)) return state;
  const [first] = orderedRows(state);
  return first === undefined ? rest : { ...rest, selected: first.row.id };
}

/** The rows of the list, newest first. */
export function orderedRows({ rows }: Pick<TopState, "rows">): readonly RowState[] {
  return [...rows.values()].toSorted(
    (one, other) => other.orderedAt - one.orderedAt || (one.row.id < other.row.id ? -1 : 1),
  );
}

function bounded(rows: ReadonlyMap<string, RowState>): ReadonlyMap<string, RowState> {
  if (rows.size <= mostRows) return rows;
  const kept = orderedRows({ rows }).slice(0, mostRows);
  return new Map(kept.map((state) => [state.row.id, state]));
}

/** Contract: if `change` returns undefined, the state stays as it is. */
function withRow(
  state: TopState,
  session: string,
  change: (row: RowState | undefined) => RowState | undefined,
): TopState {
  const known = state.rows.get(session);
  const row = change(known);
  if (row === undefined || row === known) return state;
  return selectable({ ...state, rows: bounded(new Map(state.rows).set(session, row)) });
}

function looked(state: TopState, news: Looked): TopState {
  if (news.session !== state.selected) return state;
  const { tokens, limit } = news.picture;
  const editedAt = news.steps[0]?.at ?? 0;
  // An edit made after the last turn is already drawn, although no turn contains it yet.
  const updated = withRow({ ...state, looked: news }, news.session, (row) => {
    if (row === undefined || row.running !== undefined || limit === 0) return row;
    const isEdited = editedAt > (row.row.lastTurn?.endedAt ?? 0);
    return isEdited ? settle({ ...row, steered: { tokens, limit } }, state.settings) : row;
  });
  return { ...updated, mode: modeOn(state.mode, news.picture) };
}

/** The mode for a new picture. If the chosen unit has left the window, the last unit is chosen instead. */
function modeOn(mode: Mode, picture: WindowPicture): Mode {
  if (mode.kind !== "pins") return mode;
  const units = pinnableUnits(picture);
  if (units.some(({ id }) => id === mode.unit)) return mode;
  const last = units.at(-1);
  return last === undefined ? { kind: "sessions" } : { kind: "pins", unit: last.id };
}

/** The units that can be pinned: only messages. The parts of the head and Plimsoll's own texts stay as they are anyway. */
export function pinnableUnits({ units }: WindowPicture): readonly WindowUnit[] {
  return units.filter(({ id, first }) => first !== undefined && id.startsWith("m"));
}

function gone(state: TopState, session: string): TopState {
  const rows = new Map(state.rows);
  if (!rows.delete(session)) return state;
  return selectable({ ...state, rows, mode: { kind: "sessions" } });
}

/**
 * A refused compaction never reports its last phase. So its first phase is removed from the row. Otherwise the compaction would
 * be shown as running.
 */
function acted(state: TopState, session: string, note: Note): TopState {
  const rested =
    note.tone === "refused"
      ? withRow(state, session, (row) =>
          row?.phase === undefined ? row : withoutPhase(row, state.settings),
        )
      : state;
  return { ...rested, isActing: false, note };
}
