/** The token of this tab: it comes in the fragment of the address, and goes when the tab is closed. */

const key = "plimsoll.token";
/** Where the browser keeps nothing for us, it lives as long as the page. */
let inMemory = "";

/** Empty: there is none. */
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
    // Storage is switched off: kept in memory.
  }
}

/** `#token=…`, as `plimsoll serve` prints it; undefined: the fragment is something else. */
export function tokenInFragment(hash: string): string | undefined {
  const found = /^#token=([^&/]+)$/.exec(hash)?.[1];
  if (found === undefined) return undefined;
  try {
    return decodeURIComponent(found);
  } catch {
    return found;
  }
}
