/** Events as they happen, over `fetch`, because EventSource cannot send a token. Comes back by itself. */

import type { PlimsollEvent } from "plimsoll/events";
import { afterMs } from "./gather.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Tries again after so long. */
  | { readonly kind: "waiting"; readonly retryMs: number }
  /** The token is not known: it does not try again. */
  | { readonly kind: "refused"; readonly sentence: string };

export interface EventStreamOptions {
  readonly token: () => string;
  readonly onEvent: (event: PlimsollEvent) => void;
  readonly onState: (state: Connection) => void;
  readonly fetch?: typeof fetch;
  readonly later?: typeof afterMs;
  /** 0…1 */
  readonly random?: () => number;
}

export interface EventStream {
  close(): void;
}

/** One block of a stream of server-sent events. */
export interface SseMessage {
  readonly id?: string;
  readonly data: string;
}

const waitsMs = [500, 1000, 2000, 5000];
/** The service says something every 15 s: a stream that is silent for so long is dead. */
const silenceMs = 45_000;
/** Of one event, in characters. */
const maxBuffered = 8 * 1024 * 1024;

/**
 * Reads a stream that comes in chunks, split anywhere. Contract: `push` answers the messages that are complete now, or
 * "too-long" when one is longer than the bound; then nothing more can be read from it.
 */
export function createSseReader(bound: number = maxBuffered): {
  push(chunk: string): readonly SseMessage[] | "too-long";
} {
  let rest = "";
  let id: string | undefined;
  let data: string[] = [];
  let held = 0;

  const takeLine = (line: string): SseMessage | undefined => {
    if (line === "") {
      const message = data.length === 0 ? undefined : { data: data.join("\n"), ...withId(id) };
      id = undefined;
      data = [];
      held = 0;
      return message;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") {
      data.push(value);
      held += value.length;
    }
    if (field === "id") id = value;
    return undefined;
  };

  return {
    push: (chunk) => {
      // In the middle of a long line nothing is looked for twice.
      if (!/[\r\n]/.test(chunk) && !rest.endsWith("\r")) {
        rest += chunk;
        return rest.length + held > bound ? "too-long" : [];
      }
      const text = rest + chunk;
      // A carriage return at the end may be the first half of a line end.
      const end = text.endsWith("\r") ? text.length - 1 : text.length;
      const lines = text.slice(0, end).split(/\r\n|\r|\n/);
      rest = (lines.pop() ?? "") + text.slice(end);
      const messages = lines.flatMap((line) => takeLine(line) ?? []);
      return rest.length + held > bound ? "too-long" : messages;
    },
  };
}

function withId(id: string | undefined): { readonly id?: string } {
  return id === undefined || id === "" ? {} : { id };
}

/** 0.5, 1, 2, 5, 5 … seconds, each up to a quarter longer or shorter, so that not all pages come back at once. */
export function waitBefore(attempt: number, random: number): number {
  const usual = waitsMs[Math.min(attempt, waitsMs.length - 1)] ?? 5000;
  return Math.round(usual * (0.75 + random / 2));
}

export function openEvents(options: EventStreamOptions): EventStream {
  const { token, later = afterMs, random = Math.random } = options;
  const send = options.fetch ?? ((...given) => fetch(...given));
  let closing = new AbortController();
  let isClosed = false;
  let lastId: string | undefined;
  let attempt = 0;
  let cancelWait = (): void => undefined;

  // Nothing is told after the end: another stream may have taken its place.
  const onState = (state: Connection): void => {
    if (!isClosed) options.onState(state);
  };
  const onEvent = (event: PlimsollEvent): void => {
    if (!isClosed) options.onEvent(event);
  };
  const take = ({ id, data }: SseMessage): void => {
    const event = parse(data);
    if (id !== undefined) lastId = id;
    if (event !== undefined) onEvent(event);
  };

  /** Contract: resolves when the stream has ended, in whatever way. */
  const listen = async (): Promise<"ended" | "refused"> => {
    const response = await send("/events", {
      headers: {
        authorization: `Bearer ${token()}`,
        accept: "text/event-stream",
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
      },
      cache: "no-store",
      signal: closing.signal,
    });
    if (response.status === 401 || response.status === 403) {
      onState({ kind: "refused", sentence: await sentenceOf(response) });
      return "refused";
    }
    if (!response.ok || response.body === null) return "ended";
    attempt = 0;
    onState({ kind: "live" });
    await readAll(response.body, { take, later, abort: () => closing.abort() });
    return "ended";
  };

  const connect = async (): Promise<void> => {
    closing = new AbortController();
    onState({ kind: "connecting" });
    const outcome = await listen().catch(() => "ended" as const);
    closing.abort();
    if (isClosed || outcome === "refused") return;
    const retryMs = waitBefore(attempt, random());
    attempt += 1;
    cancelWait = later(() => void connect(), retryMs);
    onState({ kind: "waiting", retryMs });
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
  readonly take: (message: SseMessage) => void;
  readonly later: typeof afterMs;
  readonly abort: () => void;
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  { take, later, abort }: Reading,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const sse = createSseReader();
  for (;;) {
    const stopWatching = later(abort, silenceMs);
    const { done, value } = await reader.read().finally(stopWatching);
    if (done) return;
    const messages = sse.push(decoder.decode(value, { stream: true }));
    if (messages === "too-long") return;
    for (const message of messages) take(message);
  }
}

/** What is no event is passed over: the stream goes on. */
function parse(data: string): PlimsollEvent | undefined {
  try {
    const event: unknown = JSON.parse(data);
    const { type, session } = (event ?? {}) as { type?: unknown; session?: unknown };
    return typeof type === "string" && typeof session === "string"
      ? (event as PlimsollEvent)
      : undefined;
  } catch {
    return undefined;
  }
}

async function sentenceOf(response: Response): Promise<string> {
  const answer = (await response.json().catch(() => undefined)) as
    | { error?: { message?: unknown } }
    | undefined;
  const message = answer?.error?.message;
  return typeof message === "string" ? message : "The service does not know this token.";
}
