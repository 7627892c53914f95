/** The messages of a unit, read a few at a time, because a unit may cover thousands. Pure. */

import type { MessageDetails } from "plimsoll/api";

/** Numbers in the log, both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const messagesAtOnce = 6;

/**
 * The range to read next, or undefined if everything was read. The first message of a range must be on the
 * branch, so the range begins with the last message that was read, which is known to be on it. If the last
 * page brought nothing new, because the numbers jump by more than a page, the whole rest is requested.
 */
export function nextRange(
  { first, last }: Range,
  known: MessageDetails | undefined,
  hasStalled: boolean,
): Range | undefined {
  const from = known?.items.at(-1)?.seq;
  if (from !== undefined && from >= last) return undefined;
  const begin = from ?? first;
  return { first: begin, last: hasStalled ? last : Math.min(last, begin + messagesAtOnce) };
}

/** Each message and each edit once, in order. */
export function joined(known: MessageDetails | undefined, page: MessageDetails): MessageDetails {
  if (known === undefined) return page;
  return { items: once(known.items, page.items), edits: once(known.edits, page.edits) };
}

function once<T extends { readonly seq: number }>(
  known: readonly T[],
  more: readonly T[],
): readonly T[] {
  const bySeq = new Map([...known, ...more].map((item) => [item.seq, item]));
  return [...bySeq.values()].toSorted((one, other) => one.seq - other.seq);
}
