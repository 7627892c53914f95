/** Edits and receipts in words: what each did, what stands in place of what left, and which handles open it. Pure. */

import type { MessageDetails } from "plimsoll/api";
import type { CompactionEndEvent, Receipt } from "plimsoll/events";

type Edit = MessageDetails["edits"][number];

export function whatItDid({ action }: Edit): string {
  switch (action.kind) {
    case "replace":
      return action.handle === undefined
        ? "A part was replaced by a shorter text"
        : "A part moved out, behind a handle";
    case "remove":
      return "Taken out, a mark stands in its place";
    case "fold":
      return "Folded into a summary";
    case "insert":
      return action.handle === undefined ? "A note was added" : "A summary was added";
    case "expand":
      return "Shown with the lookups that led to it";
    case "tools":
      return `Tools held back: ${action.kept.length + action.loaded.length} are told`;
    case "pin":
      return "Pinned";
    case "checkpoint":
      return action.label === "" ? "A checkpoint" : `Checkpoint: ${action.label}`;
    case "revert":
      return `Edit ${action.edit} undone`;
    case "restore":
      return action.to === 0 ? "Restored to the beginning" : `Restored to edit ${action.to}`;
  }
}

/** What the model reads in place of what left; undefined where nothing does. */
export function textOf({ action }: Edit): string | undefined {
  return "text" in action && action.text !== "" ? action.text : undefined;
}

/**
 * Numbers of the edits that no longer hold, as the service decides it: from the newest back, because whether a way back
 * holds itself is said by those after it.
 */
export function undoneIn(edits: readonly Edit[]): ReadonlySet<number> {
  const undone = new Set<number>();
  let backTo = Number.POSITIVE_INFINITY;
  for (const { seq, action } of edits.toSorted((one, other) => other.seq - one.seq)) {
    if (seq <= backTo) backTo = Number.POSITIVE_INFINITY;
    else if (action.kind !== "expand") undone.add(seq);
    if (undone.has(seq)) continue;
    if (action.kind === "revert") undone.add(action.edit);
    if (action.kind === "restore") backTo = action.to;
  }
  return undone;
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
  return { handle, at, what: whatItDid(edit), edit: seq, ...tokens };
}

export interface ReceiptRow {
  readonly name: keyof Receipt["classes"];
  readonly facts: number;
  readonly verbatim: number;
  readonly behindHandle: number;
  readonly examples: readonly {
    readonly text: string;
    readonly number: number;
    readonly where: "verbatim" | "behind handle";
  }[];
}

/** As they matter to people: what must hold first, mere numbers last. */
const classes: readonly ReceiptRow["name"][] = [
  "constraint",
  "error",
  "decision",
  "task",
  "command",
  "path",
  "id",
  "number",
];
const examplesMost = 6;

/** Those that the conversation had facts of. */
export function receiptRows(receipt: Receipt): readonly ReceiptRow[] {
  return classes.flatMap((name) => {
    const line = receipt.classes[name];
    if (line === undefined || line.facts === 0) return [];
    const { facts, verbatim, behindHandle } = line;
    const examples = [
      ...line.behindHandleExamples.map((fact) => ({ ...fact, where: "behind handle" as const })),
      ...line.verbatimExamples.map((fact) => ({ ...fact, where: "verbatim" as const })),
    ];
    return [{ name, facts, verbatim, behindHandle, examples: examples.slice(0, examplesMost) }];
  });
}
