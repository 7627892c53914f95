/** Running hashes over a conversation: equal at the same place = equal up to there. */

import { hash } from "node:crypto";

/** 132 bits of SHA-256 in base64: short enough to keep one per message in memory. */
export function shortHash(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}

export function chainRoot(wire: string): string {
  return shortHash(`plimsoll chain of ${wire}`);
}

export function nextChain(chain: string, identity: string): string {
  return shortHash(chain + identity);
}

/**
 * What a request that contains an answer is recognised by: everything that was said up to the answer, and one message
 * of it. System prompts before the conversation do not count: they change from turn to turn, and where a wire has them
 * among the messages they are none of what was said.
 */
export function answerKeyOf(talkBefore: string, identity: string): string {
  return nextChain(talkBefore, identity);
}
