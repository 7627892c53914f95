/** Random ids that nobody can guess, and hashes of long texts. */

import { hash, randomFillSync } from "node:crypto";
import { base62 } from "../../message/handle.ts";

export function newId(prefix: "ses" | "br" | "turn" | "step"): string {
  return `${prefix}_${base62(nextRandom())}`;
}

const idBytes = 16;
/** Random bytes are fetched in advance, because fetching them takes longer than making an id. */
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

/** Hashes UTF-16 code units and not UTF-8, in which all lone surrogates would be equal. */
export function longTextHash(text: string): string {
  return `#${hash("sha256", Buffer.from(text, "utf16le"), "base64url")}`;
}
