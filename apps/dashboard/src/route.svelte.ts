/**
 * The current page, from the fragment of the address. If the fragment contains a token, the tab keeps the token, and it is
 * removed from the address immediately.
 */

import { type Route, routeOf } from "./route-of.ts";
import { keepToken, tokenInFragment } from "./token/tab-token.ts";

export function sessionPath(id: string, tab?: string): string {
  const rest = tab === undefined ? "" : `/${encodeURIComponent(tab)}`;
  return `#/session/${encodeURIComponent(id)}${rest}`;
}

/** A task or a ticket. */
export function itemPath(id: string): string {
  return `#/${id.startsWith("TK-") ? "tickets" : "tasks"}/${encodeURIComponent(id)}`;
}

class Place {
  route: Route = $state.raw({ page: "overview" });
  /** Number of tokens that were read from the address so far. When it changes, all data is read again with the new token. */
  tokensTaken: number = $state(0);

  follow(): () => void {
    const take = (): void => {
      const token = tokenInFragment(location.hash);
      if (token !== undefined) {
        keepToken(token);
        history.replaceState(null, "", `${location.pathname}${location.search}#/`);
        this.tokensTaken += 1;
      }
      this.route = routeOf(location.hash);
    };
    take();
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }
}

export const place: Place = new Place();
