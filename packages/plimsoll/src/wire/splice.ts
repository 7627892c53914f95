/** An edited body is the client's own bytes with replacements spliced in: what is not edited is copied, never written anew. */

import type { Slice } from "./slices.ts";

/** JSON text that takes the place of a range of bytes. */
export interface Splice extends Slice {
  readonly text: string;
}

const encoder = new TextEncoder();

/** Contract: ranges must not overlap; their order does not matter. */
export function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let position = 0;
  for (const { start, end, text } of splices.toSorted((left, right) => left.start - right.start)) {
    if (start < position || end < start || end > bytes.length) {
      throw new RangeError(`Splices overlap at byte ${start}.`);
    }
    pieces.push(bytes.subarray(position, start), encoder.encode(text));
    position = end;
  }
  pieces.push(bytes.subarray(position));
  return join(pieces);
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

/** The bytes to take out so that elements `first` to `last` of an array are gone, with one of their commas. */
export function elementsRange(
  elements: readonly Slice[],
  first: number,
  last: number,
): Slice | undefined {
  const [from, to] = [elements[first], elements[last]];
  if (from === undefined || to === undefined) return undefined;
  const next = elements[last + 1];
  if (next !== undefined) return { start: from.start, end: next.start };
  return { start: elements[first - 1]?.end ?? from.start, end: to.end };
}

/** A slice of a slice, counted from where the outer one is counted. */
export function within(outer: Slice, inner: Slice): Slice {
  return { start: outer.start + inner.start, end: outer.start + inner.end };
}
