/** Edits a body by splicing replacements into the client's own bytes. All other bytes are copied unchanged. */

import type { BodySlices, Slice } from "./slices.ts";

/** JSON text that replaces a range of bytes. */
export interface Splice extends Slice {
  readonly text: string | Uint8Array;
}

const encoder = new TextEncoder();

/** Contract: ranges must not overlap. Their order does not matter. */
export function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let position = 0;
  // If two splices start at the same place, the empty range comes first, so that an insertion precedes a replacement.
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

/** Removes an element that is not the last one of its array. Removals of several elements do not overlap. */
export function withoutElement(elements: readonly Slice[], index: number): Splice | undefined {
  const [own, next] = [elements[index], elements[index + 1]];
  return own && next && { start: own.start, end: next.start, text: "" };
}

/**
 * The range of bytes to cut out in order to remove elements `first` to `last` of an array. It includes one of the commas next to
 * them.
 */
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

/** Sets the value of a top-level field. If the field is absent, inserts it after the field `neighbour`, which must exist. */
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

const comma = encoder.encode(",");

/** Elements of an array, with commas between them. */
export function joinElements(elements: readonly Uint8Array[]): Uint8Array {
  return join(elements.flatMap((bytes, index) => (index === 0 ? [bytes] : [comma, bytes])));
}

/** Turns a slice with positions relative to `outer` into one with positions relative to the whole body. */
export function within(outer: Slice, inner: Slice): Slice {
  return { start: outer.start + inner.start, end: outer.start + inner.end };
}
