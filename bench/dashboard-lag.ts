/** How long it takes from an event to its pixels: what was emitted is heard beside the page, and found again in what the page showed. */

import type { ContextBreakingUpdateEvent, PlimsollEvent } from "plimsoll/events";
import { receivedEvents } from "../packages/plimsoll/demo/event-stream.ts";
import type { Shown } from "./dashboard-page.ts";

/** An event, and when it came to this process. */
export interface Heard {
  readonly event: PlimsollEvent;
  readonly heardAt: number;
}

/** Resolves when the stream is open, with what will have come over it. */
export async function hearEvents(
  url: string,
  token: string,
  signal: AbortSignal,
): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/events`, { headers, signal });
  if (!response.ok) throw new Error(`GET /events answered ${response.status}.`);
  const listen = async (): Promise<void> => {
    for await (const { data } of receivedEvents(response))
      heard.push({ event: JSON.parse(data) as PlimsollEvent, heardAt: Date.now() });
  };
  listen().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return heard;
}

/** What became of one event, in milliseconds from the time that it says. */
export interface Fate {
  /** Overtaken: another took its place before there was a frame, and stands for it. Lost: neither was ever painted. */
  readonly kind: "seen" | "overtaken" | "lost";
  /** To the page's document, and to the frame after the one that shows it. Not a number where it was lost. */
  readonly written: number;
  readonly painted: number;
  /** To a stream of this process: the floor. */
  readonly heard: number;
}

export interface Period {
  readonly from: number;
  readonly to: number;
}

/** Of phases: each has its words, and is shown until the next. */
export function fatesOfPhases(
  heard: readonly Heard[],
  shown: readonly Shown[],
  period: Period,
): readonly Fate[] {
  return bySession(heard.filter(({ event }) => isPhase(event))).flatMap(([session, phases]) =>
    fatesOf(
      phases,
      shown.filter((one) => one.session === session),
    ).filter((_, index) => isIn(phases[index], period)),
  );
}

function isPhase(event: PlimsollEvent): event is ContextBreakingUpdateEvent {
  return event.type === "context-breaking-update";
}

/** After so long without an event of its row, the next one is the first of a burst. */
const quietMs = 500;

export interface FatesOfTurns {
  /** Beginnings and ends of turns that are the first of their burst: drawn at once. */
  readonly firsts: readonly Fate[];
  /** The others: gathered. */
  readonly gathered: readonly Fate[];
}

/** Of turns: each beginning and each end has its figures, and is shown until the next event of its row is drawn. */
export function fatesOfTurns(
  heard: readonly Heard[],
  shown: readonly Shown[],
  period: Period,
): FatesOfTurns {
  const firsts: Fate[] = [];
  const gathered: Fate[] = [];
  for (const [session, events] of bySession(heard.filter(({ event }) => changesRow(event)))) {
    const own = shown.filter((one) => one.session === session);
    for (const [index, fate] of fatesOf(events, own).entries()) {
      const one = events[index];
      if (one === undefined || !isIn(one, period) || isPhase(one.event)) continue;
      const quiet = one.heardAt - (events[index - 1]?.heardAt ?? 0);
      (quiet >= quietMs ? firsts : gathered).push(fate);
    }
  }
  return { firsts, gathered };
}

function changesRow({ type }: PlimsollEvent): boolean {
  return type === "turn-start" || type === "turn-end" || type === "context-breaking-update";
}

function isIn(one: Heard | undefined, { from, to }: Period): boolean {
  return one !== undefined && one.event.at >= from && one.event.at <= to;
}

/** Of one session, in order. */
function fatesOf(events: readonly Heard[], shown: readonly Shown[]): readonly Fate[] {
  const frames = events.map(({ event }, index) => {
    const next = events.slice(index + 1).find((later) => looksLike(later.event, event));
    const until = next?.event.at ?? Number.POSITIVE_INFINITY;
    return shown.find(
      (one) =>
        one.at !== undefined &&
        one.writtenAt >= event.at &&
        one.writtenAt < until &&
        isShownBy(event, one),
    );
  });
  return events.map(({ event, heardAt }, index) => {
    const stands = frames.findIndex((frame, at) => at >= index && frame !== undefined);
    const frame = frames[stands];
    return {
      kind: frame === undefined ? "lost" : stands === index ? "seen" : "overtaken",
      written: (frame?.writtenAt ?? Number.NaN) - event.at,
      painted: (frame?.at ?? Number.NaN) - event.at,
      heard: heardAt - event.at,
    };
  });
}

/** Two that are shown by the same words and figures are told apart by their time alone. */
function looksLike(one: PlimsollEvent, other: PlimsollEvent): boolean {
  if (isPhase(one) && isPhase(other)) return one.message === other.message;
  const isTurn = one.type === "turn-start" || one.type === "turn-end";
  if (!isTurn || other.type !== one.type) return false;
  return one.measurement.total === other.measurement.total && one.limit === other.limit;
}

function isShownBy(event: PlimsollEvent, { phase, tokens, limit, outcome }: Shown): boolean {
  if (isPhase(event)) return phase === event.message;
  if (event.type !== "turn-start" && event.type !== "turn-end") return false;
  const expected = event.type === "turn-start" ? "running" : event.outcome;
  const filled = Math.min(event.measurement.total, event.limit);
  return tokens === filled && limit === event.limit && outcome === expected;
}

function bySession(heard: readonly Heard[]): readonly (readonly [string, readonly Heard[]])[] {
  const all = new Map<string, Heard[]>();
  for (const one of heard) {
    const { session } = one.event;
    const own = all.get(session) ?? [];
    own.push(one);
    all.set(session, own);
  }
  return [...all];
}
