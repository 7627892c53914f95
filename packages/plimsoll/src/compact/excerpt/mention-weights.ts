/**
 * Mention weights: the mentions of a conversation, where they are, and how likely a later turn is to refer to each of them. The
 * excerpt uses these weights to choose the lines to keep.
 */

import { type MentionKind, mentionsIn, worthOfStanding } from "../../search/mentions.ts";
import { tellingWords } from "../../search/words.ts";
import { isErrorLine } from "../../text/trouble.ts";
import { type BoostedTrees, scoreOf } from "./boosted-trees.ts";
import {
  countMentions,
  isAtom,
  type MentionCount,
  type Utterance,
  type Voice,
  type WeightedKind,
} from "./mention-counts.ts";
import { createFeatures } from "./mention-features.ts";

/** Mentions by number. Equal strings have the same number. */
export interface MentionWeights {
  readonly names: readonly string[];
  readonly kinds: readonly WeightedKind[];
  /** The mentions of each utterance, in the order of the utterances. */
  readonly mentions: readonly (readonly number[])[];
  /** The weight of each mention. It is 0 if the head already contains the mention, or if the mention is worth nothing. */
  readonly weights: Float64Array;
}

export interface MentionFrame {
  /** The number of tokens before each message, and the total as the last element. These numbers show how old a mention is. */
  readonly startOf: readonly number[];
  /** Number of messages in the head, which are always visible. */
  readonly headLength: number;
}

/** How often a mention of each kind is repeated later, relative to paths and names. */
const kindWeight: Readonly<Record<MentionKind, number>> = {
  file: 1.2,
  path: 1,
  name: 1,
  date: 0.8,
  id: 0.8,
  url: 0.7,
  email: 0.7,
  number: 0.5,
};
/** Added to the weight of a mention, by source. The agent's own uses add most, because they are likely to recur. */
const used = { call: 1.5, agent: 1, user: 0.3, error: 0.3 };
const ageing = 0.7;
/** Weight of a line that reports an error or a decision, similar to that of an identifier that was used a few times. */
const newsWeight = 1;
/** Weight of a plain word. It is so small that it matters only where there is little else. */
const wordWeight = 0.005;

/** Without `learned`, the weights are those that were set by hand. */
export function readMentionWeights(
  utterances: readonly Utterance[],
  frame: MentionFrame,
  learned?: BoostedTrees,
): MentionWeights {
  const { names, kinds, mentions, counts } = readMentions(utterances, frame);
  const features = learned && createFeatures(utterances, { names, counts, frame });
  const weights = Float64Array.from(names, (_, number) => {
    const kind = kinds[number] ?? "number";
    const byHand = weightOf(kind, counts[number], frame);
    if (learned === undefined || features === undefined || byHand === 0 || !isAtom(kind))
      return byHand;
    return Math.sqrt((byHand * scoreOf(learned, features(number, byHand))) / learned.average);
  });
  return { names, kinds, mentions, weights };
}

/** The mentions of a conversation before they are weighed. */
export interface Mentions extends Omit<MentionWeights, "weights"> {
  readonly counts: readonly (MentionCount | undefined)[];
}

export function readMentions(utterances: readonly Utterance[], frame: MentionFrame): Mentions {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  const kinds: WeightedKind[] = [];
  const numberOf = (name: string, kind: WeightedKind): number => {
    const key = kind === "word" ? `\0${name}` : name;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, names.length);
    names.push(name);
    kinds.push(kind);
    return names.length - 1;
  };
  const nothing: readonly number[] = [];
  const mentions = utterances.map(({ text, voice, isMember = false }) => {
    if (text.trim() === "") return nothing;
    // The keys of JSON are in every record, and the agent knows them from its tools. Only their words count, as in a sentence.
    const named = isMember ? text.replaceAll(jsonKey, " ") : text;
    const own = [...mentionsIn(named)].map(([atom, kind]) => numberOf(atom, kind));
    const words = isMember || voice === "agent" || voice === "user" ? tellingWords(text) : [];
    const news = newsIn(text, voice).map((line) => numberOf(line, "news"));
    return [...own, ...words.map((word) => numberOf(word, "word")), ...news];
  });
  const counts = countMentions(utterances, { mentions, kinds, headLength: frame.headLength });
  return { names, kinds, mentions, counts };
}

const jsonKey = /"[\w$ .-]{1,60}"\s*:/g;

/** Matches a line that reports a decision. Lines that report a decision or an error are worth more than the names in them. */
const decision =
  /\b(?:decided|we(?:'ll| will) (?:use|keep|go)|let's (?:use|go with)|the fix is|root cause|instead of|turns out|because the)\b/i;
const longestNews = 120;

function newsIn(text: string, voice: Voice): readonly string[] {
  const isNews =
    (voice === "result" && isErrorLine(text)) ||
    ((voice === "agent" || voice === "user") && decision.test(text));
  return isNews ? [`\u0001${text.trim().replaceAll(/\d+/g, "0").slice(0, longestNews)}`] : [];
}

/** The weight that was set by hand. */
export function weightOf(
  kind: WeightedKind,
  mention: MentionCount | undefined,
  { startOf }: MentionFrame,
): number {
  if (mention === undefined || mention.isInHead) return 0;
  const messages = Math.max(1, startOf.length - 1);
  if (kind === "word") {
    const rarity = Math.log(1 + messages / mention.messages) / Math.log(1 + messages);
    return wordWeight * rarity * rarity;
  }
  const all = Math.max(1, startOf.at(-1) ?? 1);
  const age = 1 - (startOf[mention.last + 1] ?? all) / all;
  if (kind === "news") return newsWeight * Math.exp(-ageing * age);
  const use =
    1 +
    used.call * Math.log2(1 + mention.calls) +
    (mention.isByAgent ? used.agent : 0) +
    (mention.isAsked ? used.user : 0) +
    (mention.isInError ? used.error : 0);
  return kindWeight[kind] * use * worthOfStanding(mention) * Math.exp(-ageing * age);
}
