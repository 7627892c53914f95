/** Random names that cannot be guessed, and the hashes that identify messages. */

import { hash, randomBytes } from "node:crypto";
import { base62 } from "../message/handle.ts";

export function newId(prefix: "ses" | "br" | "turn" | "step"): string {
  return `${prefix}_${base62(randomBytes(16))}`;
}

const idPattern = /^[a-z]{2,4}_[0-9A-Za-z]{22}$/;

export function looksLikeId(text: string): boolean {
  return idPattern.test(text);
}

/** UTF-16 code units and not UTF-8, in which all lone surrogates would be equal. */
export function longTextHash(text: string): string {
  return `#${hash("sha256", Buffer.from(text, "utf16le"), "base64url")}`;
}
