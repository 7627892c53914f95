/** Passes events to subscribers until they unsubscribe. */

import { errorMessage } from "../../message/error.ts";
import type { EmittedEvent } from "../../message/event.ts";

export interface EventBus {
  emit(event: EmittedEvent): void;
  subscribe(handler: (event: EmittedEvent) => void): () => void;
  readonly size: number;
}

type Handler = (event: EmittedEvent) => void;

interface Subscriber {
  readonly handler: Handler;
  /** Whether the subscriber threw on the last event. Plimsoll warns only once until the subscriber has handled an event again. */
  isThrowing: boolean;
}

const maxSubscribers = 1000;

export function createEventBus(): EventBus {
  const subscribers = new Set<Subscriber>();
  return {
    emit: (event) => {
      for (const subscriber of [...subscribers]) deliver(subscriber, event);
    },
    subscribe: (handler) => {
      if (subscribers.size >= maxSubscribers)
        throw new RangeError(
          `There are already ${maxSubscribers} event subscribers, the maximum. Unsubscribe one first.`,
        );
      const subscriber = { handler, isThrowing: false };
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
    get size() {
      return subscribers.size;
    },
  };
}

/**
 * Delivers an event. If a subscriber throws, the turn must not fail. The subscriber still gets the next event, because it may
 * have failed only on this one.
 */
function deliver(subscriber: Subscriber, event: EmittedEvent): void {
  try {
    subscriber.handler(event);
    subscriber.isThrowing = false;
  } catch (error) {
    if (!subscriber.isThrowing)
      process.emitWarning(
        `An event subscriber threw an error on "${event.event.type}": ${errorMessage(error)}`,
      );
    subscriber.isThrowing = true;
  }
}
