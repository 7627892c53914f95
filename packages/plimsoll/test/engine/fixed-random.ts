/**
 * Replaces random values by values from a seed, for tests that compare sent bytes. Handles come from a random key and a random
 * session id, and the number of tokens of a handle depends on its characters.
 */

import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { diceOf } from "../../demo/dice.ts";
import { newId } from "../../src/session/log/ids.ts";

/** From now on, the ids and keys of this process come from the seed, as if the process had just started. */
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
  // File names use a separate generator, because their number depends on how often the product is opened.
  const other = diceOf(seed + 1);
  const randomBytes = (size: number): Buffer =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(other() * 256)));
  Object.assign(nodeCrypto, { randomFillSync: fill, randomBytes });
  syncBuiltinESMExports();
  globalThis.crypto.getRandomValues = fill as typeof globalThis.crypto.getRandomValues;
  // Ids use random bytes that were fetched in advance. Use up the old ones.
  while (!isAsked) newId("turn");
}
