/** Where the page is, by the fragment of its address. A token in it is taken, kept for the tab, and removed at once. */

import { type Route, routeOf } from "./route-of.ts";
import { keepToken, tokenInFragment } from "./token/tab-token.ts";

export function sessionPath(id: string, tab?: string): string {
  const rest = tab === undefined ? "" : `/${encodeURIComponent(tab)}`;
  return `#/session/${encodeURIComponent(id)}${rest}`;
}

class Place {
  route: Route = $state.raw({ page: "overview" });
  /** How many tokens came in an address: what was read with another is read again. */
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
