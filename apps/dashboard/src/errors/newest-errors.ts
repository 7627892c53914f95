/** Decides which errors are shown, and which events may mean that there are new ones. */

import type { PlimsollEvent } from "plimsoll/events";
import type { ErrorRow } from "../api.ts";

/** Sorts errors, newest first. Errors with the same time keep the service's order, which is also newest first. */
export function newestFirst(items: readonly ErrorRow[]): readonly ErrorRow[] {
  return items.toSorted((one, other) => other.at - one.at);
}

/**
 * Whether the event may mean that there is a new error. Errors have no event of their own, but one of these events comes with
 * each error.
 */
export function mayHaveFailed(event: PlimsollEvent): boolean {
  switch (event.type) {
    case "degraded":
    case "overflow":
    case "recovery":
    case "guard-enforced":
    case "store-error":
    case "store-spoilt":
      return true;
    case "turn-end":
      return event.error !== undefined || event.status === "failed";
    default:
      return false;
  }
}
