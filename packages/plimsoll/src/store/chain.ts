/**
 * Running hashes over a conversation. If two hashes at the same position are equal, the conversations are equal up to that
 * position.
 */

import { hash } from "node:crypto";

/** 132 bits of SHA-256 in base64. That is short enough to keep one hash per message in memory. */
export function shortHash(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}

export function chainRoot(wire: string): string {
  return shortHash(`plimsoll chain of ${wire}`);
}

export function nextChain(chain: string, identity: string): string {
  return shortHash(chain + identity);
}
