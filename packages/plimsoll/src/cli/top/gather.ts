/**
 * What happens faster than people read: the first event of a session is shown at once, later ones together when its time has
 * passed, phases always at once. Pure: the time is told.
 */

import type { PlimsollEvent } from "../../message/event.ts";

/** Only sessions that were drawn less than `everyMs` ago are in it. */
export interface Gathered {
  readonly drawn: ReadonlyMap<
    string,
    { readonly at: number; readonly held: readonly PlimsollEvent[] }
  >;
}

export interface Ready {
  readonly gathered: Gathered;
  /** To be shown now, in the order in which they came. */
  readonly events: readonly PlimsollEvent[];
}

const everyMs = 500;
/** Of one session; with more the time has not to be waited for. */
const mostHeld = 200;

export const nothingGathered: Gathered = { drawn: new Map() };

export function gather({ drawn }: Gathered, event: PlimsollEvent, now: number): Ready {
  const { session } = event;
  const known = drawn.get(session);
  const held = [...(known?.held ?? []), event];
  const isDue =
    known === undefined ||
    event.type === "context-breaking-update" ||
    now - known.at >= everyMs ||
    held.length >= mostHeld;
  const entry = isDue ? { at: now, held: [] } : { at: known.at, held };
  return {
    gathered: { drawn: new Map(drawn).set(session, entry) },
    events: isDue ? held : [],
  };
}

/** What has waited long enough. */
export function release({ drawn }: Gathered, now: number): Ready {
  const due = [...drawn].filter(([, { at }]) => now - at >= everyMs);
  const left = new Map(drawn);
  for (const [session, { held }] of due) {
    if (held.length === 0) left.delete(session);
    else left.set(session, { at: now, held: [] });
  }
  return { gathered: { drawn: left }, events: due.flatMap(([, { held }]) => held) };
}

/** When to ask again; undefined: nothing waits. */
export function nextRelease({ drawn }: Gathered): number | undefined {
  const times = [...drawn.values()].map(({ at }) => at + everyMs);
  return times.length === 0 ? undefined : Math.min(...times);
}
