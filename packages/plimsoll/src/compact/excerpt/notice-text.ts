/**
 * Plimsoll's text after the head. It says that the conversation was shortened, where the removed content is, and which names that
 * content mentioned.
 */

import { excerptNotice } from "../../text/for-models.ts";
import { estimateTokens } from "./long-lines.ts";
import type { MentionWeights } from "./mention-weights.ts";

/** Placeholder until the handle is known. Tokenizers count at least as many tokens for it as for nearly any other handle. */
const handlePlace = "pl_k7M2q9X4w8Z3v5T1y6R0pN";

export interface Notice {
  readonly text: string;
  readonly tokens: number;
}

/** If the excerpt may have fewer tokens than this, the notice is brief. */
const roomForWords = 1500;

export function noticeFor(room: number, hasArchive: boolean): Notice {
  if (!hasArchive) return { text: excerptNotice("", true), tokens: 16 };
  const isBrief = room < roomForWords;
  return { text: excerptNotice(handlePlace, isBrief), tokens: isBrief ? 34 : 64 };
}

export interface Naming {
  readonly isMentioned: (atom: number) => boolean;
  /** Mentions that are still visible, but no longer in the first message that contained them. */
  readonly dangling: readonly number[];
}

/** `limit` is the approximate maximum number of tokens. */
export function digestText(
  { text, tokens }: Notice,
  mentionWeights: MentionWeights,
  { isMentioned, dangling }: Naming,
  limit: number,
): string {
  const unmentioned = [...mentionWeights.names.keys()].filter((atom) => !isMentioned(atom));
  const names = named(mentionWeights, [...unmentioned, ...dangling], limit - tokens);
  return names.length === 0 ? `[${text}]` : `[${text} Also: ${names.join(" ")}]`;
}

export function withHandle(digest: string, handle: string): string {
  return digest.replace(handlePlace, handle);
}

/** The names that are worth most, as many as fit. */
function named(
  { names, kinds, weights }: MentionWeights,
  atoms: readonly number[],
  tokens: number,
): readonly string[] {
  const wanted = atoms
    .filter((atom) => kinds[atom] !== "word" && kinds[atom] !== "news" && (weights[atom] ?? 0) > 0)
    // A handle that somebody else wrote must not look like one of Plimsoll's.
    .filter((atom) => !names[atom]?.includes("pl_"))
    .map((atom) => ({ atom, cost: estimateTokens(names[atom] ?? "") + 1 }))
    .map(({ atom, cost }) => ({ atom, cost, worth: (weights[atom] ?? 0) / cost ** 0.7 }))
    .toSorted((one, other) => other.worth - one.worth || one.atom - other.atom);
  const taken: string[] = [];
  let left = tokens;
  for (const { atom, cost } of wanted) {
    if (cost > left) continue;
    left -= cost;
    taken.push(names[atom] ?? "");
  }
  return taken;
}
