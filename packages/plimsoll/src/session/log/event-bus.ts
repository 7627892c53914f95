/** Hands events to subscribers, until they want no more. */

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
  /** It threw at the last event: that was said, and is not said again until it has heard one without throwing. */
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
        throw new RangeError(`More than ${maxSubscribers} subscribers.`);
      const subscriber = { handler, isThrowing: false };
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
    get size() {
      return subscribers.size;
    },
  };
}

/** A subscriber that throws must not take the turn with it. One event that it cannot read is no reason to keep the next from it. */
function deliver(subscriber: Subscriber, event: EmittedEvent): void {
  try {
    subscriber.handler(event);
    subscriber.isThrowing = false;
  } catch (error) {
    if (!subscriber.isThrowing)
      process.emitWarning(
        `An event subscriber threw at "${event.event.type}": ${errorMessage(error)}`,
      );
    subscriber.isThrowing = true;
  }
}
