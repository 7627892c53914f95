/** Reads the messages of a unit a few at a time, because a unit may contain thousands. Pure. */

import type { MessageDetails } from "plimsoll/api";

/** Numbers of messages in the log, including the first and the last. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const messagesAtOnce = 6;

/**
 * The range to read next, or undefined if all messages were read. The first message of a range must be on the branch, so the
 * range begins with the last message that was read, because that message is on the branch. If the last page contained nothing
 * new, because the numbers jump by more than a page, all remaining messages are requested.
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

/** Joins two pages. Each message and each edit occurs once, in order. */
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
