/** Passes events to subscribers until they unsubscribe. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { EmittedEvent, PlimsollEventType } from "../../message/event.ts";

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

/** A record and not a list, so that the compiler reports a missing type. */
const eventTypes: Readonly<Record<PlimsollEventType, true>> = {
  "session-start": true,
  "branch-start": true,
  "turn-start": true,
  "turn-end": true,
  "own-call": true,
  "own-tools-renamed": true,
  "context-warning": true,
  "budget-raised": true,
  "context-breaking-update": true,
  "compaction-end": true,
  "summary-prepared": true,
  recovery: true,
  degraded: true,
  failover: true,
  overflow: true,
  "guard-enforced": true,
  "view-steered": true,
  "store-error": true,
  "store-spoilt": true,
  "tools-deferred": true,
  "tools-loaded": true,
  "session-forgotten": true,
  "retention-spared": true,
  "settings-changed": true,
  "tasks-changed": true,
  "tickets-changed": true,
  "agent-state-changed": true,
  "answer-cut": true,
};

/** A handler for an event that does not exist would never be called, and nobody would notice. */
export function checkEventType(type: string): void {
  if (Object.hasOwn(eventTypes, type)) return;
  const known = Object.keys(eventTypes);
  const meant = known.find((one) => lettersOf(one) === lettersOf(type));
  const advice =
    meant === undefined ? `The events are ${known.join(", ")}.` : `Did you mean "${meant}"?`;
  throw new PlimsollError("USAGE", `There is no event "${type}". ${advice}`);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, "");
}
