/** Live events as server-sent events. A client that was disconnected gets the missed events from the store. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Engine } from "../../engine.ts";
import type { EmittedEvent } from "../../message/event.ts";
import type { Caller } from "../http/checks.ts";

/** Maximum number of unsent bytes. A reader that is too slow is disconnected, and reconnects from its last event. */
const maxUnsentBytes = 4 * 1024 * 1024;
const replayPage = 500;
const maxReplayed = 10_000;
const keepAliveMs = 15_000;

export interface Listening {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Aborted when the service shuts down. The stream then ends, and the client reconnects later. */
  readonly closing: AbortSignal;
}

export async function serveEvents(
  engine: Engine,
  { request, response, caller, closing }: Listening,
  { session }: { readonly session?: string },
): Promise<void> {
  const isWanted = ({ tenant, event }: EmittedEvent): boolean =>
    (caller.isOwner || tenant === caller.tenant) &&
    (session === undefined || event.session === session);
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  response.write(": plimsoll events\n\n");

  const send = ({ seq, event }: EmittedEvent): void => {
    const id = seq === undefined ? "" : `id: ${seq}\n`;
    if (response.writableEnded) return;
    response.write(`${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (response.writableLength > maxUnsentBytes) response.destroy();
  };
  // New events wait until the old ones have been read from the store, so that no event is lost or out of order.
  let waiting: EmittedEvent[] | undefined = [];
  let lastSent = 0;
  const unsubscribe = engine.subscribe((emitted) => {
    if (!isWanted(emitted)) return;
    if (waiting === undefined) send(emitted);
    else if (waiting.length < maxReplayed) waiting.push(emitted);
    else response.destroy();
  });
  keepOpen(response, closing, unsubscribe);

  const lastSeen = Number(request.headers["last-event-id"] ?? Number.NaN);
  if (Number.isSafeInteger(lastSeen)) {
    const replayed = await replay(engine, lastSeen, {
      ...(caller.isOwner ? {} : { tenant: caller.tenant }),
      ...(session === undefined ? {} : { session }),
      send,
    });
    lastSent = replayed.last;
    // The store has more events than one connection may replay. The reader reconnects and gets the next ones.
    if (!replayed.isAll) response.end();
  }
  for (const emitted of waiting) {
    if ((emitted.seq ?? Number.POSITIVE_INFINITY) > lastSent) send(emitted);
  }
  waiting = undefined;
}

/** Sends keep-alives, ends the stream when the service shuts down, and calls `onGone` when the reader is gone. */
function keepOpen(response: ServerResponse, closing: AbortSignal, onGone: () => void): void {
  const keepAlive = setInterval(() => response.write(": keep-alive\n\n"), keepAliveMs);
  const finish = (): void => void response.end();
  closing.addEventListener("abort", finish, { once: true });
  response.once("close", () => {
    onGone();
    clearInterval(keepAlive);
    closing.removeEventListener("abort", finish);
  });
}

interface Replay {
  readonly tenant?: string;
  readonly session?: string;
  readonly send: (event: EmittedEvent) => void;
}

interface Replayed {
  /** The number of the last event sent. */
  readonly last: number;
  readonly isAll: boolean;
}

async function replay(
  engine: Engine,
  lastSeen: number,
  { send, ...filter }: Replay,
): Promise<Replayed> {
  let last = lastSeen;
  for (let sent = 0; sent < maxReplayed; sent += replayPage) {
    const page = await engine.store.events({ ...filter, after: last, limit: replayPage });
    for (const event of page) send(event);
    last = page.at(-1)?.seq ?? last;
    if (page.length < replayPage) return { last, isAll: true };
  }
  return { last, isAll: false };
}
