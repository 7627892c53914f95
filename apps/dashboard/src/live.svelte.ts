/** The live state of the page, and its listeners. The rows of sessions are replaced one by one as events arrive. */

import type { ConfigAnswer } from "plimsoll/api";
import type { PlimsollEvent } from "plimsoll/events";
import { visible } from "plimsoll/text/unseen";
import { type Connection, type EventStream, openEvents } from "plimsoll/watch/event-stream";
import { type Gathering, gather } from "plimsoll/watch/gather";
import { hideAfterMs } from "plimsoll/watch/phase-words";
import {
  isListedEnd,
  listedRow,
  type PhaseCourse,
  phaseAfter,
  type RowSettings,
  type RowState,
  settingsOf,
  settle,
  usualSettings,
  withEvent,
  withoutPhase,
  withoutRunning,
} from "plimsoll/watch/row-state";
import { isAboutWork } from "plimsoll/watch/work-words";
import { SvelteMap } from "svelte/reactivity";
import { ApiError, api } from "./api.ts";
import { timing } from "./timing.ts";
import { tabToken } from "./token/tab-token.ts";

type EventHandler = (event: PlimsollEvent) => void;

/** Whether the list of sessions is loading, ready or failed. */
export type Listing =
  | { readonly kind: "loading" }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly sentence: string };

/** Maximum number of rows to keep. The oldest are dropped. */
const maxRows = 2000;

interface Hiding {
  readonly course: PhaseCourse;
  readonly cancel: () => void;
}

class Live {
  /** The rows as they are drawn, by session id. Updates of busy sessions are collected before they are drawn. */
  readonly sessions: SvelteMap<string, RowState> = new SvelteMap();
  connection: Connection = $state.raw({ kind: "connecting" });
  listing: Listing = $state.raw({ kind: "loading" });
  /** The position of the next page of sessions, which `more()` reads. Undefined if there are no more sessions. */
  next: string | undefined = $state.raw(undefined);
  settings: RowSettings = $state.raw(usualSettings);
  /** Whether the first attempt to open the stream has ended. Until then, nothing is requested. */
  hasTried: boolean = $state.raw(false);
  /** True if the connection was lost or could not be opened. */
  isAway: boolean = $state.raw(false);
  /** True until the service says that only its owner may change settings. */
  mayConfigure: boolean = $state.raw(true);

  /** The newest state of all rows, drawn or not. */
  readonly #known = new Map<string, RowState>();
  readonly #ofSession = new Map<string, Set<EventHandler>>();
  readonly #ofAll = new Set<EventHandler>();
  readonly #reconnected = new Set<() => void>();
  /** The timer that hides the phase, for each session that shows one. */
  readonly #hiding = new Map<string, Hiding>();
  readonly #rows: Gathering = gather((id) => this.#draw(id), timing);
  readonly #finding: Gathering = gather(() => void this.#list(undefined), timing, 2000);
  #stream: EventStream | undefined;
  /** Number of starts so far. Answers to requests that were sent before the last start are ignored. */
  #started = 0;

