/** Decides which sessions are deleted because of the setting `retention`. Pure. */

import { bytesIn, millisecondsIn } from "../../config/ages-and-sizes.ts";
import type { Config } from "../../config/schema.ts";
import type { Edit } from "../../message/edit.ts";
import { revertedIn } from "../log/view.ts";

export interface RetentionRules {
  /** In milliseconds. Undefined if the age does not matter. */
  readonly maxAge?: number;
  /** In bytes. Undefined if the size does not matter. */
  readonly maxSize?: number;
}

/** The rules of the configuration. Undefined if it has none. */
export function rulesOf({ retention = {} }: Pick<Config, "retention">): RetentionRules | undefined {
  const maxAge = retention.max_age === undefined ? undefined : millisecondsIn(retention.max_age);
  const maxSize = retention.max_size === undefined ? undefined : bytesIn(retention.max_size);
  if (maxAge === undefined && maxSize === undefined) return undefined;
  return {
    ...(maxAge === undefined ? {} : { maxAge }),
    ...(maxSize === undefined ? {} : { maxSize }),
  };
}

export interface KeptSession {
  readonly id: string;
  readonly updatedAt: number;
  /** The bytes of its content. */
  readonly bytes: number;
}

export interface RetentionState {
  readonly now: number;
  /** Bytes of the whole database. A session's share of them is its share of the content. */
  readonly size: number;
  /** Sessions that stay: they have a pin or are in use. */
  readonly exempt: ReadonlySet<string>;
}

export interface RetentionVerdict {
  /** The sessions to delete, oldest first. */
  readonly due: readonly string[];
  /** The newest session, if the rules say that it goes too. It stays. */
  readonly spared?: string;
}

export function dueSessions(
  sessions: readonly KeptSession[],
  { maxAge = Number.POSITIVE_INFINITY, maxSize = Number.POSITIVE_INFINITY }: RetentionRules,
  { now, size, exempt }: RetentionState,
): RetentionVerdict {
  const content = sessions.reduce((sum, { bytes }) => sum + bytes, 0);
  const scale = content === 0 ? 0 : size / content;
  const due: string[] = [];
  let left = size;
  const byAge = sessions.toSorted(oldestFirst);
  const newest = byAge.at(-1)?.id;
  for (const { id, updatedAt, bytes } of byAge) {
    if (exempt.has(id) || (now - updatedAt <= maxAge && left <= maxSize)) continue;
    if (id === newest) return { due, spared: id };
    due.push(id);
    left -= bytes * scale;
  }
  return { due };
}

function oldestFirst(one: KeptSession, other: KeptSession): number {
  return one.updatedAt - other.updatedAt || (one.id < other.id ? -1 : 1);
}

/** Whether one of these edits is a pin that nobody has released. */
export function hasPin(edits: readonly Edit[]): boolean {
  const reverted = revertedIn(edits);
  return edits.some(({ seq, action }) => action.kind === "pin" && !reverted.has(seq));
}
