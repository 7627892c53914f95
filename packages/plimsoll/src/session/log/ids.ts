/** Random ids that nobody can guess, and hashes of long texts. */

import { hash, randomFillSync } from "node:crypto";
import { base62 } from "../../message/handle.ts";

export function newId(prefix: "ses" | "br" | "turn" | "step"): string {
  return `${prefix}_${base62(nextRandom())}`;
}

const idBytes = 16;
/** A supply of random bytes for ids. It is filled in advance, because fetching random bytes for each id would be slow. */
const random = new Uint8Array(256 * idBytes);
let randomUsed = random.length;

function nextRandom(): Uint8Array {
  if (randomUsed === random.length) {
    randomFillSync(random);
    randomUsed = 0;
  }
  randomUsed += idBytes;
  return random.subarray(randomUsed - idBytes, randomUsed);
}

const idPattern = /^[a-z]{2,4}_[0-9A-Za-z]{22}$/;

export function looksLikeId(text: string): boolean {
  return idPattern.test(text);
}

/** Hashes the text as UTF-16. In UTF-8, all lone surrogates would become the same bytes. */
export function longTextHash(text: string): string {
  return `#${hash("sha256", Buffer.from(text, "utf16le"), "base64url")}`;
}
