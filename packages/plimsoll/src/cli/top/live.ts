/** `plimsoll top` while it runs: news from the service updates the state, and keys send actions to the service. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { ContextBreakingUpdateEvent, PlimsollEvent } from "../../message/event.ts";
import type { Connection } from "../../watch/event-stream.ts";
import { oneAtATime } from "../../watch/one-at-a-time.ts";
import { followOpenTickets } from "../../watch/open-tickets.ts";
import { hideAfterMs, isLastPhase } from "../../watch/phase-words.ts";
import { isListedEnd, type RowSettings, settingsOf } from "../../watch/row-state.ts";
import { staleAfter } from "../../watch/stale.ts";
import { isAboutWork } from "../../watch/work-words.ts";
import type { TopClient } from "./client.ts";
import { editSteps } from "./edits.ts";
import { type Command, type Key, press } from "./keys.ts";
import { queueEvents } from "./queued-events.ts";
import { type Looked, type News, type Note, type TopState, withNews } from "./state.ts";
import { timing } from "./timing.ts";

export interface Live {
  readonly read: () => TopState;
  readonly subscribe: (changed: () => void) => () => void;
  readonly press: (key: Key) => void;
  readonly hear: (event: PlimsollEvent) => void;
  readonly link: (link: Connection) => void;
  readonly dispatch: (news: News) => void;
  /** Stops everything. From then on, nothing is drawn or requested. */
  close(): void;
}

export interface LiveOptions {
  readonly start: TopState;
  readonly client: TopClient;
  readonly quit: () => void;
}

export async function lookAt(client: TopClient, session: string): Promise<Looked> {
  const [picture, edits] = await Promise.all([client.window(session), client.edits(session)]);
  return { session, picture, steps: editSteps(edits) };
}

export function createLive({ start, client, quit }: LiveOptions): Live {
  let state = start;
  let isClosed = false;
  const listeners = new Set<() => void>();

  const set = (next: TopState): void => {
    const { selected } = state;
    state = next;
    for (const changed of listeners) changed();
    if (next.selected !== selected) reading.look();
  };
  const dispatch = (news: News): void => {
    if (!isClosed) set(withNews(state, news));
  };
  const reading = createReading(client, () => state, dispatch);
  const phases = createPhaseTimers(dispatch);
  const tickets = followOpenTickets({
    list: client.openTickets,
    show: (open) => dispatch({ kind: "tickets", tickets: open }),
  });
  const shown = (event: PlimsollEvent): void => {
    if (event.type === "settings-changed") {
      reading.configure();
      return;
    }
    tickets.hear(event);
    if (isAboutWork(event)) return;
    const known = state.rows.get(event.session);
    const isUnknown = known === undefined && event.type !== "session-start";
    dispatch({ kind: "event", event });
    if (isUnknown || isListedEnd(known, event)) reading.list();
    if (event.type === "context-breaking-update") phases.entered(event, state.settings);
    if (event.session === state.selected && staleAfter(event).includes("window")) reading.look();
  };
  const gathering = queueEvents(shown, timing);
  const carryOut = async (command: Extract<Command, { kind: "act" }>): Promise<void> => {
    const { session, text } = command;
    dispatch({ kind: "acting", text });
    const note = await client.act(session, command).catch(failure);
    dispatch({ kind: "acted", session, note });
    reading.look();
  };

  return {
    read: () => state,
    subscribe: (changed) => {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
    press: (key) => {
      const pressed = press(state, key);
      set(pressed.state);
      if (pressed.command?.kind === "quit") quit();
      if (pressed.command?.kind === "act") void carryOut(pressed.command);
    },
    hear: gathering.hear,
    link: (link) => {
      dispatch({ kind: "link", link });
      // The event stream is open, so no change after this read is missed.
      if (link.kind === "live") {
        reading.all();
        tickets.read();
      }
    },
    dispatch,
    close: () => {
      isClosed = true;
      gathering.close();
      phases.close();
      tickets.close();
      listeners.clear();
    },
  };
}

interface Reading {
  readonly look: () => void;
  readonly list: () => void;
  readonly configure: () => void;
  readonly all: () => void;
}

function createReading(
  client: TopClient,
  read: () => TopState,
  dispatch: (news: News) => void,
): Reading {
  // If the service is not reachable, the header already shows that.
  const failed = (error: unknown): void => {
    if (read().link.kind === "live") dispatch({ kind: "note", note: failure(error) });
  };
  const look = oneAtATime<void>(async () => {
    const { selected } = read();
    if (selected === undefined) return;
    try {
      dispatch({ kind: "looked", looked: await lookAt(client, selected) });
    } catch (error) {
      if (PlimsollError.is(error) && error.code === "SESSION_UNKNOWN")
        dispatch({ kind: "gone", session: selected });
      else failed(error);
    }
  });
  const list = oneAtATime<void>(async () => {
    await client.sessions().then((found) => dispatch({ kind: "listed", list: found }), failed);
  });
  const configure = oneAtATime<void>(async () => {
    // Only the owner may read the settings. For other users, the defaults apply.
    const config = await client.config().catch(() => undefined);
    if (config !== undefined) dispatch({ kind: "settings", settings: settingsOf(config) });
  });
  const all = (): void => {
    list.ask();
    look.ask();
    configure.ask();
  };
  return { look: look.ask, list: list.ask, configure: configure.ask, all };
}

/** Removes phases after some time, with one timer for each session that shows a phase. */
function createPhaseTimers(dispatch: (news: News) => void): {
  readonly entered: (event: ContextBreakingUpdateEvent, settings: RowSettings) => void;
  readonly close: () => void;
} {
  const timers = new Map<string, () => void>();
  return {
    entered: (event, { progress }) => {
      const { session, at } = event;
      timers.get(session)?.();
      const over = (): void => {
        timers.delete(session);
        dispatch({ kind: "phase-over", session, at });
      };
      const state = isLastPhase(event) ? "done" : "running";
      timers.set(session, timing.later(over, hideAfterMs({ state }, progress)));
    },
    close: () => {
      for (const cancel of timers.values()) cancel();
    },
  };
}

function failure(error: unknown): Note {
  const { name } = error instanceof Error ? error : { name: "" };
  if (name === "TimeoutError")
    return {
      tone: "refused",
      text: "The service did not answer in time. It may still carry out the action.",
    };
  return {
    tone: "refused",
    text: PlimsollError.is(error)
      ? errorMessage(error)
      : `The service could not be reached: ${errorMessage(error)}.`,
  };
}
