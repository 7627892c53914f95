/** Lists the words and mentions of passages as numbered items, with the worth of each item. */

import { rarest, type TermIndex } from "./bm25.ts";
import { mentionsIn, worthOfStanding } from "./mentions.ts";

export interface SourcePassage {
  readonly text: string;
  /** Number of the message. Passages of the same message share it. */
  readonly message: number;
  /** True if a person or the agent wrote the passage, false if it comes from a tool. */
  readonly isOwn: boolean;
}

export interface Items {
  /** The numbers of the items in each passage. */
  readonly of: readonly (readonly number[])[];
  /**
   * Worth of each item. A word that occurs in one passage is worth 1, and a word that occurs in all passages is worth almost
   * nothing.
   */
  readonly worth: Float64Array;
  /** The item number of a mention. Undefined if no passage contains it. */
  mention(name: string): number | undefined;
}

/** Worth of a mention. Names, paths and numbers answer a question more often than rare words do. */
const mentionWorth = 5;
/**
 * Factor for mentions that people or the agent have used themselves. These are more likely to be used again (AUC 0.8 for "is used
 * later" in coding traces).
 */
const ownFactor = 2;
interface ReferenceCount {
  readonly number: number;
  messages: number;
  lastMessage: number;
  isOwn: boolean;
  /** The smallest number of mentions in any passage that contains this mention. */
  fewest: number;
}

/** Contract: the documents of `terms` are these passages, in the same order. */
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
