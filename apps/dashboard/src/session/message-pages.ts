/** The messages of a unit, read a few at a time: a unit may stand for thousands. Pure. */

import type { MessageDetails } from "plimsoll/api";

/** Numbers in the log, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const messagesAtOnce = 6;

/**
 * What to read next; undefined when all was read. The service asks that the first message is one of the branch, and the last
 * one that was read is: it is read again, and known already. Where numbers jump by more than a page, all that is left is asked for.
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
