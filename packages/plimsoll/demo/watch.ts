/** Watches the service as a dashboard does: over /events. What is shown while the demo plays, and counted at its end, comes from there. */

import { setTimeout as wait } from "node:timers/promises";
import type { CompactionEndEvent, PlimsollEvent, TurnEndEvent } from "../src/message/event.ts";
import { receivedEvents } from "./event-stream.ts";

export interface Watched {
  /** Oldest first. */
  readonly turns: readonly TurnEndEvent[];
  readonly compactions: readonly CompactionEndEvent[];
  /** Resolves when so many turns were announced. Contract: rejects after a while, with a sentence. */
  settled(turns: number): Promise<void>;
}

export interface WatchWish {
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
  onEvent(event: PlimsollEvent): void;
}

const reconnectMs = 200;
const settleMs = 10_000;
const settleStepMs = 50;

export async function watchEvents(wish: WatchWish): Promise<Watched> {
  const turns: TurnEndEvent[] = [];
  const compactions: CompactionEndEvent[] = [];
  const take = (event: PlimsollEvent): void => {
    if (event.type === "turn-end") turns.push(event);
    if (event.type === "compaction-end") compactions.push(event);
    wish.onEvent(event);
  };
  await listen(wish, take);
  return {
    turns,
    compactions,
    settled: async (expected) => {
      for (let waited = 0; turns.length < expected; waited += settleStepMs) {
        if (waited > settleMs)
          throw new Error(
            `The service announced ${turns.length} of ${expected} turns: see \`plimsoll doctor\`.`,
          );
        await wait(settleStepMs);
      }
    },
  };
}

/** Resolves when the stream is open; goes on from the last event when it breaks off, until the signal. */
async function listen(wish: WatchWish, take: (event: PlimsollEvent) => void): Promise<void> {
  let lastId = "0";
  const open = (): Promise<Response> =>
    fetch(`${wish.url}/events`, {
      headers: { authorization: `Bearer ${wish.token}`, "last-event-id": lastId },
      signal: wish.signal,
    });
  const read = async (response: Response): Promise<void> => {
    for await (const { id, data } of receivedEvents(response)) {
      lastId = id ?? lastId;
      take(JSON.parse(data) as PlimsollEvent);
    }
  };
  const first = await open();
  if (!first.ok) throw new Error(`GET /events answered ${first.status}.`);
  const follow = async (): Promise<void> => {
    for (let response = first; !wish.signal.aborted; response = await open()) {
      await read(response);
      await wait(reconnectMs, undefined, { signal: wish.signal });
    }
  };
  // What comes too late is noticed by whoever waits for it.
  follow().catch(() => undefined);
}
