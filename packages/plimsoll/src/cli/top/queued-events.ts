/**
 * Collects events that arrive faster than people can read. A session's events wait until its next redraw, but phases never wait.
 */

import type { PlimsollEvent } from "../../message/event.ts";
import { gather, type Timing } from "../../watch/gather.ts";

export interface QueuedEvents {
  readonly hear: (event: PlimsollEvent) => void;
  readonly close: () => void;
}

/** Maximum number of waiting events per session. When it is reached, all of them are shown immediately. */
const mostQueued = 200;

/** Contract: each event is shown once, and the events of a session keep their order. */
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
