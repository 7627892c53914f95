/**
 * Remembers the last request of each conversation. Plimsoll compares the next request with the last one, and does not scan, hash
 * or parse their common beginning again.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import {
  type BodySlices,
  type KnownPrefix,
  readSlices,
  resumeSlices,
} from "../../wire/format/slices.ts";
import type { Link, LogMessage } from "../log/log.ts";

/** A request, and the facts that Plimsoll learned from it. */
export interface LearnedRequest {
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  /** The key of the ruler that counted the messages (`Ruler.key`). */
  readonly rulerKey: string;
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
}

export interface RecalledPrefix {
  readonly slices: BodySlices;
  /** The known messages at the start of the request, in order. The list is empty if no message is known. */
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
  readonly rulerKey: string;
}

export interface PrefixMemory {
  recall(key: string, body: Uint8Array, field: string): RecalledPrefix;
  remember(key: string, learned: LearnedRequest): void;
  /** How many bytes the kept bodies take. */
  readonly bytes: number;
}

/** Maximum size of all kept bodies together, in bytes. Bodies over `maxBodyBytes` are not kept. */
const maxKeptBytes = 128 * 1024 * 1024;
const maxBodyBytes = 16 * 1024 * 1024;
/** Maximum number of kept requests. This second bound is needed because very small requests would never reach `maxKeptBytes`. */
const maxKept = 100_000;
const compareBytes = 64 * 1024;

export function createPrefixMemory(): PrefixMemory {
  const kept = new BoundedMap<string, LearnedRequest>({
    entries: maxKept,
    weight: maxKeptBytes,
    weightOf: ({ body }) => body.length,
  });
  return {
    recall: (key, body, field) => {
      const known = kept.get(key);
      const prefix = known && findPrefix(known, body, field);
      if (known === undefined || prefix === undefined) {
        return { slices: readSlices(body), messages: [], links: [], rulerKey: "" };
      }
      return {
        slices: resumeSlices(body, prefix),
        messages: known.messages.slice(0, prefix.count),
        links: known.links.slice(0, prefix.count),
        rulerKey: known.rulerKey,
      };
    },
    remember: (key, learned) => {
      if (learned.body.length > maxBodyBytes) kept.delete(key);
      else kept.set(key, learned);
    },
    get bytes() {
      return kept.weight;
    },
  };
}

function findPrefix(
  known: LearnedRequest,
  body: Uint8Array,
  field: string,
): KnownPrefix | undefined {
  const elements = known.slices.elements.get(field) ?? [];
  const common = commonLength(known.body, body);
  // The byte after an element must be equal, too, because `1` is a prefix of `12`.
  let count = elements.length;
  while (count > 0 && (elements[count - 1]?.end ?? 0) >= common) count--;
  return count === 0 ? undefined : { slices: known.slices, field, count };
}

/**
 * Number of bytes that two bodies have in common at their start. Compares block by block, then bisects the first block that
 * differs.
 */
function commonLength(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  let start = 0;
  while (start < length && isEqual(left, right, start, Math.min(length, start + compareBytes))) {
    start = Math.min(length, start + compareBytes);
  }
  let end = Math.min(length, start + compareBytes);
  while (start < end) {
    const middle = (start + end + 1) >> 1;
    if (isEqual(left, right, start, middle)) start = middle;
    else end = middle - 1;
  }
  return start;
}

function isEqual(left: Uint8Array, right: Uint8Array, start: number, end: number): boolean {
  return Buffer.compare(left.subarray(start, end), right.subarray(start, end)) === 0;
}
