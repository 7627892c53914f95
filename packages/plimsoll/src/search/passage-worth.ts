/** What passages tell: words and mentions, by number, and what it is worth to be told each of them once. */

import { rarest, type TermIndex } from "./bm25.ts";
import { mentionsIn, worthOfStanding } from "./mentions.ts";

export interface ToldPassage {
  readonly text: string;
  /** Passages of one message have one number. */
  readonly message: number;
  /** Said by a person or the agent, not by a tool. */
  readonly isOwn: boolean;
}

export interface Items {
  /** The items of each passage. */
  readonly of: readonly (readonly number[])[];
  /** A word of one passage is worth 1, one of all of them nearly nothing. */
  readonly worth: Float64Array;
  /** The number of a mention; undefined when no passage has it. */
  mention(name: string): number | undefined;
}

/** A name, path or number answers a question more often than a rare word does. */
const mentionWorth = 5;
/** What people or the agent have used themselves, they use again (AUC 0.8 for "is used later" in coding traces). */
const ownFactor = 2;
interface Tally {
  readonly number: number;
  messages: number;
  lastMessage: number;
  isOwn: boolean;
  /** Of all passages that have it, the fewest mentions in one. */
  fewest: number;
}

/** `terms` has the same passages, in the same order, as its documents. */
export function itemsOf(passages: readonly ToldPassage[], terms: TermIndex): Items {
  const of: number[][] = passages.map(() => []);
  const worth: number[] = [];
  for (const term of terms.terms()) {
    for (const { document } of terms.postings(term)) of[document]?.push(worth.length);
    worth.push(terms.rarity(term) / rarest(terms.size));
  }
  const tallies = new Map<string, Tally>();
  for (const [i, passage] of passages.entries()) {
    const mentions = mentionsIn(passage.text);
    for (const name of mentions.keys()) {
      const tally = tallies.get(name) ?? newTally(worth.length + tallies.size);
      tallies.set(name, tally);
      count(tally, passage, mentions.size);
      of[i]?.push(tally.number);
    }
  }
  for (const tally of tallies.values()) worth.push(worthOfMention(tally));
  return {
    of,
    worth: Float64Array.from(worth),
    mention: (name) => tallies.get(name)?.number,
  };
}

function newTally(number: number): Tally {
  return { number, messages: 0, lastMessage: -1, isOwn: false, fewest: Number.POSITIVE_INFINITY };
}

function count(tally: Tally, { message, isOwn }: ToldPassage, mentions: number): void {
  if (tally.lastMessage !== message) tally.messages += 1;
  tally.lastMessage = message;
  tally.isOwn ||= isOwn;
  tally.fewest = Math.min(tally.fewest, mentions);
}

function worthOfMention({ messages, isOwn, fewest }: Tally): number {
  return mentionWorth * (isOwn ? ownFactor : 1) * worthOfStanding({ messages, fewest });
}
