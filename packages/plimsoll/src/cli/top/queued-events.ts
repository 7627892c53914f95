/** What happens faster than people read: events of a session are held until it is drawn again, phases never. */

import type { PlimsollEvent } from "../../message/event.ts";
import { gather, type Timing } from "../../watch/gather.ts";

export interface QueuedEvents {
  readonly hear: (event: PlimsollEvent) => void;
  readonly close: () => void;
}

/** Of one session; with more the time has not to be waited for. */
const mostQueued = 200;

/** Contract: each event is shown once, those of a session in the order in which they came. */
export function queueEvents(show: (event: PlimsollEvent) => void, timing: Timing): QueuedEvents {
  const queued = new Map<string, PlimsollEvent[]>();
  const gathering = gather((session) => {
    const events = queued.get(session) ?? [];
    queued.delete(session);
    for (const event of events) show(event);
  }, timing);
  return {
    hear: (event) => {
      const { session, type } = event;
      const events = [...(queued.get(session) ?? []), event];
      queued.set(session, events);
      const mayWait = type !== "context-breaking-update" && events.length < mostQueued;
      if (mayWait) gathering.add(session);
      else gathering.flush(session);
    },
    close: gathering.close,
  };
}
