/** What passages tell: words and mentions, by number, and what it is worth to be told each of them once. */

import { rarest, type TermIndex } from "./bm25.ts";
import { mentionsIn, worthOfStanding } from "./mentions.ts";

export interface SourcePassage {
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
interface ReferenceCount {
  readonly number: number;
  messages: number;
  lastMessage: number;
  isOwn: boolean;
  /** Of all passages that have it, the fewest mentions in one. */
  fewest: number;
}

/** `terms` has the same passages, in the same order, as its documents. */
export function itemsOf(passages: readonly SourcePassage[], terms: TermIndex): Items {
  const of: number[][] = passages.map(() => []);
  const worth: number[] = [];
  for (const term of terms.terms()) {
    for (const { document } of terms.postings(term)) of[document]?.push(worth.length);
    worth.push(terms.rarity(term) / rarest(terms.size));
  }
  const counts = new Map<string, ReferenceCount>();
  for (const [i, passage] of passages.entries()) {
    const mentions = mentionsIn(passage.text);
    for (const name of mentions.keys()) {
      const counted = counts.get(name) ?? newCount(worth.length + counts.size);
      counts.set(name, counted);
      count(counted, passage, mentions.size);
      of[i]?.push(counted.number);
    }
  }
  for (const counted of counts.values()) worth.push(worthOfMention(counted));
  return {
    of,
    worth: Float64Array.from(worth),
    mention: (name) => counts.get(name)?.number,
  };
}

function newCount(number: number): ReferenceCount {
  return { number, messages: 0, lastMessage: -1, isOwn: false, fewest: Number.POSITIVE_INFINITY };
}

function count(counted: ReferenceCount, { message, isOwn }: SourcePassage, mentions: number): void {
  if (counted.lastMessage !== message) counted.messages += 1;
  counted.lastMessage = message;
  counted.isOwn ||= isOwn;
  counted.fewest = Math.min(counted.fewest, mentions);
}

function worthOfMention({ messages, isOwn, fewest }: ReferenceCount): number {
  return mentionWorth * (isOwn ? ownFactor : 1) * worthOfStanding({ messages, fewest });
}
