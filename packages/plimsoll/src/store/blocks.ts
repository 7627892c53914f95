/**
 * Blocks: Plimsoll cuts a long text that changes a little with every turn (such as a system prompt of 50 kB with a date) into
 * blocks, and stores each block once. The content determines the boundaries, so a change moves only the boundaries around it.
 */

import { hash } from "node:crypto";

export interface Block {
  /** Identifies the block's content within its session. The whole text is also checked against its SHA-256. */
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

const idBytes = 8;
/**
 * About one position in 1,024 is a boundary: one at which the highest bits of the rolling hash are 0. The hash depends only on
 * the last 32 bytes.
 */
const boundaryShift = 22;
const blockBytes = { min: 256, max: 4096 } as const;

/** Contract: the blocks, joined together, are exactly `bytes`. */
export function cutBlocks(bytes: Uint8Array): readonly Block[] {
  const blocks: Block[] = [];
  let start = 0;
  let rolling = 0;
  for (let at = 0; at < bytes.length; at++) {
    rolling = ((rolling << 1) + (gear[bytes[at] ?? 0] ?? 0)) | 0;
    const length = at + 1 - start;
    const isBoundary = length >= blockBytes.min && rolling >>> boundaryShift === 0;
    if (!isBoundary && length < blockBytes.max) continue;
    blocks.push(blockOf(bytes.subarray(start, at + 1)));
    start = at + 1;
  }
  if (start < bytes.length) blocks.push(blockOf(bytes.subarray(start)));
  return blocks;
}

function blockOf(bytes: Uint8Array): Block {
  const digest = hash("sha256", bytes, "buffer");
  return { id: new Uint8Array(digest.subarray(0, idBytes)), bytes };
}

export function joinIds(blocks: readonly Block[]): Uint8Array {
  return new Uint8Array(Buffer.concat(blocks.map(({ id }) => id)));
}

export function splitIds(list: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: Math.floor(list.length / idBytes) }, (_, index) =>
    list.subarray(index * idBytes, (index + 1) * idBytes),
  );
}

export function nameOfBlock(id: Uint8Array): string {
  return Buffer.from(id).toString("base64");
}

/** One number for each value of a byte. The numbers are the same on every machine, because the boundaries must not move. */
const gear: Int32Array = (() => {
  const table = new Int32Array(256);
  let state = 0x9e3779b9;
  for (let index = 0; index < table.length; index++) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    table[index] = state;
  }
  return table;
})();
