/** An edited body is the client's own bytes with replacements spliced in: what is not edited is copied, never written anew. */

import type { BodySlices, Slice } from "./slices.ts";

/** JSON text that takes the place of a range of bytes. */
export interface Splice extends Slice {
  readonly text: string | Uint8Array;
}

const encoder = new TextEncoder();

/** Contract: ranges must not overlap; their order does not matter. */
export function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let position = 0;
  // Of two at one place the empty range comes first: it stands before what is replaced.
  const inOrder = splices.toSorted(
    (left, right) => left.start - right.start || left.end - right.end,
  );
  for (const { start, end, text } of inOrder) {
    if (start < position || end < start || end > bytes.length) {
      throw new RangeError(`Splices overlap at byte ${start}.`);
    }
    const added = typeof text === "string" ? encoder.encode(text) : text;
    pieces.push(bytes.subarray(position, start), added);
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

/** Gives a top-level field another value; one that is not there is put behind `neighbour`, which is. */
export function fieldSplice(
  { fields }: BodySlices,
  name: string,
  json: string,
  neighbour: string,
): Splice {
  const known = fields.get(name);
  if (known !== undefined) return { ...known, text: json };
  const end = fields.get(neighbour)?.end ?? 0;
  return { start: end, end, text: `,${JSON.stringify(name)}:${json}` };
}

/** A slice of a slice, counted from where the outer one is counted. */
export function within(outer: Slice, inner: Slice): Slice {
  return { start: outer.start + inner.start, end: outer.start + inner.end };
}