  /** Opens the stream with the token of the tab. Closes an open stream first. */
  start(): void {
    this.stop();
    this.#stream = openEvents({
      locate: () => "",
      token: tabToken,
      fetch: (address, options) => fetch(address, { ...options, cache: "no-store" }),
      later: timing.later,
      random: Math.random,
      whenRefused: "stops",
      onEvent: (event) => this.#take(event),
      onState: (state) => this.#turn(state),
    });
  }

  stop(): void {
    this.#started += 1;
    this.#stream?.close();
    this.#stream = undefined;
    this.#rows.close();
    this.#finding.close();
    for (const { cancel } of this.#hiding.values()) cancel();
    this.#hiding.clear();
    this.#known.clear();
    this.sessions.clear();
    this.next = undefined;
    this.listing = { kind: "loading" };
    this.connection = { kind: "connecting" };
    this.hasTried = false;
    this.isAway = false;
    this.mayConfigure = true;
  }

  /** Calls the handler immediately for each event of the session. Returns a function that unsubscribes. */
  onSession(id: string, handler: EventHandler): () => void {
    const handlers = this.#ofSession.get(id) ?? new Set();
    this.#ofSession.set(id, handlers.add(handler));
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0 && this.#ofSession.get(id) === handlers) this.#ofSession.delete(id);
    };
  }

  /** Calls the handler immediately for each event of any session. Returns a function that unsubscribes. */
  onEvent(handler: EventHandler): () => void {
    this.#ofAll.add(handler);
    return () => this.#ofAll.delete(handler);
  }

  /**
   * Calls the handler when the stream is open again after an interruption, in which events may have been missed and requests may
   * have failed.
   */
  onReconnect(handler: () => void): () => void {
    this.#reconnected.add(handler);
    return () => this.#reconnected.delete(handler);
  }

  /** Reads the next page of sessions. */
  async more(): Promise<void> {
    await this.#list(this.next);
  }

  /** Reads the newest sessions again. */
  async reload(): Promise<void> {
    await this.#list(undefined);
  }

  use(config: Pick<ConfigAnswer, "progress" | "limits">): void {
    this.settings = settingsOf(config);
    for (const [id, known] of this.#known) this.#set(id, settle(known, this.settings), "page");
  }

  #turn(state: Connection): void {
    const { hasTried } = this;
    if (this.connection.kind === "live" && state.kind !== "live") this.#forgetRunning();
    this.connection = state;
    if (state.kind === "waiting") this.isAway = true;
    if (state.kind === "live" || state.kind === "waiting") this.hasTried = true;
    if (state.kind !== "live") return;
    this.isAway = false;
    void this.#readSettings();
    void this.#list(undefined);
    if (hasTried) for (const handler of [...this.#reconnected]) handler();
  }

  #take(event: PlimsollEvent): void {
    const { session } = event;
    if (isAboutWork(event)) {
      this.#tell(event);
      return;
    }
    if (event.type === "settings-changed") {
      void this.#readSettings();
      this.#tell(event);
      return;
    }
    if (event.type === "session-forgotten") {
      this.#drop(session);
      this.#tell(event);
      return;
    }
    const known = this.#known.get(session);
    const changed = withEvent(known, event, this.settings);
    const isPhase = event.type === "context-breaking-update";
    // Reads the list again in two cases: an old session continues but is not listed yet, or the list was read around the end of
    // this turn, so that its figures may or may not include the turn.
    if (changed === undefined || isListedEnd(known, event)) this.#finding.add("sessions");
    if (changed !== undefined && changed !== known)
      this.#set(session, changed, isPhase ? "phase" : "event");
    const course = phaseAfter(known, event, this.#hiding.get(session)?.course);
    if (changed !== undefined && course !== "as-it-was") this.#hideLater(session, course);
    this.#tell(event);
  }

  #tell(event: PlimsollEvent): void {
    const own = this.#ofSession.get(event.session) ?? [];
    for (const handler of [...own, ...this.#ofAll]) handler(event);
  }

  /**
   * Changes by events are collected before they are drawn. Phases, and changes that do not come from an event, are drawn
   * immediately.
   */
  #set(id: string, state: RowState, by: "event" | "phase" | "page"): void {
    this.#known.set(id, state);
    if (by === "event") this.#rows.add(id);
    else if (by === "phase") this.#rows.flush(id);
    else this.#draw(id);
    if (this.#known.size > maxRows) this.#drop(oldestOf(this.#known));
  }

  #draw(id: string): void {
    const state = this.#known.get(id);
    if (state !== undefined) this.sessions.set(id, state);
  }

  #drop(id: string): void {
    this.#stay(id);
    this.#known.delete(id);
    this.sessions.delete(id);
  }

  #hideLater(id: string, course: PhaseCourse): void {
    this.#stay(id);
    const ms = hideAfterMs({ state: course }, this.settings.progress);
    const hide = (): void => {
      this.#hiding.delete(id);
      const known = this.#known.get(id);
      if (known !== undefined) this.#set(id, withoutPhase(known, this.settings), "page");
    };
    this.#hiding.set(id, { course, cancel: timing.later(hide, ms) });
  }

  /** Cancels the timer that would hide the phase. */
  #stay(id: string): void {
    this.#hiding.get(id)?.cancel();
    this.#hiding.delete(id);
  }

  #forgetRunning(): void {
    for (const [id, known] of this.#known) {
      if (known.running === undefined && known.phase === undefined) continue;
      this.#stay(id);
      this.#set(id, withoutRunning(known, this.settings), "page");
    }
  }

  async #list(after: string | undefined): Promise<void> {
    const started = this.#started;
    try {
      const { items, next } = await api.sessions(after);
      if (started !== this.#started) return;
      for (const row of items)
        this.#set(row.id, listedRow(row, this.#known.get(row.id), this.settings), "page");
      // Only the first read and reads of later pages set `next`. If the first page is read again, `next` must not move back.
      if (after !== undefined || this.listing.kind !== "ready")
        this.next = next === undefined ? undefined : String(next);
      this.listing = { kind: "ready" };
    } catch (error) {
      if (started === this.#started && this.sessions.size === 0)
        this.listing = { kind: "failed", sentence: sentenceOf(error) };
    }
  }

  async #readSettings(): Promise<void> {
    try {
      this.use(await api.config());
      this.mayConfigure = true;
    } catch (error) {
      // Users who may not read the settings see the defaults.
      if (error instanceof ApiError && error.status === 403) this.mayConfigure = false;
    }
  }
}

function oldestOf(rows: ReadonlyMap<string, RowState>): string {
  let oldest: RowState | undefined;
  for (const state of rows.values())
    if (oldest === undefined || state.orderedAt < oldest.orderedAt) oldest = state;
  return oldest?.row.id ?? "";
}

/** The error as a sentence for people. Sentences of the service may quote text from outside. */
export function sentenceOf(error: unknown): string {
  return error instanceof ApiError
    ? visible(error.message)
    : "Something went wrong. Reload the page.";
}

export const live: Live = new Live();
