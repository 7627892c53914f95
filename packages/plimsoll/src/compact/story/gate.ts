/**
 * The survival gate of the story: checks a story that a model wrote, against Plimsoll's own story (the skeleton) and against the
 * conversation. Every rule, change and open item of the skeleton survives, because the lines are the skeleton's. The model's
 * words join a line only if the conversation supports them.
 *
 * Invariant: outside backticks there are only Plimsoll's words and whole sentences that users and agents of this conversation
 * said.
 */

import type { CountTokens } from "../../message/strategy.ts";
import { storyTexts } from "../../text/for-models.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { plain, quoted } from "../evidence/safe-text.ts";
import type { Speech } from "../evidence/speech.ts";
import { withoutLinks } from "../summary/forbidden-text.ts";
import { formatSummary, type Item, parseSummary } from "../summary/format.ts";
import { checkItem, withoutFences } from "../summary/survival.ts";
import { readSource, type SourceReading } from "../summary/trust.ts";
import { isToDo, stemOf } from "./model-words.ts";
import { readStory } from "./read-story.ts";

export interface StoryGateTask {
  /** The story as the model wrote it. */
  readonly story: string;
  readonly skeleton: string;
  /** The story of an earlier compaction. The model may repeat its tasks. */
  readonly earlier?: string | undefined;
  /** The messages that the skeleton is about, and the evidence in them. */
  readonly source: readonly Speech[];
  readonly evidence: Evidence;
  readonly count: CountTokens;
  readonly maxTokens: number;
}

export type StoryVerdict =
  | { readonly kind: "passes"; readonly story: string }
  /** Lines were missing or wrong. `missing` are the lines of the skeleton that were put back. */
  | { readonly kind: "patched"; readonly story: string; readonly missing: readonly string[] }
  | { readonly kind: "replaced"; readonly story: string; readonly reason: StoryRefusal };

export type StoryRefusal = "empty" | "mostly-invented";

/** Maximum number of lines that a model may add. */
const mostAdded = 12;

export function checkStory(task: StoryGateTask): StoryVerdict {
  const { skeleton, source } = task;
  const base = readStory(skeleton).own;
  const given = joinedByNumber(parseSummary(withoutFences(task.story)))
    .filter(({ section }) => ownSections.has(section))
    .map((item) => ({ ...item, text: withoutLinks(item.text) }));
  if (given.length === 0) return { kind: "replaced", story: skeleton, reason: "empty" };
  const known = [...source, ...base.map(asSource)];
  const reading = readSource(known, given.map(({ text }) => text).join("\n"));
  const numbers = new Set(source.map(({ number }) => number));
  const tasks = readStory(task.earlier ?? "").own.filter(isToDo);
  const judged = given.map((item) => judge(item, { base, reading, numbers, tasks, task }));
  const refused = judged.filter(({ kind }) => kind === "refused").length;
  if (refused * 2 > given.length)
    return { kind: "replaced", story: skeleton, reason: "mostly-invented" };
  const story = withWords(base, judged, task);
  const missing = base.filter((item) => isLost(item, given));
  if (missing.length === 0 && refused === 0) return { kind: "passes", story };
  return { kind: "patched", story, missing: missing.map(({ text }) => text) };
}

const ownSections: ReadonlySet<string> = new Set(["Rules", "Answered", "Changed", "Open"]);

/** Long items are parsed as several. The parts that come from the same message are joined again. */
function joinedByNumber(items: readonly Item[]): readonly Item[] {
  const joined: Item[] = [];
  for (const item of items) {
    const last = joined.at(-1);
    const isSame = last?.section === item.section && last.number === item.number;
    if (last !== undefined && isSame && item.number !== undefined && item.section === "Answered")
      joined[joined.length - 1] = { ...last, text: `${last.text} ${item.text}` };
    else joined.push(item);
  }
  return joined;
}

/** The skeleton's lines may be repeated. They are no words of a user or agent, so they count as a tool's. */
function asSource({ text, number = 0 }: Item): Speech {
  return { number, text, speaker: "tool" };
}

interface Judging {
  readonly base: readonly Item[];
  readonly reading: SourceReading;
  readonly numbers: ReadonlySet<number>;
  /** The tasks of an earlier story. */
  readonly tasks: readonly Item[];
  readonly task: StoryGateTask;
}

type Judged =
  /** The model's words for a line of the skeleton. */
  | { readonly kind: "reworded"; readonly line: Item; readonly text: string }
  | { readonly kind: "added"; readonly item: Item }
  /** The item repeats a line. */
  | { readonly kind: "repeated" }
  | { readonly kind: "refused" };

