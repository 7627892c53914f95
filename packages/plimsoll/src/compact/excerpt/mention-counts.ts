/** Counts where the mentions of a conversation are, and who uses them. */

import type { MentionKind } from "../../search/mentions.ts";
import { alarmOf } from "../../text/trouble.ts";

/** The source of a text: a call of the agent, the agent's words, the user, a tool result, or anything else. */
export type Voice = "call" | "agent" | "user" | "result" | "other";

/** A piece of a message, and its source. */
export interface Utterance {
  /** Index of the message. */
  readonly message: number;
  readonly voice: Voice;
  readonly text: string;
  /** True for a part of JSON. */
  readonly isMember?: boolean;
  /** If it is a result: the kind of call that it answers, such as "bash grep". */
  readonly source?: string | undefined;
}

/** The kinds of mentions, plus "word" for plain words and "news" for lines that report an error or a decision. */
export type WeightedKind = MentionKind | "word" | "news";

export interface MentionCount {
  messages: number;
  first: number;
  last: number;
  calls: number;
  /** Index of the last message in which the agent used the mention, in a call or in its words. -1 if it never did. */
  lastUse: number;
  isByAgent: boolean;
  isAsked: boolean;
  isInError: boolean;
  isInHead: boolean;
  /** The kind of call whose result contained the mention first. Undefined if it was not a result. */
  source: string | undefined;
  /** The smallest number of mentions in any message that contains this mention. */
  fewest: number;
}

export interface ReadMentions {
  readonly mentions: readonly (readonly number[])[];
  readonly kinds: readonly WeightedKind[];
  readonly headLength: number;
}

export function countMentions(
  utterances: readonly Utterance[],
  read: ReadMentions,
): readonly (MentionCount | undefined)[] {
  const { mentions, kinds, headLength } = read;
  const crowd = crowdOf(utterances, mentions, kinds);
  const mentionCounts: (MentionCount | undefined)[] = kinds.map(() => undefined);
  for (const [index, utterance] of utterances.entries()) {
    const { message, voice, text } = utterance;
    const here = {
      isError: voice === "result" && alarmOf(text) === 3,
      isHead: message < headLength,
      mentions: crowd.get(message) ?? 1,
    };
    for (const number of mentions[index] ?? []) {
      const mention = mentionCounts[number] ?? noMentions(utterance);
      mentionCounts[number] = mention;
      count(mention, utterance, here);
    }
  }
  return mentionCounts;
}

interface Here {
  readonly isError: boolean;
  readonly isHead: boolean;
  /** Number of distinct mentions in the message. */
  readonly mentions: number;
}

function count(mention: MentionCount, { message, voice }: Utterance, here: Here): void {
  if (mention.last !== message) mention.messages++;
  mention.last = message;
  if (voice === "call") mention.calls++;
  if (voice === "call" || voice === "agent") mention.lastUse = message;
  mention.isByAgent ||= voice === "agent";
  mention.isAsked ||= voice === "user";
  mention.isInError ||= here.isError;
  mention.isInHead ||= here.isHead;
  mention.fewest = Math.min(mention.fewest, here.mentions);
}

function noMentions({ message: first, source }: Utterance): MentionCount {
  return {
    messages: 0,
    first,
    last: -1,
    calls: 0,
    lastUse: -1,
    source,
    isByAgent: false,
    isAsked: false,
    isInError: false,
    isInHead: false,
    fewest: Number.POSITIVE_INFINITY,
  };
}

export function isAtom(kind: WeightedKind | undefined): boolean {
  return kind !== "word" && kind !== "news";
}

/** Number of distinct mentions in each message. */
function crowdOf(
  utterances: readonly Utterance[],
  mentions: ReadMentions["mentions"],
  kinds: ReadMentions["kinds"],
): ReadonlyMap<number, number> {
  const atomsByMessage = new Map<number, Set<number>>();
  for (const [index, { message }] of utterances.entries()) {
    const own = atomsByMessage.get(message) ?? new Set();
    atomsByMessage.set(message, own);
    for (const number of mentions[index] ?? []) if (isAtom(kinds[number])) own.add(number);
  }
  return new Map([...atomsByMessage].map(([message, own]) => [message, Math.max(1, own.size)]));
}
