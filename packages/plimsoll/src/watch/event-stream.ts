/**
 * Events as they happen, over `fetch`, because EventSource cannot send a token: a stream that comes back by itself, from where
 * it was. Pure: network, clock and chance are told.
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { pauseAfter } from "../bounds/growing-pause.ts";
import type { PlimsollEvent } from "../message/event.ts";
import { isObject, parseObject } from "../message/json.ts";
import type { Timing } from "./gather.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Tries again after so long. */
  | { readonly kind: "waiting"; readonly retryMs: number }
  /** The token is not known. */
  | { readonly kind: "refused"; readonly sentence: string };

export interface EventStreamOptions {
  /** Where the service is, asked before each try; undefined: nowhere. */
  readonly locate: () => string | undefined | Promise<string | undefined>;
  readonly token: () => string;
  readonly fetch: (
    address: string,
    init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ) => Promise<Response>;
  readonly later: Timing["later"];
  /** 0…1: each wait is up to a quarter shorter or longer, so that not all come back at once. Absent: exact. */
  readonly random?: () => number;
  readonly whenRefused: "stops" | "tries-again";
  readonly onEvent: (event: PlimsollEvent) => void;
  readonly onState: (state: Connection) => void;
}

export interface EventStream {
  /** Nothing is told any more. */
  close(): void;
}

const pause = { baseMs: 500, maxMs: 5000 };
/** In characters. A longer event is none of the service's. */
const longestEvent = 8 * 1024 * 1024;
/** The service says something every 15 s: a stream that is silent for so long is dead. */
const silenceMs = 45_000;

/** 0.5, 1, 2, 4, 5, 5 … seconds. */
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

  // Nothing is told after the end: another stream may have taken its place.
  const onState = (state: Connection): void => {
    if (!isClosed) options.onState(state);
  };
  const take = ({ id, data }: EventSourceMessage): void => {
    const event = eventIn(data);
    if (id) lastId = id;
    if (event !== undefined && !isClosed) options.onEvent(event);
  };

  /** Contract: resolves or rejects when the stream has ended, in whatever way. */
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

/** What is no event is passed over: the stream goes on. */
function eventIn(data: string): PlimsollEvent | undefined {
  const event = parseObject(data);
  const isEvent = typeof event?.["type"] === "string" && typeof event["session"] === "string";
  return isEvent ? (event as unknown as PlimsollEvent) : undefined;
}

/** The service's own. */
function sentenceIn(answer: string): string {
  const error = parseObject(answer)?.["error"];
  const message = isObject(error) ? error["message"] : undefined;
  return typeof message === "string" ? message : "The service does not know this token.";
}
