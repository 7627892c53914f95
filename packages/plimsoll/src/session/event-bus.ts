/** Hands events to subscribers. One that falls behind is let go: it can catch up from the store. */

import { errorMessage } from "../message/error.ts";
import type { EmittedEvent } from "../message/event.ts";

export interface EventBus {
  emit(event: EmittedEvent): void;
  subscribe(handler: (event: EmittedEvent) => void): () => void;
  readonly size: number;
}

const maxSubscribers = 1000;

export function createEventBus(): EventBus {
  const handlers = new Set<(event: EmittedEvent) => void>();
  return {
    emit: (event) => {
      for (const handler of [...handlers]) deliver(handlers, handler, event);
    },
    subscribe: (handler) => {
      if (handlers.size >= maxSubscribers)
        throw new RangeError(`More than ${maxSubscribers} subscribers.`);
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    get size() {
      return handlers.size;
    },
  };
}

/** A subscriber that throws must not take the turn with it, nor be called again. */
function deliver(
  handlers: Set<(event: EmittedEvent) => void>,
  handler: (event: EmittedEvent) => void,
  event: EmittedEvent,
): void {
  try {
    handler(event);
  } catch (error) {
    handlers.delete(handler);
    process.emitWarning(`An event subscriber was removed because it threw: ${errorMessage(error)}`);
  }
}
