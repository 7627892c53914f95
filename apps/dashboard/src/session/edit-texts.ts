/** What stands in place of what left the window, which handles open it, and what can be undone. Pure. */

import type { MessageDetails } from "plimsoll/api";
import type { CompactionEndEvent } from "plimsoll/events";
import { whatItDid } from "plimsoll/watch/edit-words";
import { reasonWords } from "./reason-words.ts";

type Edit = MessageDetails["edits"][number];

/** What the model reads in place of what left; undefined where nothing does. */
export function textOf({ action }: Edit): string | undefined {
  return "text" in action && action.text !== "" ? action.text : undefined;
}

export function mayUndo({ action }: Edit): boolean {
  return action.kind !== "checkpoint" && action.kind !== "pin" && action.kind !== "expand";
}

/** The texts of a fresh start, or of the summaries that a compaction left: what the model goes on from. */
export function handoverOf(
  { edits: made, strategies }: Pick<CompactionEndEvent, "edits" | "strategies">,
  edits: readonly Edit[],
): readonly string[] {
  const own = new Set(made);
  const isFresh = strategies.includes("fresh_start");
  return edits
    .filter(({ seq, strategy }) => own.has(seq) && (!isFresh || strategy === "fresh_start"))
    .filter(({ action }) => action.kind === "fold" || action.kind === "insert")
    .flatMap((edit) => textOf(edit) ?? []);
}

export interface OpenHandle {
  readonly handle: string;
  readonly at: number;
  readonly what: string;
  /** Of what is behind it; absent where only a receipt names it. */
  readonly tokens?: number;
  readonly edit?: number;
  /** What the compaction came to whose whole is behind it. */
  readonly size?: HandleSize;
}

export type HandleSize = Pick<
  CompactionEndEvent,
  "tokensBefore" | "tokensAfter" | "messagesTakenOut"
>;

/** Enough to know it again. */
export function shortHandle(handle: string): string {
  return handle.length > 12 ? `${handle.slice(0, 11)}…` : handle;
}

/** Newest first, each once. Several edits of a compaction may name the same one: the summary's own says what it is. */
export function handlesOf(
  edits: readonly Edit[],
  receipts: readonly CompactionEndEvent[],
): readonly OpenHandle[] {
  const found = new Map<string, OpenHandle>();
  const endOf = new Map<number, CompactionEndEvent>();
  for (const end of receipts) {
    for (const seq of end.edits) endOf.set(seq, end);
    for (const handle of end.handles) found.set(handle, wholeOf(end, handle));
  }
  const summaries = new Set<string>();
  for (const edit of edits) {
    const handle = "handle" in edit.action ? edit.action.handle : undefined;
    if (handle === undefined || summaries.has(handle)) continue;
    if (edit.action.kind === "insert") summaries.add(handle);
    found.set(handle, openBy(edit, handle, endOf.get(edit.seq)));
  }
  return [...found.values()].toSorted(
    (one, other) => other.at - one.at || (other.edit ?? 0) - (one.edit ?? 0),
  );
}

function wholeOf({ at, reason, ...end }: CompactionEndEvent, handle: string): OpenHandle {
  const { tokensBefore, tokensAfter, messagesTakenOut } = end;
  const size = { tokensBefore, tokensAfter, messagesTakenOut };
  return { handle, at, what: `All that a compaction took out: ${reasonWords(reason)}`, size };
}

function openBy(edit: Edit, handle: string, end: CompactionEndEvent | undefined): OpenHandle {
  const { at, seq, action, tokensBefore } = edit;
  if (action.kind === "insert" && end !== undefined) return { ...wholeOf(end, handle), edit: seq };
  if (action.kind === "insert")
    return { handle, at, what: "All that a compaction took out", edit: seq };
  const tokens = tokensBefore > 0 ? { tokens: tokensBefore } : {};
  return { handle, at, what: whatItDid(edit).full, edit: seq, ...tokens };
}
