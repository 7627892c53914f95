/** The token of this tab. It comes in the fragment of the address and is forgotten when the tab is closed. */

const key = "plimsoll.token";
/** If the browser stores nothing, the token lasts as long as the page. */
let inMemory = "";

/** Empty if there is none. */
export function tabToken(): string {
  try {
    return sessionStorage.getItem(key) ?? inMemory;
  } catch {
    return inMemory;
  }
}

export function keepToken(token: string): void {
  inMemory = token;
  try {
    if (token === "") sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, token);
  } catch {
    // Storage is disabled, so the token stays in memory.
  }
}

/** `#token=…`, as `plimsoll serve` prints it. Undefined if the fragment is something else. */
export function tokenInFragment(hash: string): string | undefined {
  const found = /^#token=([^&/]+)$/.exec(hash)?.[1];
  if (found === undefined) return undefined;
  try {
    return decodeURIComponent(found);
  } catch {
    return found;
  }
}
