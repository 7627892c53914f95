/** Everything that the learned weights look at, as numbers: how a mention was used, and by whom. */

import { plainWords } from "../../search/words.ts";
import type { MentionCount, Utterance } from "./mention-counts.ts";

/** In the order in which `createFeatures` returns them. */
export const featureNames = [
  "age of the last use",
  "exchanges since the last use",
  "calls",
  "mentions beside it",
  "used after a result showed it",
  "share of mentions from such calls that were used",
  "share of its words in the user's last message",
  "weight by hand",
] as const;

/** For a mention that the agent never used. */
const never = { age: 2, exchanges: 12 };
/** A share is an estimate. It begins at this share, as if that many mentions had been seen already. */
const expected = { share: 0.1, mentions: 5 };

export interface FeatureSource {
  readonly names: readonly string[];
  readonly counts: readonly (MentionCount | undefined)[];
  readonly frame: { readonly startOf: readonly number[] };
}

/** Returns a function that gives the features of a mention. It uses the same array for every mention. */
export function createFeatures(
  utterances: readonly Utterance[],
  { names, counts, frame: { startOf } }: FeatureSource,
): (number: number, byHand: number) => Float64Array {
  const all = Math.max(1, startOf.at(-1) ?? 1);
  const ageOf = (message: number): number => 1 - (startOf[message + 1] ?? all) / all;
  const exchangesAfter = exchangesByMessage(utterances, startOf.length);
  const shares = usedShares(counts);
  const asked = lastAsked(utterances);
  const features = new Float64Array(featureNames.length);
  return (number, byHand) => {
    const mention = counts[number];
    if (mention === undefined) return features.fill(0);
    const { calls, fewest, lastUse } = mention;
    const isUsed = lastUse >= 0;
    features.set([
      isUsed ? ageOf(lastUse) : never.age,
      isUsed ? Math.log2(1 + (exchangesAfter[lastUse] ?? 0)) : never.exchanges,
      Math.log2(1 + calls),
      Math.log2(fewest),
      Number(isUsedAfterSeen(mention)),
      shares(mention),
      shareOfWords(names[number] ?? "", asked),
      Math.log2(byHand),
    ]);
    return features;
  };
}

/** Number of messages of the agent after each message. */
function exchangesByMessage(utterances: readonly Utterance[], messages: number): Uint32Array {
  const isAgents = new Uint8Array(messages);
  for (const { message, voice } of utterances)
    if (voice === "call" || voice === "agent") isAgents[message] = 1;
  const after = new Uint32Array(messages);
  for (let message = messages - 2; message >= 0; message--)
    after[message] = (after[message + 1] ?? 0) + (isAgents[message + 1] ?? 0);
  return after;
}

function isUsedAfterSeen({ source, first, lastUse }: MentionCount): boolean {
  return source !== undefined && lastUse > first;
}

/** How many of the mentions that first came from a kind of call the agent used later. A mention itself does not count. */
function usedShares(
  counts: readonly (MentionCount | undefined)[],
): (mention: MentionCount) => number {
  const bySource = new Map<string, { seen: number; used: number }>();
  for (const mention of counts) {
    if (mention?.source === undefined) continue;
    const share = bySource.get(mention.source) ?? { seen: 0, used: 0 };
    bySource.set(mention.source, share);
    share.seen++;
    if (isUsedAfterSeen(mention)) share.used++;
  }
  return (mention) => {
    const share = bySource.get(mention.source ?? "");
    if (share === undefined) return -1;
    const used = share.used - Number(isUsedAfterSeen(mention)) + expected.share * expected.mentions;
    return used / (share.seen - 1 + expected.mentions);
  };
}

function lastAsked(utterances: readonly Utterance[]): ReadonlySet<string> {
  const last = utterances.findLast(({ voice, text }) => voice === "user" && text.trim() !== "");
  const words = utterances
    .filter(({ message, voice }) => voice === "user" && message === last?.message)
    .flatMap(({ text }) => plainWords(text));
  return new Set(words);
}

function shareOfWords(name: string, words: ReadonlySet<string>): number {
  const own = plainWords(name);
  return own.length === 0 ? 0 : own.filter((word) => words.has(word)).length / own.length;
}
