/** Tags: the priority, type and relevance that a caller gives to messages. A session remembers them as runs of messages. */

import { PlimsollError } from "./error.ts";

export const unitTypes = [
  "message",
  "code",
  "plan_ref",
  "log",
  "summary",
  "placeholder",
  "other",
] as const;
export type UnitType = (typeof unitTypes)[number];
/** 1 is the highest priority. */
export type Priority = 1 | 2 | 3;

/** What a caller says about a message. Absent fields are left to Plimsoll. */
export interface MessageTag {
  /** 1 is the highest priority: the message is taken out last. */
  readonly priority?: Priority | undefined;
  /** The type of the text, which decides how it is shortened. */
  readonly type?: UnitType | undefined;
  /** From 0 to 1: how much the message has to do with the current task. */
  readonly relevance?: number | undefined;
}

/** The tag of consecutive messages of the log. */
export interface TagRun extends MessageTag {
  /** Numbers of the first and last message, both included. */
  readonly first: number;
  readonly last: number;
  /** Set if the priority is that of the session or the request, and not of the messages themselves. */
  readonly isGeneral?: true;
}

/** Maximum number of runs that a session remembers, because its memory is stored with the turns that change it. */
const runsMax = 500;

/** Throws an error that names the wrong value, because a program may pass any value. */
export function checkPriority(priority: unknown, place: string): Priority {
  if (priority === 1 || priority === 2 || priority === 3) return priority;
  throw wrong(`${place} must be 1, 2 or 3, where 1 is the highest, and not ${shown(priority)}.`);
}

/** Returns undefined if the tag says nothing. */
export function checkTag(tag: unknown): MessageTag | undefined {
  if (tag === undefined) return undefined;
  if (typeof tag !== "object" || tag === null)
    throw wrong("A tag must be an object with `priority`, `type` or `relevance`.");
  for (const key of Object.keys(tag))
    if (!["priority", "type", "relevance"].includes(key))
      throw wrong(`A tag has no "${key}". It has \`priority\`, \`type\` and \`relevance\`.`);
  const { priority, type, relevance } = tag as Record<string, unknown>;
  const checked: MessageTag = {
    ...(priority === undefined ? {} : { priority: checkPriority(priority, "`priority`") }),
    ...(type === undefined ? {} : { type: checkType(type) }),
    ...(relevance === undefined ? {} : { relevance: checkRelevance(relevance) }),
  };
  return Object.keys(checked).length === 0 ? undefined : checked;
}

function checkType(type: unknown): UnitType {
  const known = unitTypes.find((name) => name === type);
  if (known !== undefined) return known;
  throw wrong(`\`type\` must be one of ${unitTypes.join(", ")}, and not ${shown(type)}.`);
}

function checkRelevance(relevance: unknown): number {
  if (typeof relevance === "number" && relevance >= 0 && relevance <= 1) return relevance;
  throw wrong(`\`relevance\` must be a number from 0 to 1, and not ${shown(relevance)}.`);
}

function shown(value: unknown): string {
  return String(JSON.stringify(value) ?? value).slice(0, 100);
}

function wrong(message: string): PlimsollError {
  return new PlimsollError("USAGE", message, { status: 400 });
}

/**
 * Adds a run. A run that continues the last one with the same tag becomes part of it. If there are too many runs, the oldest one
 * that does not have priority 1 is forgotten.
 */
export function withRun(runs: readonly TagRun[], run: TagRun): readonly TagRun[] {
  const last = runs.at(-1);
  if (last !== undefined && last.last + 1 === run.first && isSameTag(last, run))
    return [...runs.slice(0, -1), { ...last, last: run.last }];
  const all = [...runs, run];
  if (all.length <= runsMax) return all;
  const forgotten = Math.max(
    0,
    all.findIndex(({ priority }) => priority !== 1),
  );
  return all.toSpliced(forgotten, 1);
}

function isSameTag(one: TagRun, other: TagRun): boolean {
  return (
    one.priority === other.priority &&
    one.type === other.type &&
    one.relevance === other.relevance &&
    one.isGeneral === other.isGeneral
  );
}

/** Several tags in one: the highest priority and the highest relevance. */
export function mergedTag(tags: readonly (MessageTag | undefined)[]): MessageTag | undefined {
  const priorities = tags.flatMap((tag) => tag?.priority ?? []);
  const relevances = tags.flatMap((tag) => tag?.relevance ?? []);
  const type = tags.find((tag) => tag?.type !== undefined)?.type;
  const merged: MessageTag = {
    ...(priorities.length === 0 ? {} : { priority: Math.min(...priorities) as Priority }),
    ...(type === undefined ? {} : { type }),
    ...(relevances.length === 0 ? {} : { relevance: Math.max(...relevances) }),
  };
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** A tag, and the priority that all messages of the session or of the request have. */
export interface TagInForce extends MessageTag {
  readonly general?: Priority;
}

/** The tags of the messages with these numbers, in the same order. A later tag replaces the fields that it names. */
export function tagsOf(
  runs: readonly TagRun[] | undefined,
  numbers: readonly (number | undefined)[],
): readonly (TagInForce | undefined)[] {
  if (runs === undefined || runs.length === 0) return [];
  return numbers.map((number) => (number === undefined ? undefined : tagAt(runs, number)));
}

function tagAt(runs: readonly TagRun[], number: number): TagInForce | undefined {
  let tag: TagInForce | undefined;
  for (const { first, last, isGeneral, ...said } of runs) {
    if (number < first || number > last) continue;
    const { priority: general } = said;
    tag = { ...tag, ...(isGeneral === true ? general && { general } : said) };
  }
  return tag;
}
