/**
 * Turns as spans. The events of a turn are collected, and exported when the turn ends. The turn is the parent span of its
 * compactions and of its calls to Plimsoll's own tools. Receipts are made in the background, so a compaction may arrive after its
 * turn.
 */

import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Engine } from "../../engine.ts";
import type {
  CompactionEndEvent,
  OwnCallEvent,
  PlimsollEvent,
  TurnEndEvent,
} from "../../message/event.ts";
import {
  compactionAttributes,
  errorType,
  toolAttributes,
  turnAttributes,
  type Upstreams,
} from "./attributes.ts";
import type { ReadContent } from "./content.ts";

export interface SpansWorld {
  readonly tracer: Tracer;
  readonly upstreams: Upstreams;
  /** Reads the messages of a turn. Absent if the user has not enabled this. */
  readonly content?: ReadContent;
}

/** Maximum number of turns to remember that have not ended. Beyond this, the oldest are forgotten. */
const maxRunning = 10_000;
/** Maximum number of ended turns to remember, because a compaction may arrive after its turn. */
const maxEnded = 1000;
/** Maximum number of turns whose content is being read at the same time. Beyond this, spans have no content. */
const maxReading = 100;

/** The events of a turn so far. Their number stays small, because the rounds and the calls per round are limited. */
interface Gathered {
  readonly startedAt?: number;
  readonly newMessages?: number;
  /** Start of the turn's last compaction. */
  readonly compactedAt?: number;
  readonly compactions: readonly CompactionEndEvent[];
  readonly calls: readonly OwnCallEvent[];
}

/** The span context of a turn, which is the parent of all other spans of the turn. */
interface Place {
  readonly context: Context;
  readonly gathered: Gathered;
}

const nothing: Gathered = { compactions: [], calls: [] };
const nowhere: Place = { context: ROOT_CONTEXT, gathered: nothing };

export function recordSpans(
  engine: Pick<Engine, "subscribe">,
  { tracer, upstreams, content }: SpansWorld,
): { readonly close: () => Promise<void> } {
  const running = new BoundedMap<string, Gathered>({ entries: maxRunning });
  const ended = new BoundedMap<string, Place>({ entries: maxEnded });
  const reading = new Set<Promise<void>>();

  const gather = (turn: string, event: PlimsollEvent): void => {
    const gathered = withEvent(running.get(turn) ?? nothing, event);
    if (gathered !== undefined) running.set(turn, gathered);
  };
  const recordTurn = (event: TurnEndEvent, messageAttributes: Attributes): void => {
    const gathered = running.get(event.turn) ?? nothing;
    running.delete(event.turn);
    const attributes = { ...turnAttributes(event, upstreams), ...messageAttributes };
    const place = { context: turnSpan(tracer, event, { gathered, attributes }), gathered };
    for (const call of gathered.calls) callSpan(tracer, call, place);
    for (const compaction of gathered.compactions) compactionSpan(tracer, compaction, place);
    ended.set(event.turn, place);
  };
  const endTurn = (event: TurnEndEvent): void => {
    if (content === undefined || reading.size >= maxReading) {
      recordTurn(event, {});
      return;
    }
    const read: Promise<void> = content(event, running.get(event.turn)?.newMessages ?? 0)
      .then((messageAttributes) => recordTurn(event, messageAttributes))
      .finally(() => reading.delete(read));
    reading.add(read);
  };
  const take = (event: PlimsollEvent): void => {
    const turn = "turn" in event ? event.turn : "";
    // A compaction by hand belongs to no turn, so nothing has to be waited for.
    const place = isTurn(turn) ? ended.get(turn) : nowhere;
    if (event.type === "turn-end") endTurn(event);
    else if (place === undefined) gather(turn, event);
    else if (event.type === "compaction-end") compactionSpan(tracer, event, place);
  };
  const unsubscribe = engine.subscribe(({ event }) => take(event));
  return {
    close: async () => {
      unsubscribe();
      await Promise.all(reading);
    },
  };
}

function isTurn(id: string): boolean {
  return id.startsWith("turn_");
}

/** The turn's events, with this event added. Undefined if the event is not part of any span. */
function withEvent(gathered: Gathered, event: PlimsollEvent): Gathered | undefined {
  switch (event.type) {
    case "turn-start":
      return { ...gathered, startedAt: event.at, newMessages: event.newMessages };
    case "context-breaking-update":
      return event.phase === "detection" ? { ...gathered, compactedAt: event.at } : undefined;
    case "own-call":
      return { ...gathered, calls: [...gathered.calls, event] };
    case "compaction-end":
      return { ...gathered, compactions: [...gathered.compactions, event] };
    default:
      return undefined;
  }
}

function turnSpan(
  tracer: Tracer,
  event: TurnEndEvent,
  { gathered, attributes }: { readonly gathered: Gathered; readonly attributes: Attributes },
): Context {
  const startTime = new Date(gathered.startedAt ?? event.at);
  const span = tracer.startSpan(
    `chat ${event.model}`,
    { kind: SpanKind.CLIENT, startTime, attributes },
    ROOT_CONTEXT,
  );
  if (errorType(event) !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(new Date(event.at));
  return trace.setSpan(ROOT_CONTEXT, span);
}

function callSpan(tracer: Tracer, event: OwnCallEvent, { context }: Place): void {
  const { at, milliseconds = 0, tool, isError } = event;
  const span = tracer.startSpan(
    `execute_tool ${tool}`,
    { startTime: new Date(at - milliseconds), attributes: toolAttributes(event) },
    context,
  );
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(new Date(at));
}

/** A compaction starts with its first phase or, if that is unknown, with its turn. */
function compactionSpan(
  tracer: Tracer,
  event: CompactionEndEvent,
  { context, gathered }: Place,
): void {
  const startedAt = gathered.compactedAt ?? event.at;
  const span = tracer.startSpan(
    "plimsoll.compact",
    { startTime: new Date(startedAt), attributes: compactionAttributes(event) },
    context,
  );
  span.end(new Date(startedAt + event.receipt.milliseconds));
}
