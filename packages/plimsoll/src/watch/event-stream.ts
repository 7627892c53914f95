/**
 * Receives live events over `fetch`, because EventSource cannot send a token. If the connection breaks, the stream reconnects by
 * itself and continues where it stopped. Pure: network, clock and randomness are passed in.
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { pauseAfter } from "../bounds/growing-pause.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { isObject, parseObject } from "../message/json.ts";
import type { Timing } from "./gather.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** The stream is down. It is opened again after `retryMs` milliseconds. */
  | { readonly kind: "waiting"; readonly retryMs: number }
  /** The service does not know the token. */
  | { readonly kind: "refused"; readonly sentence: string };

export interface EventStreamOptions {
  /** Returns the address of the service, or undefined if no service is running. Called before each attempt. */
  readonly locate: () => string | undefined | Promise<string | undefined>;
  readonly token: () => string;
  readonly fetch: (
    address: string,
    init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ) => Promise<Response>;
  readonly later: Timing["later"];
  /**
   * A number from 0 to 1. It makes each wait up to a quarter shorter or longer, so that clients do not all reconnect at once. If
   * undefined, the waits are exact.
   */
  readonly random?: () => number;
  readonly whenRefused: "stops" | "tries-again";
  readonly onEvent: (event: PlimsollEvent) => void;
  readonly onState: (state: Connection) => void;
}

export interface EventStream {
  /** Ends the stream. No callback is called after this. */
  close(): void;
}

const pause = { baseMs: 500, maxMs: 5000 };
/** Maximum length of an event in characters. The service never sends a longer one. */
const longestEvent = 8 * 1024 * 1024;
/** Time in milliseconds after which a silent stream is treated as dead. The service sends something every 15 seconds. */
const silenceMs = 45_000;

/** The wait before an attempt, in milliseconds. The waits are 0.5, 1, 2, 4, 5, 5 … seconds long. */
export function waitBefore(attempt: number, random: number = 0.5): number {
  return Math.round(pauseAfter(pause, attempt) * (0.75 + random / 2));
}

type Outcome = { readonly kind: "ended" } | Extract<Connection, { readonly kind: "refused" }>;

function ask(
  { token, fetch: send }: EventStreamOptions,
  place: string,
  { lastId, signal }: { readonly lastId: string | undefined; readonly signal: AbortSignal },
): Promise<Response> {
  return send(`${place}/events`, {
    headers: {
      authorization: `Bearer ${token()}`,
      accept: "text/event-stream",
      ...(lastId === undefined ? {} : { "last-event-id": lastId }),
    },
    signal,
  });
}

export function openEvents(options: EventStreamOptions): EventStream {
  const { locate, later, random, whenRefused } = options;
  let closing = new AbortController();
  let isClosed = false;
  let lastId: string | undefined;
  let attempt = 0;
  let cancelWait = (): void => undefined;

  // After `close`, no state is reported, because another stream may have taken the place of this one.
  const onState = (state: Connection): void => {
    if (!isClosed) options.onState(state);
  };
  const take = ({ id, data }: EventSourceMessage): void => {
    const event = eventIn(data);
    if (id) lastId = id;
    if (event !== undefined && !isClosed) options.onEvent(event);
  };

  /** Contract: resolves or rejects when the stream has ended, for whatever reason. */
  const listen = async (): Promise<Outcome> => {
    const place = await locate();
    if (place === undefined) return { kind: "ended" };
    const response = await ask(options, place, { lastId, signal: closing.signal });
    if (response.status === 401 || response.status === 403)
      return { kind: "refused", sentence: sentenceIn(await response.text()) };
    if (!response.ok || response.body === null) return { kind: "ended" };
    attempt = 0;
    onState({ kind: "live" });
    await readAll(response.body, { take, later, abort: () => closing.abort() });
    return { kind: "ended" };
  };

  const connect = async (): Promise<void> => {
    closing = new AbortController();
    onState({ kind: "connecting" });
    const outcome = await listen().catch((): Outcome => ({ kind: "ended" }));
    closing.abort();
    if (isClosed) return;
    const retryMs = waitBefore(attempt, random?.());
    if (outcome.kind === "ended" || whenRefused === "tries-again") {
      attempt += 1;
      cancelWait = later(() => void connect(), retryMs);
    }
    onState(outcome.kind === "refused" ? outcome : { kind: "waiting", retryMs });
  };

  void connect();
  return {
    close: () => {
      isClosed = true;
      cancelWait();
      closing.abort();
    },
  };
}

interface Reading {
  readonly take: (message: EventSourceMessage) => void;
  readonly later: Timing["later"];
  readonly abort: () => void;
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  { take, later, abort }: Reading,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let isTooLong = false;
  const parser = createParser({
    onEvent: take,
    maxBufferSize: longestEvent,
    onError: ({ type }) => {
      isTooLong ||= type === "max-buffer-size-exceeded";
    },
  });
  while (!isTooLong) {
    const stopWatching = later(abort, silenceMs);
    const { done, value } = await reader.read().finally(stopWatching);
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
  }
}

/** The event in the data. Undefined if the data is not an event. Such data is skipped. */
function eventIn(data: string): PlimsollEvent | undefined {
  const event = parseObject(data);
  const isEvent = typeof event?.["type"] === "string" && typeof event["session"] === "string";
  return isEvent ? (event as unknown as PlimsollEvent) : undefined;
}

/** The error message in the service's answer. */
function sentenceIn(answer: string): string {
  const error = parseObject(answer)?.["error"];
  const message = isObject(error) ? error["message"] : undefined;
  return typeof message === "string" ? message : "The service does not know this token.";
}
