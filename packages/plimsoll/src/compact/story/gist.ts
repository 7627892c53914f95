/** The sentence of a message that says most about it. */

import { sentencesIn } from "../../text/sentences.ts";
import { clean, shortened } from "../evidence/safe-text.ts";
import { outcomeIn } from "../evidence/sentences.ts";

/** Enough characters of a message to find that sentence. */
const longestRead = 2_000;

/** Words that agree, praise or thank. They say nothing about the work. */
const courtesy =
  /^(?:you['’]re (?:\w+ )?right|(?:that['’]s )?(?:perfect|great|excellent|wonderful|fantastic|awesome|nice)|good (?:question|point|catch|idea|news)|ah|oh|sure|ok(?:ay)?|yes|no problem|thanks?|thank you|done|got it|understood|of course|certainly|absolutely|i (?:see|understand|apologi[sz]e))\b[^:]{0,30}[!.,]?\s*$/i;

/** Fewer words than this hardly say anything. A script without spaces has more letters in a word. */
const fewestWords = 3;
const wordsWithoutSpaces = /[\p{Lo}]{6,}/u;

/**
 * The first sentence that says something about the work. If it announces a list, the beginning of the list belongs to it. A longer
 * text is cut between words, and ends with "…".
 */
export function gistOf(text: string, longest: number): string {
  const sentences = readSentences(text);
  return gistFrom(sentences, Math.max(0, sentences.findIndex(isTelling)), longest);
}

/**
 * The sentence of the agent's closing words that says what came of the request: the first one that reports success or failure, or
 * else that is neither an offer nor the title of a list.
 */
export function outcomeGistOf(text: string, longest: number): string {
  const sentences = readSentences(text);
  const ranks = sentences.map(outcomeRank);
  const best = Math.max(0, ranks.indexOf(Math.max(...ranks)));
  const gist = gistFrom(sentences, best, longest);
  const next = sentences[best + 1];
  const isShort = gist.length < shortGist && !gist.endsWith("…") && gist === sentences[best];
  return isShort && next !== undefined && outcomeRank(next) > 1 && !next.endsWith("?")
    ? shortGistWith(gist, next, longest)
    : gist;
}

/** An outcome of fewer characters, such as "HB-12 is done.", hardly says anything, so the next sentence belongs to it. */
const shortGist = 30;

function shortGistWith(gist: string, next: string, longest: number): string {
  const both = `${gist}${/[.!:;?。]$/.test(gist) ? "" : ":"} ${next}`;
  const whole = shortened(both, longest);
  return whole === both ? both : `${whole} …`;
}

/** The beginning of a gist. It ends with "…" where it is cut. */
export function shortGistOf(gist: string, longest: number): string {
  return `${shortened(clean(gist), longest).replace(/[\s.…:,;]+$/, "")} …`;
}

function readSentences(text: string): readonly string[] {
  return sentencesIn(text.slice(0, longestRead))
    .map(clean)
    .filter((one) => one !== "");
}

function isTelling(sentence: string): boolean {
  const isLong = sentence.split(/\s+/).length >= fewestWords || wordsWithoutSpaces.test(sentence);
  return isLong && !courtesy.test(sentence);
}

const done = /\b(?:is|are|it['’]s|all|now) (?:now |all )?(?:done|complete[d]?|finished|ready)\b/i;

/** Whether the agent's closing words say that its work succeeded, and of nothing that failed. */
export function saysDone(text: string): boolean {
  const outcomes = readSentences(text).map((one) =>
    done.test(one) && outcomeIn(one) === "neither" ? "worked" : outcomeIn(one),
  );
  return outcomes.includes("worked") && !outcomes.includes("failed");
}

/** Words with which an agent asks for something that it needs, without a question mark. */
const asking =
  /^(?:please|kindly|(?:could|can|would) you)\b.*\b(?:provide|tell|confirm|share|give|send|specify|let me know|choose|select)\b|\bif you (?:can|could) (?:provide|tell|share|give|send)\b|\bI(?:['’]ll)? need (?:to know|your|the)\b/i;

/** Whether the agent's closing words only ask for something. An offer of more help after some work does not. */
export function asksBack(text: string): boolean {
  const sentences = readSentences(text).filter(isTelling);
  if (saysDone(text) || sentences.length > mostSentences) return false;
  const asks = sentences.filter((one) => one.endsWith("?") || asking.test(one));
  return asks.length > 0 && !offer.test(asks.at(-1) ?? "");
}

/** A longer answer says something, even if it also asks. */
const mostSentences = 4;

/** Words with which an agent offers more help, or hands over to the user. */
const offer =
  /\b(?:let me know|would you like|if you (?:have|need|would|want)|is there anything|feel free|happy to help|how (?:can|may) I)\b/i;
const result =
  /\b(?:cannot|can['’]t|not (?:possible|available|eligible|allowed|supported|found)|no longer|unable|unchanged|in total|the total|turned out)\b/i;

/** An item of a list, a line of code, or a heading that says nothing alone. */
const unfitOutcome = /^(?:[-*•☐☒✓✗]\s|\d{1,2}[.)]\s|```|#{1,6}\s|\||[$>] )|[{};]$/;

function outcomeRank(sentence: string): number {
  if (!isTelling(sentence) || offer.test(sentence)) return 0;
  if (sentence.endsWith(":") || unfitOutcome.test(sentence)) return 1;
  return outcomeIn(sentence) !== "neither" || result.test(sentence) ? 3 : 2;
}

/** One sentence. If it announces a list, the beginning of the list belongs to it. */
function gistFrom(sentences: readonly string[], from: number, longest: number): string {
  let gist = sentences[from] ?? "";
  for (let next = from + 1; next < sentences.length && announces(gist, longest); next++)
    gist = `${gist} ${sentences[next]}`;
  const whole = shortened(gist, longest);
  return whole === gist ? whole : `${whole.replace(bareMarker, "")} …`;
}

/** The marker of a list item whose words did not fit. */
const bareMarker = /(?:\s(?:[-*•]|\d{1,2}[.)]))+$/;
const listItem = /(?:^|\s)(?:[-*•]|\d{1,2}[.)])\s/;

/** Whether the text ends with a colon, or in the middle of a list that began after a colon, and has room for more. */
function announces(gist: string, longest: number): boolean {
  if (gist.length >= longest) return false;
  const colon = gist.lastIndexOf(":");
  return gist.endsWith(":") || (colon > 0 && listItem.test(gist.slice(colon)));
}
