/** Handles: names for what left the window, that nobody can guess and that text cannot fake. */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const handlePattern = /^pl_[0-9A-Za-z]{22}$/;

/** Keyed hash; the key belongs to the store. At least 16 bytes come back. */
export type Sign = (text: string) => Uint8Array;

export interface HandleSubject {
  readonly tenant: string;
  readonly session: string;
  /** SHA-256 of the content, in hex. */
  readonly contentHash: string;
}

/** The same content in the same session always has the same handle. */
export function makeHandle(sign: Sign, subject: HandleSubject): string {
  const mac = sign(`handle\0${subject.tenant}\0${subject.session}\0${subject.contentHash}`);
  return `pl_${base62(mac.subarray(0, 16))}`;
}

/** Only the shape: whether it opens anything is for the store to say. */
export function looksLikeHandle(text: string): boolean {
  return handlePattern.test(text);
}

/** A handle is a name for us to give: one that somebody said is not repeated. Never longer than before. */
export function withoutHandles(text: string): string {
  return text.replace(/pl_[0-9A-Za-z]{22}/g, "pl_…");
}

/** A long number, the highest byte first, in place; gives the remainder. */
function divide(number: Uint8Array, divisor: number): number {
  let rest = 0;
  for (let index = 0; index < number.length; index++) {
    const value = rest * 256 + (number[index] ?? 0);
    number[index] = Math.floor(value / divisor);
    rest = value % divisor;
  }
  return rest;
}

/** 16 bytes as 22 characters, leading zeros kept: log62(2^128) = 21.5. */
export function base62(bytes: Uint8Array): string {
  const left = bytes.slice();
  let text = "";
  for (let index = 0; index < 22; index++) text = alphabet[divide(left, 62)] + text;
  return text;
}
