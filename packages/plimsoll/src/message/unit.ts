/** Splits conversations into units and exchanges. A unit is the smallest piece that can be taken out of a conversation. */

import { isLogLine, shareOfLines } from "../text/log-lines.ts";
import { type Message, messageText, type Part } from "./message.ts";
import { allAtOnce, type InSteps, Steps } from "./steps.ts";
import { mergedTag, type Priority, type TagInForce, type UnitType } from "./tag.ts";

export type { Priority, UnitType } from "./tag.ts";

export interface Unit {
  readonly id: string;
  /** Indexes of the first and last message, both included. */
  readonly first: number;
  readonly last: number;
  readonly type: UnitType;
  readonly priority: Priority;
  /** From 0 to 1, if the caller said how relevant the unit is. */
  readonly relevance?: number;
  /**
   * Whether the unit has tool calls. It then contains the model's messages with calls, all results, and the reasoning before
   * them.
   */
  readonly isExchange: boolean;
}

export interface PriorityArea {
  readonly name: string;
  readonly priority: Priority;
  /** Substrings to look for, ignoring case. */
  readonly patterns: readonly string[];
}

/**
 * Splits a conversation into units, in order and without gaps. Invariants: a tool call and its results are always in the same
 * unit, wherever the wire puts the results. A message that contains only reasoning is in the same unit as the model's messages
 * that it led to.
 */
export function splitUnits(
  messages: readonly Message[],
  areas: readonly PriorityArea[] = [],
  tags: readonly (TagInForce | undefined)[] = [],
): readonly Unit[] {
  return allAtOnce(unitsInSteps(messages, areas, tags));
}

/** One unit, however long it is, takes about as much time as reading this many lines. */
const costOfUnit = 16;

export function* unitsInSteps(
  messages: readonly Message[],
  areas: readonly PriorityArea[] = [],
  tags: readonly (TagInForce | undefined)[] = [],
): InSteps<readonly Unit[]> {
  const steps = new Steps();
  const units: Unit[] = [];
  const answers = findAnswers(messages);
  let first = 0;
  while (first < messages.length) {
    const last = endOfUnit(messages, answers, first);
    const own = messages.slice(first, last + 1);
    const text = own.map(messageText).join("\n");
    const ownTags = tags.slice(first, last + 1);
    const { type, relevance } = mergedTag(ownTags) ?? {};
    units.push({
      id: `unit-${first}`,
      first,
      last,
      type: type ?? detectType(text),
      priority: priorityWith(ownTags, priorityOf(text, areas)),
      ...(relevance === undefined ? {} : { relevance }),
      isExchange: own.some((message) => callIds(message).length > 0),
    });
    first = last + 1;
    if (steps.isOver(costOfUnit)) yield;
  }
  return units;
}

/**
 * Maps the index of each message with calls to the index of the last result of these calls. A later call with the same id has its
 * own results.
 */
function findAnswers(messages: readonly Message[]): ReadonlyMap<number, number> {
  const answers = new Map<number, number>();
  const results = new Map<string, number>();
  for (let index = messages.length - 1; index >= 0; index--) {
    for (const id of callIds(messages[index])) {
      const answer = results.get(id) ?? index;
      answers.set(index, Math.max(answers.get(index) ?? index, answer));
      results.delete(id);
    }
    for (const id of resultIds(messages[index])) results.set(id, index);
  }
  for (const index of unansweredCalls(messages, answers)) {
    // Some clients give the result an id that the call does not have. Such a result comes directly after its call.
    const owed = resultIds(messages[index + 1]);
    if (owed.some((id) => results.get(id) === index + 1)) answers.set(index, index + 1);
  }
  return answers;
}

/** Indexes of messages with calls that no later message answers by their ids. */
function unansweredCalls(
  messages: readonly Message[],
  answers: ReadonlyMap<number, number>,
): readonly number[] {
  return [...answers].flatMap(([index, answer]) =>
    answer === index && messages[index]?.role === "assistant" ? [index] : [],
  );
}

function endOfUnit(
  messages: readonly Message[],
  answers: ReadonlyMap<number, number>,
  first: number,
): number {
  const isLed = isReasoning(messages[first]);
  let last = first;
  let hasOpenCalls = false;
  for (let index = first; index <= last; index++) {
    const answer = answers.get(index);
    if (answer !== undefined) last = Math.max(last, answer);
    hasOpenCalls ||= answer === index;
    if (index < last || !areNeighbours(messages, index)) continue;
    const leadsOn = isReasoning(messages[index]) || (isLed && !isReasoning(messages[index + 1]));
    if (leadsOn || hasOpenCalls) last = index + 1;
  }
  return last;
}

/** Whether this message and the next are both from the model, with nothing in between. */
function areNeighbours(messages: readonly Message[], index: number): boolean {
  return messages[index]?.role === "assistant" && messages[index + 1]?.role === "assistant";
}

/**
 * Whether the message contains nothing but reasoning, as on wires where reasoning is a separate message. Reasoning next to other
 * parts simply moves with them.
 */
function isReasoning(message: Message | undefined): boolean {
  const parts = message?.parts ?? [];
  return parts.length > 0 && parts.every(({ kind }) => kind === "reasoning");
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
const planText = /(^|\n)\s*[-*] \[[ xX]\] |\b(PLAN|TODO|tasks)\.md\b/;
/** Every plan contains one of these strings, and few other texts do. Searching for them is much faster than the pattern. */
const planSigns = ["] ", ".md"] as const;
const sampleLines = 200;

/** Guesses the type of a text. The guess only affects compression, so a wrong guess never loses content. */
export function detectType(text: string): UnitType {
  const beginning = text.slice(0, 20_000);
  if (planSigns.some((sign) => beginning.includes(sign)) && planText.test(beginning))
    return "plan_ref";
  const lines = text.split("\n", sampleLines).filter((line) => line.trim() !== "");
  if (lines.length < 3) return "message";
  if (shareOfLines(lines, isLogLine) >= 0.4) return "log";
  const hasCode = text.includes("```") || shareOfLines(lines, (line) => codeLine.test(line)) >= 0.3;
  if (hasCode) return "code";
  return "message";
}

const usualPriority: Priority = 2;

/**
 * The priority of a unit. A caller's word about a message comes first. Otherwise the higher one counts: that of the session or the
 * request, or that of the area in `priority_areas`.
 */
export function priorityWith(
  tags: readonly (TagInForce | undefined)[],
  ofArea: Priority | undefined,
): Priority {
  const own = mergedTag(tags)?.priority;
  if (own !== undefined) return own;
  const general = tags.flatMap((tag) => tag?.general ?? []);
  const named = [...general, ...(ofArea === undefined ? [] : [ofArea])];
  return named.toSorted()[0] ?? usualPriority;
}

/** The highest priority of the areas that the text mentions. */
export function priorityOf(text: string, areas: readonly PriorityArea[]): Priority | undefined {
  const lower = text.toLowerCase();
  let best: Priority | undefined;
  for (const area of areas) {
    const hit = area.patterns.some((pattern) => lower.includes(pattern.toLowerCase()));
    if (hit && (best === undefined || area.priority < best)) best = area.priority;
  }
  return best;
}
