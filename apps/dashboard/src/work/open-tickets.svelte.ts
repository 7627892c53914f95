/** The number of open tickets, for the navigation. */

import {
  type FollowedTickets,
  followOpenTickets,
  openTicketCount,
} from "plimsoll/watch/open-tickets";
import { api } from "../api.ts";
import { live } from "../live.svelte.ts";

class OpenTicketCount {
  /** For example `3` or `100+`. Empty if there are none, or if nobody has read them yet. */
  words: string = $state("");
  readonly #followed: FollowedTickets = followOpenTickets({
    list: () => api.tickets({ status: "open" }),
    show: (open) => {
      this.words = open.ids.size === 0 ? "" : openTicketCount(open);
    },
  });

  /** Needed with each new connection. */
  read(): void {
    this.#followed.read();
  }

  /** Follows the events. Returns a function that stops. */
  follow(): () => void {
    return live.onEvent((event) => this.#followed.hear(event));
  }
}

export const openTickets: OpenTicketCount = new OpenTicketCount();
