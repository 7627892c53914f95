/** Events of the service as they happen: a stream that is opened again whenever it ends, from where it was. */

import { setTimeout as pause } from "node:timers/promises";
import type { PlimsollEvent } from "../../message/event.ts";
import { isObject } from "../../message/json.ts";
import { sentenceIn } from "./client.ts";
import type { Link } from "./state.ts";

export interface Following {
  /** Where the service is now; undefined: nowhere. */
  readonly locate: () => Promise<string | undefined>;
  readonly token: string;
  readonly onEvent: (event: PlimsollEvent) => void;
  readonly onLink: (link: Link) => void;
  /** Aborted: no more is heard. */
  readonly signal: AbortSignal;
}

/** One block of a stream of server-sent events. */
interface SseMessage {
  readonly id?: string;
  readonly data: string;
}

const waitsMs = [500, 1000, 2000, 5000];
/** The service says something every 15 s: a stream that is silent for so long is dead. */
const silenceMs = 45_000;
/** Of one event, in characters. */
const mostBuffered = 8 * 1024 * 1024;

/** Contract: resolves when the signal is aborted, and never rejects. */
export async function followEvents(following: Following): Promise<void> {
  const { signal, onLink } = following;
  let lastId: string | undefined;
  let attempt = 0;
  while (!signal.aborted) {
    const outcome = await listen(following, lastId, (id) => {
      lastId = id;
    }).catch((): Outcome => ({ kind: "failed" }));
    if (signal.aborted) return;
    attempt = outcome.kind === "ended" ? 0 : attempt;
    const retryMs = waitBefore(attempt);
    attempt += 1;
    onLink(outcome.kind === "refused" ? outcome : { kind: "waiting", retryMs });
    await pause(retryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** 0.5, 1, 2, 5, 5 … seconds. */
export function waitBefore(attempt: number): number {
  return waitsMs[Math.min(attempt, waitsMs.length - 1)] ?? 5000;
}

type Outcome =
  /** It was live for a while. */
  | { readonly kind: "ended" }
  | { readonly kind: "failed" }
  | Extract<Link, { readonly kind: "refused" }>;

async function listen(
  { locate, token, onEvent, onLink, signal }: Following,
  lastId: string | undefined,
  onId: (id: string) => void,
): Promise<Outcome> {
  const url = await locate();
  if (url === undefined) return { kind: "failed" };
  const silence = new AbortController();
  const response = await fetch(`${url}/events`, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: "text/event-stream",
      ...(lastId === undefined ? {} : { "last-event-id": lastId }),
    },
    signal: AbortSignal.any([signal, silence.signal]),
  });
  if (response.status === 401 || response.status === 403)
    return { kind: "refused", sentence: sentenceIn(await response.json(), response.status) };
  if (!response.ok || response.body === null) return { kind: "failed" };
  onLink({ kind: "live" });
  const watch = setTimeout(() => silence.abort(), silenceMs);
  const heard = (): void => void watch.refresh();
  // However it ends: it is opened again.
  await readAll(response.body, { heard, onEvent, onId }).catch(() => undefined);
  clearTimeout(watch);
  silence.abort();
  return { kind: "ended" };
}

interface Reading {
  readonly heard: () => void;
  readonly onEvent: (event: PlimsollEvent) => void;
  readonly onId: (id: string) => void;
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  { heard, onEvent, onId }: Reading,
): Promise<void> {
  const read = createSseReader();
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    heard();
    const messages = read(chunk);
    if (messages === "too-long") return;
    for (const { id, data } of messages) {
      const event = eventIn(data);
      if (event !== undefined) onEvent(event);
      if (id !== undefined) onId(id);
    }
  }
}

/** What is no event is passed over. */
function eventIn(data: string): PlimsollEvent | undefined {
  try {
    const event: unknown = JSON.parse(data);
    return isObject(event) &&
      typeof event["type"] === "string" &&
      typeof event["session"] === "string"
      ? (event as unknown as PlimsollEvent)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a stream that comes in pieces, split anywhere. Contract: gives the messages that are complete now, or "too-long" when
 * one is longer than the bound; then nothing more can be read from it.
 */
export function createSseReader(
  bound: number = mostBuffered,
): (chunk: string) => readonly SseMessage[] | "too-long" {
  let rest = "";
  // Blocks end with an empty line; the service ends lines with a line feed alone.
  return (chunk) => {
    const from = Math.max(0, rest.length - 1);
    rest += chunk;
    const end = rest.indexOf("\n\n", from) < 0 ? -1 : rest.lastIndexOf("\n\n");
    if (end < 0) return rest.length > bound ? "too-long" : [];
    const blocks = rest.slice(0, end).split("\n\n");
    rest = rest.slice(end + 2);
    return blocks.flatMap((block) => messageIn(block) ?? []);
  };
}

function messageIn(block: string): SseMessage | undefined {
  const fields = (name: string): readonly string[] =>
    block
      .split("\n")
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const data = fields("data");
  const id = fields("id").at(-1);
  if (data.length === 0) return undefined;
  return { data: data.join("\n"), ...(id === undefined || id === "" ? {} : { id }) };
}
