/** What stands in place of what left the window, which handles open it, and what can be undone. Pure. */

import type { MessageDetails } from "plimsoll/api";
import type { CompactionEndEvent } from "plimsoll/events";
import { whatItDid } from "plimsoll/watch/edit-words";

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
}

/** Newest first, each once. Several edits of a compaction may name the same one: the summary's own says what it is. */
export function handlesOf(
  edits: readonly Edit[],
  receipts: readonly CompactionEndEvent[],
): readonly OpenHandle[] {
  const found = new Map<string, OpenHandle>();
  for (const { at, handles, reason } of receipts)
    for (const handle of handles) found.set(handle, { handle, at, what: `Compaction: ${reason}` });
  const summaries = new Set<string>();
  for (const edit of edits) {
    const handle = "handle" in edit.action ? edit.action.handle : undefined;
    if (handle === undefined || summaries.has(handle)) continue;
    if (edit.action.kind === "insert") summaries.add(handle);
    found.set(handle, openBy(edit, handle));
  }
  return [...found.values()].toSorted(
    (one, other) => other.at - one.at || (other.edit ?? 0) - (one.edit ?? 0),
  );
}

function openBy(edit: Edit, handle: string): OpenHandle {
  const { at, seq, action, tokensBefore } = edit;
  if (action.kind === "insert")
    return { handle, at, what: "All that a compaction took out", edit: seq };
  const tokens = tokensBefore > 0 ? { tokens: tokensBefore } : {};
  return { handle, at, what: whatItDid(edit).full, edit: seq, ...tokens };
}
