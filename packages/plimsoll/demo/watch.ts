/** Watches the service over /events, as a dashboard does. The demo's lines and the counts in its report come from these events. */

import { setTimeout as wait } from "node:timers/promises";
import type { CompactionEndEvent, PlimsollEvent, TurnEndEvent } from "../src/message/event.ts";
import { receivedEvents } from "./event-stream.ts";

export interface Watched {
  /** Oldest first. */
  readonly turns: readonly TurnEndEvent[];
  readonly compactions: readonly CompactionEndEvent[];
  /**
   * Resolves when that number of turns was announced, and each compaction among them. A compaction is announced after its turn,
   * because its receipt takes time. Contract: rejects with a sentence after ten seconds.
   */
  settled(turns: number): Promise<void>;
}

export interface WatchOptions {
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
  onEvent(event: PlimsollEvent): void;
}

const reconnectMs = 200;
const settleMs = 10_000;
const settleStepMs = 50;

export async function watchEvents(options: WatchOptions): Promise<Watched> {
  const turns: TurnEndEvent[] = [];
  const compactions: CompactionEndEvent[] = [];
  const take = (event: PlimsollEvent): void => {
    if (event.type === "turn-end") turns.push(event);
    if (event.type === "compaction-end") compactions.push(event);
    options.onEvent(event);
  };
  await listen(options, take);
  return {
    turns,
    compactions,
    settled: async (expected) => {
      const missing = (): readonly TurnEndEvent[] =>
        turns.filter(
          ({ outcome, turn: id }) =>
            outcome === "compacted" && !compactions.some(({ turn }) => turn === id),
        );
      for (
        let waited = 0;
        turns.length < expected || missing().length > 0;
        waited += settleStepMs
      ) {
        if (waited > settleMs)
          throw new Error(
            `The service announced ${turns.length} of ${expected} turns; ${missing().length} compactions are missing: see \`plimsoll doctor\`.`,
          );
        await wait(settleStepMs);
      }
    },
  };
}

/** Resolves when the stream is open. If the stream breaks, reconnects and continues after the last event, until the signal. */
async function listen(options: WatchOptions, take: (event: PlimsollEvent) => void): Promise<void> {
  let lastId = "0";
  const open = (): Promise<Response> =>
    fetch(`${options.url}/events`, {
      headers: { authorization: `Bearer ${options.token}`, "last-event-id": lastId },
      signal: options.signal,
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
    for (let response = first; !options.signal.aborted; response = await open()) {
      await read(response);
      await wait(reconnectMs, undefined, { signal: options.signal });
    }
  };
  // An error here needs no handling: `settled` notices missing events.
  follow().catch(() => undefined);
}
