/**
 * Counts the open tickets. The list is read once, and events change the count. Events that arrive during a read are applied to
 * its answer, so none is lost.
 */

import type { Listed, Ticket } from "../message/api.ts";
import type { PlimsollEvent, TicketsChangedEvent } from "../message/event.ts";
import { grouped } from "../text/digits.ts";
import { oneAtATime } from "./one-at-a-time.ts";

export interface OpenTickets {
  readonly ids: ReadonlySet<string>;
  /** True if the service has more open tickets than one page lists. */
  readonly hasMore: boolean;
}

export interface FollowedTickets {
  /** Reads the list. Needed at the start, and whenever events may have been missed. */
  read(): void;
  hear(event: PlimsollEvent): void;
  close(): void;
}

export interface TicketSource {
  /** The first page of open tickets. */
  readonly list: () => Promise<Listed<Ticket>>;
  readonly show: (open: OpenTickets) => void;
}

/** For example `3`, or `100+`. */
export function openTicketCount({ ids, hasMore }: OpenTickets): string {
  return `${grouped(ids.size)}${hasMore ? "+" : ""}`;
}

export function followOpenTickets({ list, show }: TicketSource): FollowedTickets {
  let open: OpenTickets | undefined;
  let heard: TicketsChangedEvent[] | undefined;
  const set = (next: OpenTickets): void => {
    open = next;
    show(next);
  };
  const reading = oneAtATime<void>(async (_, signal) => {
    heard = [];
    // If the list cannot be read, the old count stays. The next connection reads the list again.
    const answer = await list().catch(() => undefined);
    const since = heard;
    heard = undefined;
    if (answer !== undefined && !signal.aborted)
      set(since.reduce(withTicketEvent, openTicketsIn(answer)));
  });
  return {
    read: reading.ask,
    hear: (event) => {
      // With a session, its tickets are deleted, and no event says which.
      if (event.type === "session-forgotten") reading.ask();
      if (event.type !== "tickets-changed") return;
      heard?.push(event);
      if (open !== undefined) set(withTicketEvent(open, event));
    },
    close: reading.close,
  };
}

export function openTicketsIn({ items, next }: Listed<Ticket>): OpenTickets {
  return { ids: new Set(items.map(({ id }) => id)), hasMore: next !== undefined };
}

function withTicketEvent(
  open: OpenTickets,
  { ticketId, action }: TicketsChangedEvent,
): OpenTickets {
  if (action === "update") return open;
  const ids = new Set(open.ids);
  if (action === "create") ids.add(ticketId);
  else ids.delete(ticketId);
  return { ...open, ids };
}
