/** A list of tools in which every tool is one element, as most wires have it. */

import type { BodySlices, Slice } from "./slices.ts";
import { joinElements, type Splice } from "./splice.ts";
import type { ToolChange, WireToolList } from "./wire.ts";

/** The list in this field of the body. */
export function plainToolList(field: string): WireToolList {
  const read = (_body: Uint8Array, slices: BodySlices): readonly Slice[] =>
    slices.elements.get(field) ?? [];
  return {
    read,
    splices: (body, slices, change) => toolSplices(read(body, slices), change),
    toolsIn: (list) => (Array.isArray(list) ? list : []),
    changed: (list, { elements, isWhole }) =>
      isWhole || !Array.isArray(list) ? elements : [...list, ...elements],
  };
}

/**
 * Replaces the bytes from the first tool to the last, or appends tools after the last one. The brackets of the client's list
 * stay.
 */
export function toolSplices(
  listed: readonly Slice[],
  { elements, isWhole }: ToolChange<Uint8Array>,
): readonly Splice[] {
  const [first, last] = [listed[0], listed.at(-1)];
  if (first === undefined || last === undefined || elements.length === 0) return [];
  return isWhole
    ? [{ start: first.start, end: last.end, text: joinElements(elements) }]
    : [{ start: last.end, end: last.end, text: joinElements([new Uint8Array(), ...elements]) }];
}
