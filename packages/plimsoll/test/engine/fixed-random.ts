/**
 * Randomness from a seed, for those who compare what is sent byte by byte: handles are made from a random key and a random
 * session id, and how many tokens a handle has depends on its characters.
 */

import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { diceOf } from "../../demo/dice.ts";
import { newId } from "../../src/session/log/ids.ts";

/** From now on ids and keys of this process follow from the seed, as if it had just begun. */
export function fixRandom(seed: number): void {
  const random = diceOf(seed);
  let isAsked = false;
  const fill = <T extends NodeJS.ArrayBufferView | null>(array: T): T => {
    isAsked = true;
    if (array !== null)
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).forEach((_, at, bytes) => {
        bytes[at] = Math.floor(random() * 256);
      });
    return array;
  };
  // Apart from ids: how often files get a name that nobody else has depends on how often the product is opened.
  const other = diceOf(seed + 1);
  const randomBytes = (size: number): Buffer =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(other() * 256)));
  Object.assign(nodeCrypto, { randomFillSync: fill, randomBytes });
  syncBuiltinESMExports();
  globalThis.crypto.getRandomValues = fill as typeof globalThis.crypto.getRandomValues;
  // Ids are made of bytes that were asked for in advance: those from before are used up.
  while (!isAsked) newId("turn");
}
