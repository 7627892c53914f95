/**
 * The story so far: the text after the head that says what the view no longer shows. It quotes the user's rules, has a line for
 * each request with its outcome, names what the agent changed, and what still fails. Every line names its messages.
 *
 * A later compaction reads the lines back (`earlier`), keeps them as they are, and adds the lines of what leaves now. If a model
 * has written about the lines that leave now (`prepared`), they are in its words.
 */

import { withoutHandles } from "../../message/handle.ts";
import type { CountTokens, VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { storyTexts } from "../../text/for-models.ts";
import type { Fact } from "../evidence/evidence.ts";
import { plain, quoted, shortened } from "../evidence/safe-text.ts";
import { formatSummary, type Item, lineOf, type Section } from "../summary/format.ts";
import { itemOf } from "../summary/summary.ts";
import { isSpoken } from "../units/head.ts";
import { type Act, happeningIn, hasFailed } from "./acts.ts";
import { type ChangeLine, changeLines, groupedChanges } from "./changes.ts";
import { isLooking } from "./effects.ts";
import { gistOf, outcomeGistOf, saysDone, shortGistOf } from "./gist.ts";
import { isToDo, type ModelWords, modelWords } from "./model-words.ts";
import { readStory } from "./read-story.ts";
import { loggedMessage, type Request, requestsIn, wordsOf } from "./requests.ts";

export interface StoryTask {
  readonly conversation: Pick<VisibleConversation, "messages" | "summary">;
  /** All calls of the agent. */
  readonly acts: readonly Act[];
  /** Index of the first message after the head. */
  readonly from: number;
  /** Whether the view still shows the message. */
  readonly isShown: (message: number) => boolean;
  readonly quoted: Quotations;
  /** The user's rules that the view no longer shows. */
  readonly rules: readonly Fact[];
  /** Maximum number of tokens for all lines. Rules and changes may take up to twice as many. */
  readonly tokens: number;
  readonly count: CountTokens;
  /** The story so far, from an earlier compaction. */
  readonly earlier?: string | undefined;
  /** The story of messages that leave now, by a model, after it has passed the gate. */
  readonly prepared?: string | undefined;
}

/** Requests that the story must quote, because the view does not show them. */
export interface Quotations {
  /** By the index of a request: its words. */
  readonly words: ReadonlyMap<number, string>;
  /** Maximum number of tokens for their outcomes, and for these together with all lines of the story. */
  readonly outcomeTokens: number;
  readonly freeTokens: number;
}

export const nothingQuoted: Quotations = { words: new Map(), outcomeTokens: 0, freeTokens: 0 };

export function storyOf(task: StoryTask): string {
  const { acts } = task;
  const { own, others } = readStory(task.earlier ?? "");
  const words = modelWords(task.prepared);
  const known = bySection(own);
  const added = bySection(words?.added.filter(goneIn(task)) ?? []);
  const rules = distinct([...known("Rules"), ...task.rules.map(itemOf), ...added("Rules")]).filter(
    (rule) => !hasEnded(rule, task),
  );
  const failures = [
    ...stillOpen(known("Open"), task, words),
    ...inWords(openFailures(acts, task), words),
    ...added("Open"),
  ];
  const changed = [...known("Changed"), ...changeLines(acts, task.isShown)];
  const requests = requestLines(task, known("Answered"), words);
  const done = [...requests.earlier, ...inOrder([...requests.done, ...added("Answered")])];
  return fitted(task, { ...requests, rules, failures, changed, done, others });
}

function bySection(items: readonly Item[]): (section: Section) => readonly Item[] {
  return (section) => items.filter((item) => item.section === section);
}

/** Words with which a user limits a rule to a part of the work. */
const passing =
  /\b(?:(?:in|during|for|at) this (?:[\w-]+ ){0,3}(?:phase|step|stage|point)|for\s(?:now|the moment)|just yet|not yet)\b/i;

/** Such a rule has ended when the user has asked for something else since, and the agent has changed something for it. */
function hasEnded({ text, number = 0 }: Item, { acts, conversation, from }: StoryTask): boolean {
  if (!passing.test(text)) return false;
  const { messages } = conversation;
  const next = requestsIn(conversation, from)
    .map(({ message }) => messages[message]?.number ?? 0)
    .find((asked) => asked > number);
  return (
    next !== undefined &&
    acts.some((act) => act.deed.isEffect && act.number > next && !hasFailed(act))
  );
}

/** The lines about requests. No request has two, even if the view showed it and an earlier story told it. */
function requestLines(
  task: StoryTask,
  earlier: readonly Item[],
  words: ModelWords | undefined,
): Pick<Parts, "done" | "quoted" | "open"> & { readonly earlier: readonly Item[] } {
  const told = new Map(earlier.map((item) => [item.number, item]));
  const quotations = (outcomeTokens: number): readonly Item[] =>
    quotedItems(task, words, outcomeTokens).map((item) => quotedBefore(told, item) ?? item);
  const isQuoted = new Set(quotations(0).map(({ number }) => number));
  const added = bySection(
    inWords(requestItems(task), words).filter(({ number }) => !told.has(number)),
  );
  return {
    earlier: earlier.filter(({ number }) => number === undefined || !isQuoted.has(number)),
    done: added("Answered"),
    quoted: quotations,
    open: added("Open"),
  };
}

/** The line in which an earlier story quotes the request. The view may show a request that the story also quotes. */
function quotedBefore(
  told: ReadonlyMap<number | undefined, Item>,
  { number, text }: Item,
): Item | undefined {
  const [opening = ""] = text.split("\n", 1);
  const before = number === undefined ? undefined : told.get(number);
  return before?.text.startsWith(`${opening}\n`) === true ? before : undefined;
}

function inWords(items: readonly Item[], words: ModelWords | undefined): readonly Item[] {
  return words === undefined ? items : items.map(words.reword);
}

/** Tells whether the view no longer shows the message of a line. A task is told even if the view still shows its message. */
function goneIn({ conversation, from, isShown }: StoryTask): (item: Item) => boolean {
  const shown = new Set(
    conversation.messages
      .filter((_, index) => index < from || isShown(index))
      .map(({ number }) => number),
  );
  return (item) => isToDo(item) || !shown.has(item.number ?? -1);
}

function inOrder(items: readonly Item[]): readonly Item[] {
  return items.toSorted((one, other) => (one.number ?? 0) - (other.number ?? 0));
}

function distinct(items: readonly Item[]): readonly Item[] {
  const byText = new Map(items.toReversed().map((item) => [plain(item.text), item]));
  return items.filter((item) => byText.get(plain(item.text)) === item);
}

/**
 * The open items of an earlier story, without failures that the agent has tried again since, or that are over. If a model has written about the
 * conversation since, it has also said which tasks are still to do.
 */
function stillOpen(
  known: readonly Item[],
  { acts, conversation, from }: StoryTask,
  words: ModelWords | undefined,
): readonly Item[] {
  const isOver = overBy(conversation, from);
  const tried = [...new Set(acts.map(({ deed }) => storyTexts.failed(deedText(deed), "")))];
  return known.filter((item) => {
    if (isToDo(item)) return words === undefined;
    const { text, number } = item;
    return (
      !isOver(number ?? 0) &&
      text.startsWith(storyTexts.failed("", "")) &&
      !tried.some((failure) => text === failure || text.startsWith(`${failure}: `))
    );
  });
}

function deedText({ verb, object }: Act["deed"]): string {
  return `${verb} ${object}`;
}

/** After this many answered requests, nobody asks for a failure any more. */
const forgottenAfter = 3;

/**
 * Tells by the number of its message whether a failure is over: the agent has ended its work on the request and said that it is
 * done, or has ended its work on several requests since.
 */
function overBy(
  { messages, summary }: StoryTask["conversation"],
  from: number,
): (number: number) => boolean {
  const closings = requestsIn({ messages, ...(summary === undefined ? {} : { summary }) }, from)
    .flatMap(({ outcome, isShared }) => (isShared === true ? [] : (messages[outcome ?? -1] ?? [])))
    .toSorted((one, other) => one.number - other.number);
  return (number) => {
    const later = closings.findLastIndex((closing) => closing.number <= number) + 1;
    const next = closings[later];
    if (next === undefined) return false;
    return closings.length - later >= forgottenAfter || saysDone(wordsOf(loggedMessage(next)));
  };
}

/** Number of failures that the story names, newest first. */
const mostFailures = 4;
const longestError = 160;

/** Failures before the last calls of this number are old: the agent has long gone on to something else. */
const recentActs = 20;

/** Commands that failed and did not succeed later, unless the view shows them. */
function openFailures(
  acts: readonly Act[],
  { isShown, conversation, from }: StoryTask,
): readonly Item[] {
  const isOver = overBy(conversation, from);
  const last = new Map<string, Act>();
  const recent = acts.slice(-recentActs);
  for (const act of recent) last.set(act.deed.key, act);
  return [...last.values()]
    .filter((act) => hasFailed(act) && !act.isRefused && !isShown(act.message))
    .filter(
      ({ deed }) =>
        deed.isEffect || deed.verb === "called" || (deed.verb === "ran" && !isLooking(deed)),
    )
    .filter(
      (act) =>
        !recent.some((later) => settles(later, act)) && !isDismissed(conversation.messages, act),
    )
    .filter(({ number }) => !isOver(number))
    .slice(-mostFailures)
    .map(({ deed, error, number }) => {
      const report = error === undefined ? "" : quoted(shortened(error, longestError));
      const text = storyTexts.failed(deedText(deed), report);
      return { section: "Open", number, isData: false, text };
    });
}

/** Words with which an agent says that a failure has nothing to do with its work, or is what it wanted to see. */
const dismissal =
  /\b(?:unrelated|not related|nothing to do with|pre-?existing|already (?:fail(?:s|ed|ing)|broken)|fail(?:s|ed)? (?:before|without) (?:my|the|our|these|this)|(?:as|is|was|were|are) expected|expected (?:to fail|failure|error)|can be ignored|(?:reproduce|confirm)(?:s|d)? the (?:issue|bug|problem))\b/i;
/** The agent says it in one of its next messages. */
const dismissedWithin = 4;

function isDismissed(messages: readonly VisibleMessage[], { message }: Act): boolean {
  return messages
    .slice(message + 1, message + 1 + dismissedWithin)
    .some(
      (visible) =>
        visible.message.role === "assistant" && dismissal.test(wordsOf(loggedMessage(visible))),
    );
}

/**
 * Whether a later command shows that a failure is over: it runs the same program with other arguments, and works. A command with more
 * words than the one that failed may do only a part of it, such as one test of many.
 */
function settles(later: Act, failed: Act): boolean {
  if (later.number <= failed.number || hasFailed(later) || failed.deed.verb !== "ran") return false;
  const [one, other] = [wordsOfCommand(later), wordsOfCommand(failed)];
  return one.length <= other.length && programOf(one) === programOf(other);
}

function wordsOfCommand({ deed }: Act): readonly string[] {
  return deed.object.replaceAll("`", "").split(/\s+/);
}

/** `npm test`, or `python -m pytest`. */
function programOf(words: readonly string[]): string {
  return words.slice(0, words[1]?.startsWith("-") === true ? 3 : 2).join(" ");
}

const longestRequest = 140;
const longestOutcome = 200;

/**
 * A line for each request that the view no longer shows. The newest request is open, all others are done. If a model has written
 * about the answers, a request also has a line if only its answer is gone, as in a talk without tools.
 */
function requestItems(task: StoryTask): readonly Item[] {
  const { conversation, from, isShown } = task;
  const { words } = task.quoted;
  const isTold = ({ message, outcome = message }: Request): boolean =>
    isShown(message) && (task.prepared === undefined || isShown(outcome));
  const { messages } = conversation;
  const requests = requestsIn(conversation, from);
  return requests.flatMap((request): readonly Item[] => {
    const asked = messages[request.message];
    if (asked === undefined || isTold(request) || words.has(request.message)) return [];
    const begin = gistOf(wordsOf(loggedMessage(asked)), longestRequest);
    if (begin === "") return [];
    const isOpen = request === requests.at(-1) || request.isWaiting === true;
    const section = isOpen ? "Open" : "Answered";
    const text = request.isShared
      ? workText(begin, request, task)
      : requestText(begin, request, messages, section);
    return [{ section, number: asked.number, isData: false, text }];
  });
}

function requestText(
  words: string,
  { outcome, isLeftOut }: Request,
  messages: readonly VisibleMessage[],
  section: "Open" | "Answered",
): string {
  const closing = messages[outcome ?? -1];
  if (closing !== undefined)
    return storyTexts.done(words, closing.number, outcomeWords(closing, longestOutcome));
  if (isLeftOut === true) return storyTexts.unknownOutcome(words);
  return section === "Open" ? storyTexts.open(words) : storyTexts.said(words);
}

/** The agent did not end its work on this request with words of its own, so the line says what it did. */
function workText(words: string, request: Request, task: StoryTask): string {
  const what = workOn(request, task, longestOutcome);
  return what === "" ? storyTexts.said(words) : storyTexts.worked(words, what);
}

/** What the agent did between a request and the next one. */
function workOn({ message }: Request, { conversation, acts }: StoryTask, longest: number): string {
  const { messages } = conversation;
  const next = messages.findIndex(
    (visible, index) => index > message && isSpoken(loggedMessage(visible)),
  );
  const own = acts.filter((act) => act.message > message && (next < 0 || act.message < next));
  return shortened(happeningIn(own), longest);
}

function outcomeWords(closing: VisibleMessage, longest: number): string {
  return outcomeGistOf(wordsOf(loggedMessage(closing)), longest);
}

/** An outcome next to a quoted request has this many characters. With less room, the story says only where the answer is. */
const shortOutcome = { least: 60, most: 140 };
const charactersPerToken = 4;

/** Requests in the user's own words, on lines of their own. The newest ones have a short outcome, as far as there is room. */
function quotedItems(
  task: StoryTask,
  words: ModelWords | undefined,
  outcomeTokens: number,
): readonly Item[] {
  const { conversation, from, isShown, quoted } = task;
  const requests = requestsIn(conversation, from).filter(
    ({ message }) => quoted.words.has(message) && !isShown(message),
  );
  let room = outcomeTokens * charactersPerToken;
  const items = requests.toReversed().map((request, later): Item => {
    const quotation = quoted.words.get(request.message) ?? "";
    const longest = fairShare(room, requests.length - later);
    const { end, text } = quotedRequest(task, request, { quotation, longest, words });
    room -= end.length;
    const number = conversation.messages[request.message]?.number ?? 0;
    return { section: "Answered", number, isData: false, text };
  });
  return items.toReversed();
}

/** Number of characters for one of so many outcomes. */
function fairShare(room: number, outcomes: number): number {
  const { least, most } = shortOutcome;
  return room < least ? 0 : Math.floor(Math.min(most, Math.max(least, room / outcomes)));
}

interface Quoting {
  readonly quotation: string;
  /** Number of characters that the outcome may have. */
  readonly longest: number;
  readonly words: ModelWords | undefined;
}

function quotedRequest(
  task: StoryTask,
  request: Request,
  quoting: Quoting,
): { readonly end: string; readonly text: string } {
  const { quotation, longest } = quoting;
  if (request.isShared) {
    const end = longest === 0 ? "" : workOn(request, task, longest);
    if (end !== "") return { end, text: storyTexts.quotedWork(inItem(quotation), end) };
  }
  const { messages } = task.conversation;
  const [asked, closing] = [messages[request.message], messages[request.outcome ?? -1]];
  const end = longest === 0 ? "" : shortOutcomeOf(asked, closing, quoting);
  return { end, text: storyTexts.quoted(inItem(quotation), closing?.number, end) };
}

function shortOutcomeOf(
  asked: VisibleMessage | undefined,
  closing: VisibleMessage | undefined,
  { longest, words }: Quoting,
): string {
  if (asked === undefined || closing === undefined) return "";
  return words?.outcomeOf(asked.number, closing.number) ?? outcomeWords(closing, longest);
}

/** A line that begins like an item or a heading would end this item when the story is read back. */
function inItem(words: string): string {
  return withoutHandles(words)
    .trim()
    .replaceAll(/^(?=- |## )/gm, " ");
}

interface Parts {
  readonly rules: readonly Item[];
  readonly failures: readonly Item[];
  readonly changed: readonly (Item | ChangeLine)[];
  readonly done: readonly Item[];
  readonly quoted: (outcomeTokens: number) => readonly Item[];
  /** The newest request, if the view does not show it. */
  readonly open: readonly Item[];
  /** Lines of other sections, from a summary that a model wrote or from an older version. */
  readonly others: readonly Item[];
}

/** Takes the lines in the order of their importance until the room is used up, and counts the lines that it leaves out. */
function fitted(
  { tokens, count, quoted: { outcomeTokens, freeTokens } }: StoryTask,
  parts: Parts,
): string {
  let left = tokens;
  const taken: Item[] = [];
  const take = <T extends Item>(items: readonly T[], most: number): readonly T[] => {
    const leftOut: T[] = [];
    for (const item of items) {
      const cost = count(`${lineOf(item)}\n`);
      if (isCounted(item) || cost > most - (tokens - left)) leftOut.push(item);
      else {
        left -= cost;
        taken.push(item);
      }
    }
    return leftOut;
  };
  const rules = take(parts.rules.toReversed(), tokens * 2);
  take(parts.failures.toReversed(), tokens * 2);
  const changed = take(parts.changed.toReversed(), tokens * 2);
  const quoted = parts.quoted(Math.min(outcomeTokens, freeTokens - (tokens - left)));
  const { atLength, inAll } = roomForRequests(tokens, tokens - left);
  const done = take(take(parts.done.toReversed(), atLength).map(briefly), inAll);
  take(parts.others.toReversed(), tokens);
  const rest = [...countedRules(rules), ...countedChanges(changed), ...countedRequests(done)];
  return formatSummary([...taken.toReversed(), ...quoted, ...parts.open, ...rest]);
}

/**
 * How far lines about answered requests may fill the story. They stop at the first limit. Older requests are then told in fewer
 * words up to the second one, so that more of them have their outcome.
 */
function roomForRequests(
  tokens: number,
  taken: number,
): { readonly atLength: number; readonly inAll: number } {
  const inAll = Math.min(tokens * 2, Math.max(tokens, taken + tokens * doneShare));
  return { atLength: (inAll + taken) / 2, inAll };
}

/** Lines about answered requests have at least this share of the story's room, even if rules and changes have used it up. */
const doneShare = 0.5;
const briefRequest = 60;
const briefOutcome = 80;
const answeredLine = /^(asked):\s(.+?)\s(→ (?:#\d+(?: asked back)?: )?)(.+)$/s;

/** A line about a request in fewer words. Lines of other forms stay as they are. */
function briefly(item: Item): Item {
  const [, verb, request = "", arrow = "", outcome = ""] = answeredLine.exec(item.text) ?? [];
  if (verb === undefined) return item;
  const brief = `${gist(request, briefRequest)} ${arrow}${gist(outcome, briefOutcome)}`;
  return { ...item, text: storyTexts.open(brief) };
}

function gist(words: string, longest: number): string {
  return words.length <= longest ? words : shortGistOf(words, longest);
}

/** A line that counts other lines, from an earlier story. */
const countedLine =
  /^(\d{1,9}) (?:more rules?|more lines? of changes|earlier requests?)(?: \(#(\d+)(?:–#(\d+))?\))?$/;

function isCounted({ text, number }: Item): boolean {
  return number === undefined && countedLine.test(text);
}

/** Number of lines that these items stand for. */
function amountOf(items: readonly Item[]): number {
  return items.reduce((sum, { text }) => sum + Number(countedLine.exec(text)?.[1] ?? 1), 0);
}

function countedRules(items: readonly Item[]): readonly Item[] {
  const amount = amountOf(items);
  if (amount === 0) return [];
  return [{ section: "Rules", isData: false, text: storyTexts.moreRules(amount) }];
}

function countedChanges(items: readonly (Item | ChangeLine)[]): readonly Item[] {
  const grouped = groupedChanges(items.filter((item) => "changes" in item));
  const amount = amountOf(items.filter((item) => !("changes" in item)));
  if (amount === 0) return grouped;
  return [...grouped, { section: "Changed", isData: false, text: storyTexts.moreChanges(amount) }];
}

function countedRequests(items: readonly Item[]): readonly Item[] {
  const amount = amountOf(items);
  if (amount === 0) return [];
  const numbers = items.flatMap(({ number, text }) => {
    const [, , first, last = first] = countedLine.exec(text) ?? [];
    return number === undefined
      ? [first, last].flatMap((end) => (end ? [Number(end)] : []))
      : [number];
  });
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  const text = storyTexts.earlierRequests(amount, first, last);
  return [{ section: "Answered", isData: false, text }];
}
