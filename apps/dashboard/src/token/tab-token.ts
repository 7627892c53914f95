/** The token of this tab. It comes from the fragment of the address, and is forgotten when the tab is closed. */

const key = "plimsoll.token";
/** The token, if the browser's storage is disabled. It then lasts only as long as the page. */
let inMemory = "";

/** The token. Empty if the tab has none. */
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

/** The token in a fragment `#token=…`, as `plimsoll serve` prints it. Undefined if the fragment is something else. */
export function tokenInFragment(hash: string): string | undefined {
  const found = /^#token=([^&/]+)$/.exec(hash)?.[1];
  if (found === undefined) return undefined;
  try {
    return decodeURIComponent(found);
  } catch {
    return found;
  }
}
