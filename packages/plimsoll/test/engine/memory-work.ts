/** Tasks and tickets in a store in memory, as one tenant sees them. */

import { createEventBus } from "../../src/session/log/event-bus.ts";
import type { CallerWork } from "../../src/session/work/caller-work.ts";
import { createWork } from "../../src/session/work/work.ts";
import { createMemoryStore } from "../../src/store/memory.ts";

/** `waitMs` is the time for which a question waits. */
export function memoryWork({ waitMs = 0 } = {}): CallerWork {
  const work = createWork({
    store: createMemoryStore(),
    bus: createEventBus(),
    now: Date.now,
    questionPolicy: () => ({ attempts: 2, baseMs: waitMs, maxMs: waitMs }),
  });
  return work.of({ tenant: "alice", isOwner: false });
}
