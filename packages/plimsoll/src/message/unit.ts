/** Units and exchanges: what may be taken out of a conversation as a whole, and nothing smaller. */

import { type Message, messageText, type Part } from "./message.ts";

export type UnitType =
  | "message"
  | "code"
  | "plan_ref"
  | "log"
  | "summary"
  | "placeholder"
  | "other";
/** 1 is the highest. */
export type Priority = 1 | 2 | 3;

export interface Unit {
  readonly id: string;
  /** First and last message index, both included. More than one message: an exchange. */
  readonly first: number;
  readonly last: number;
  readonly type: UnitType;
  readonly priority: Priority;
  /** An assistant message with tool calls and all their results. */
  readonly isExchange: boolean;
}

export interface PriorityArea {
  readonly name: string;
  readonly priority: Priority;
  /** Substrings, compared without case. */
  readonly patterns: readonly string[];
}

/**
 * Splits a conversation into units, in order and without gaps. Invariant: a tool call and its
 * results are always in the same unit, wherever the wire format puts the results.
 */
export function splitUnits(
  messages: readonly Message[],
  areas: readonly PriorityArea[] = [],
): readonly Unit[] {
  const units: Unit[] = [];
  let first = 0;
  while (first < messages.length) {
    const last = endOfExchange(messages, first);
    const text = messages
      .slice(first, last + 1)
      .map(messageText)
      .join("\n");
    units.push({
      id: `unit-${first}`,
      first,
      last,
      type: detectType(text),
      priority: priorityOf(text, areas),
      isExchange: callIds(messages[first]).length > 0,
    });
    first = last + 1;
  }
  return units;
}

/** The last message that carries a result for the calls made in `messages[first]`. */
function endOfExchange(messages: readonly Message[], first: number): number {
  const open = new Set(callIds(messages[first]));
  let last = first;
  for (let index = first + 1; index < messages.length && open.size > 0; index++) {
    const answered = resultIds(messages[index]).filter((id) => open.delete(id));
    if (answered.length === 0) break;
    last = index;
  }
  return last;
}

function callIds(message: Message | undefined): readonly string[] {
  return (message?.parts ?? []).flatMap((part) => (part.kind === "tool-call" ? [part.id] : []));
}

function resultIds(message: Message | undefined): readonly string[] {
  return (message?.parts ?? []).flatMap((part: Part) =>
    part.kind === "tool-result" ? [part.callId] : [],
  );
}

const codeLine =
  /^\s*(import |export |from \w+ import|def |class |function |const |let |var |#include|package |func |fn |pub |return |if \(|for \(|[{}]\s*$)|;\s*$/;
const logLine =
  /^\s*(\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(ERROR|WARN|INFO|DEBUG|TRACE)\b|\s+at \S+ \(|npm (ERR|WARN)|\[\w+\] )/;
const planText = /(^|\n)\s*[-*] \[[ xX]\] |\b(PLAN|TODO|tasks)\.md\b/;
const sampleLines = 200;

/** A guess that only steers compression: a wrong one never loses content. */
export function detectType(text: string): UnitType {
  if (planText.test(text.slice(0, 20_000))) return "plan_ref";
  const lines = text.split("\n", sampleLines).filter((line) => line.trim() !== "");
  if (lines.length < 3) return "message";
  const share = (pattern: RegExp): number =>
    lines.filter((line) => pattern.test(line)).length / lines.length;
  if (share(logLine) >= 0.4) return "log";
  if (text.includes("```") || share(codeLine) >= 0.3) return "code";
  return "message";
}

function priorityOf(text: string, areas: readonly PriorityArea[]): Priority {
  const lower = text.toLowerCase();
  let best: Priority | undefined;
  for (const area of areas) {
    const hit = area.patterns.some((pattern) => lower.includes(pattern.toLowerCase()));
    if (hit && (best === undefined || area.priority < best)) best = area.priority;
  }
  return best ?? 2;
}
