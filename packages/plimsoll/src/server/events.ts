/** Events as they happen, over server-sent events; a client that was away catches up from the store. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { EmittedEvent } from "../message/event.ts";
import type { Plimsoll } from "../session/plimsoll.ts";
import type { Caller } from "./checks.ts";

/** Beyond this much unsent, the reader is too slow: it is cut off, and asks again from its last event. */
const maxUnsentBytes = 4 * 1024 * 1024;
const replayPage = 500;
const maxReplayed = 10_000;
const keepAliveMs = 15_000;

export async function serveEvents(
  plimsoll: Plimsoll,
  {
    request,
    response,
    caller,
  }: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly caller: Caller;
  },
  query: URLSearchParams,
): Promise<void> {
  const session = query.get("session") ?? undefined;
  const isWanted = ({ tenant, event }: EmittedEvent): boolean =>
    (caller.isOwner || tenant === caller.tenant) &&
    (session === undefined || event.session === session);
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.write(": plimsoll events\n\n");

  const send = ({ seq, event }: EmittedEvent): void => {
    const id = seq === undefined ? "" : `id: ${seq}\n`;
    response.write(`${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (response.writableLength > maxUnsentBytes) response.destroy();
  };
  // What happens while the past is read waits, so that nothing is lost or out of order.
  let waiting: EmittedEvent[] | undefined = [];
  let lastSent = 0;
  const unsubscribe = plimsoll.subscribe((emitted) => {
    if (!isWanted(emitted)) return;
    if (waiting !== undefined) waiting.push(emitted);
    else send(emitted);
  });
  const keepAlive = setInterval(() => response.write(": keep-alive\n\n"), keepAliveMs);
  response.once("close", () => {
    unsubscribe();
    clearInterval(keepAlive);
  });

  const lastSeen = Number(request.headers["last-event-id"] ?? Number.NaN);
  if (Number.isSafeInteger(lastSeen)) {
    lastSent = await replay(plimsoll, lastSeen, {
      ...(caller.isOwner ? {} : { tenant: caller.tenant }),
      ...(session === undefined ? {} : { session }),
      send,
    });
  }
  for (const emitted of waiting)
    if ((emitted.seq ?? Number.POSITIVE_INFINITY) > lastSent) send(emitted);
  waiting = undefined;
}

interface Replay {
  readonly tenant?: string;
  readonly session?: string;
  readonly send: (event: EmittedEvent) => void;
}

/** Gives the number of the last event that was sent. */
async function replay(
  plimsoll: Plimsoll,
  lastSeen: number,
  { send, ...filter }: Replay,
): Promise<number> {
  let after = lastSeen;
  for (let sent = 0; sent < maxReplayed; sent += replayPage) {
    const page = await plimsoll.store.events({ ...filter, after, limit: replayPage });
    for (const event of page) send(event);
    after = page.at(-1)?.seq ?? after;
    if (page.length < replayPage) break;
  }
  return after;
}
