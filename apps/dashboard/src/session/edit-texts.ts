/** The texts that replace removed content, the handles of that content, and the edits that can be undone. Pure. */

import type { ArchiveRow, EditRow, MessageDetails } from "plimsoll/api";
import type { CompactionEndEvent } from "plimsoll/events";
import { whatItDid } from "plimsoll/watch/edit-words";
import { reasonWords } from "./reason-words.ts";

type Edit = MessageDetails["edits"][number];

/** The text that the model sees instead of the edited content. Undefined if the edit has no such text. */
export function textOf({ action }: Edit): string | undefined {
  return "text" in action && action.text !== "" ? action.text : undefined;
}

export function mayUndo({ action }: Edit): boolean {
  return action.kind !== "checkpoint" && action.kind !== "pin" && action.kind !== "expand";
}

/** The texts of a fresh start, or the summaries of a compaction. The model continues from these. */
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

/** The numbers of the messages that an edit touches, after a comma. Empty if it touches none. */
export function messagesWords({ messages }: Pick<EditRow, "messages">): string {
  if (messages === undefined) return "";
  const { first, last } = messages;
  return first === last ? `, message ${first}` : `, messages ${first}–${last}`;
}

/** What is behind a handle: how many messages, which, and how they begin. */
export function heldWords({ messages, first, last, begins }: ArchiveRow): string {
  const count =
    messages === 1 ? `1 message (#${first})` : `${messages} messages (#${first}–#${last})`;
  return begins === "" ? count : `${count}: ${begins}`;
}

export interface OpenHandle {
  readonly handle: string;
  readonly at: number;
  readonly what: string;
  /** Tokens of the handle's content. Absent if only a receipt names the handle. */
  readonly tokens?: number;
  readonly edit?: number;
  /** Figures of the compaction. Set only if the handle covers everything that the compaction removed. */
  readonly size?: HandleSize;
}

export type HandleSize = Pick<
  CompactionEndEvent,
  "tokensBefore" | "tokensAfter" | "messagesTakenOut"
>;

/** The beginning of a handle, long enough to recognise it. */
export function shortHandle(handle: string): string {
  return handle.length > 12 ? `${handle.slice(0, 11)}…` : handle;
}

/**
 * The handles, newest first, without duplicates. Several edits of a compaction may name the same handle. The handle is then
 * described by the edit with the summary.
 */
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
  return { handle, at, what: `Everything that a compaction removed: ${reasonWords(reason)}`, size };
}

function openBy(edit: Edit, handle: string, end: CompactionEndEvent | undefined): OpenHandle {
  const { at, seq, action, tokensBefore } = edit;
  if (action.kind === "insert" && end !== undefined) return { ...wholeOf(end, handle), edit: seq };
  if (action.kind === "insert")
    return { handle, at, what: "Everything that a compaction removed", edit: seq };
  const tokens = tokensBefore > 0 ? { tokens: tokensBefore } : {};
  return { handle, at, what: whatItDid(edit).full, edit: seq, ...tokens };
}
