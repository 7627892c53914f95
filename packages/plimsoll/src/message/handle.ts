/** Handles: names for content that Plimsoll moved out of the window. Nobody can guess them, and no text can forge them. */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const handlePattern = /^pl_[0-9A-Za-z]{22}$/;

/** A keyed hash of at least 16 bytes. The key belongs to the store. */
export type Sign = (text: string) => Uint8Array;

export interface HandleSubject {
  readonly tenant: string;
  readonly session: string;
  /** SHA-256 of the content, in hex. */
  readonly contentHash: string;
}

/** The same content in the same session always gets the same handle. */
export function makeHandle(sign: Sign, subject: HandleSubject): string {
  const mac = sign(`handle\0${subject.tenant}\0${subject.session}\0${subject.contentHash}`);
  return `pl_${base62(mac.subarray(0, 16))}`;
}

/** Checks only the shape. Only the store knows whether there is content with this handle. */
export function looksLikeHandle(text: string): boolean {
  return handlePattern.test(text);
}

/** Masks handles in quoted text, because only Plimsoll may issue them. The text never gets longer. */
export function withoutHandles(text: string): string {
  return text.replace(/pl_[0-9A-Za-z]{22}/g, "pl_…");
}

/** Divides a big-endian number in place and returns the remainder. */
function divide(number: Uint8Array, divisor: number): number {
  let rest = 0;
  for (let index = 0; index < number.length; index++) {
    const value = rest * 256 + (number[index] ?? 0);
    number[index] = Math.floor(value / divisor);
    rest = value % divisor;
  }
  return rest;
}

/** Writes 16 bytes as 22 characters, with leading zeros. log62(2^128) = 21.5. */
export function base62(bytes: Uint8Array): string {
  const left = bytes.slice();
  let text = "";
  for (let index = 0; index < 22; index++) text = alphabet[divide(left, 62)] + text;
  return text;
}