function judge(item: Item, judging: Judging): Judged {
  const { base, reading } = judging;
  const own = base.filter(({ section }) => section === item.section);
  if (own.some(({ text }) => plain(text) === plain(item.text))) return { kind: "repeated" };
  switch (item.section) {
    case "Rules": {
      const [rule] = checked(item, judging);
      return rule === undefined ? { kind: "refused" } : added({ ...item, ...rule }, judging);
    }
    case "Changed":
      // Plimsoll knows the changes from the calls, so its own lines are used.
      return { kind: reading.inventedIn(item.text).length === 0 ? "repeated" : "refused" };
    default: {
      const line = own.find(({ number }) => number !== undefined && number === item.number);
      return line === undefined ? ownLine(item, judging) : reworded(item, line, judging);
    }
  }
}

/** The model's words after the part of the line that must stay. */
function reworded(item: Item, line: Item, judging: Judging): Judged {
  const stem = stemOf(line);
  const words = item.isData ? item.text : wordsAfter(item.text, line);
  if (stem === undefined || words === "") return { kind: "repeated" };
  const [told] = checked({ ...item, section: "State", text: words }, judging);
  if (told === undefined) return { kind: "refused" };
  return { kind: "reworded", line, text: `${stem}${shown(told)}` };
}

/** The words of an item without what it repeats of the line. */
function wordsAfter(text: string, { section, text: line }: Item): string {
  if (section === "Answered")
    return text.replace(/^(?:[\s\S]* )?→ #\d{1,9}(?: asked back)?:\s*/, "").trim();
  const isRepeated = text.startsWith(line);
  return (isRepeated ? text.slice(line.length) : text).replace(/^[\s:,;–-]+/, "").trim();
}

/** A finding or a task that only the model names. A task must be in the words of a user or agent, otherwise it is a finding. */
function ownLine(item: Item, judging: Judging): Judged {
  const words = item.text.replace(/^(?:noted|to do):\s*/, "");
  const task = storyTexts.toDo(plain(words));
  const earlier = judging.tasks.find(({ text }) => plain(text) === task);
  if (earlier !== undefined) return { kind: "added", item: earlier };
  const [told] = checked({ ...item, section: "State", text: words }, judging);
  const isRequest = /^(?:asked|said|failed): /.test(item.text);
  if (told === undefined || isRequest || words === "") return { kind: "refused" };
  const { number } = item;
  const place = number === undefined ? {} : { number };
  const isTask = item.section === "Open" && !told.isData;
  const line: Item = isTask
    ? { section: "Open", isData: false, text: storyTexts.toDo(told.text), ...place }
    : { section: "Answered", isData: false, text: storyTexts.noted(shown(told)), ...place };
  return added(line, judging);
}

/** Every line names its message. */
function added(item: Item, { numbers }: Judging): Judged {
  const isNumbered = item.number !== undefined && numbers.has(item.number);
  return isNumbered ? { kind: "added", item } : { kind: "refused" };
}

function checked(item: Item, { reading, task }: Judging): readonly Item[] {
  return checkItem(item, task.evidence, reading);
}

function shown({ text, isData }: Item): string {
  return isData ? quoted(text) : text;
}

/** The skeleton with as many of the model's words as there is room for. */
function withWords(
  base: readonly Item[],
  judged: readonly Judged[],
  { count, maxTokens }: StoryGateTask,
): string {
  let items = base;
  let addedCount = 0;
  for (const one of judged) {
    const next = nextItems(items, one);
    const isAdded = one.kind === "added";
    if (next === items || (isAdded && addedCount >= mostAdded)) continue;
    if (count(formatSummary(next)) > maxTokens) continue;
    items = next;
    if (isAdded) addedCount++;
  }
  return formatSummary(items);
}

function nextItems(items: readonly Item[], judged: Judged): readonly Item[] {
  switch (judged.kind) {
    case "reworded": {
      const at = items.indexOf(judged.line);
      return at < 0 ? items : items.with(at, { ...judged.line, text: judged.text });
    }
    case "added":
      return [...items, judged.item];
    default:
      return items;
  }
}

/** Whether the model's story has lost a line: a rule by its words, a change by the objects it names, others by their number. */
function isLost(item: Item, given: readonly Item[]): boolean {
  const own = given.filter(({ section }) => section === item.section);
  switch (item.section) {
    case "Rules":
      return !own.some(({ text }) => plain(text).includes(plain(item.text)));
    case "Changed": {
      const told = own.map(({ text }) => text).join("\n");
      return objectsIn(item.text).some((object) => !told.includes(object));
    }
    default:
      return (
        item.number !== undefined &&
        !own.some(({ number, text }) => number === item.number || plain(text) === plain(item.text))
      );
  }
}

/** The things that a line of changes names, such as the two files in `wrote src/a.ts (#2), src/b.ts (#4, #6)`. */
function objectsIn(line: string): readonly string[] {
  const objects = line.split(/ \(#[^)]*\)(?:, |$)/).filter((object) => object !== "");
  return objects.map((object, index) => (index === 0 ? object.replace(/^\S+ /, "") : object));
}
