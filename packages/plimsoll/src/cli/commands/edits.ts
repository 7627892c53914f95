/** `plimsoll edits` and `plimsoll checkpoints`: the edits of a session's view, and the points that can be restored. */

import { existsSync } from "node:fs";
import type { Flags } from "../../config/config.ts";
import type { EditRow } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { editRows } from "../../session/inspect/edited-messages.ts";
import { checkpointsOf } from "../../session/log/checkpoints.ts";
import { revertedIn } from "../../session/log/view.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { readContextHistory } from "../../wire/context-history.ts";
import { readJsonFile } from "../console/json-file.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { oneLine, table } from "../console/terminal.ts";

type EditFlags = Flags & { readonly json?: boolean };

export async function runEdits(id: string | undefined, flags: EditFlags): Promise<void> {
  if (id !== undefined && existsSync(id)) return printHistory(id, flags);
  const edits = await readEdits(id, flags);
  if (flags.json === true) {
    console.log(harmlessJson({ items: edits }));
    return;
  }
  if (edits.length === 0) {
    console.log("Nothing was edited. The model sees every message as it came.");
    return;
  }
  const reverted = revertedIn(edits);
  const rows = edits.map((edit) => [
    edit.seq,
    edit.action.kind,
    reverted.has(edit.seq) ? "undone" : "holds",
    messageNumbers(edit),
    edit.branch,
    edit.strategy,
    edit.tokensBefore === 0 ? "" : `${edit.tokensBefore} → ${edit.tokensAfter}`,
    when(edit.at),
    harmless(oneLine(subjectOf(edit), 60)),
  ]);
  console.log(
    table([
      ["edit", "kind", "", "messages", "branch", "by", "tokens", "when (UTC)", "what"],
      ...rows,
    ]),
  );
}

/** The changes in a `context_history.json` of MarieCoder or Cline. */
function printHistory(file: string, { json }: EditFlags): void {
  const updates = readContextHistory(readJsonFile(file));
  if (json === true) {
    console.log(harmlessJson({ items: updates }));
    return;
  }
  if (updates.length === 0) {
    console.log("This history has no changes.");
    return;
  }
  const rows = updates.map(({ message, block, place, at, text }) => [
    message,
    block,
    place,
    when(at),
    harmless(oneLine(text, 60)),
  ]);
  console.log(table([["message", "block", "kind", "when (UTC)", "what"], ...rows]));
}

/** The numbers of an edit's messages, such as #17 or #17–#19. Empty if it touches none. */
function messageNumbers({ messages }: EditRow): string {
  if (messages === undefined) return "";
  const { first, last } = messages;
  return first === last ? `#${first}` : `#${first}–#${last}`;
}

function readEdits(id: string | undefined, flags: EditFlags): Promise<readonly EditRow[]> {
  return withProgress("Reading edits", { json: flags.json }, () =>
    withStore(flags, async (store) => editRows(store, await chooseSession(store, id))),
  );
}

function subjectOf({ action, reason }: Edit): string {
  switch (action.kind) {
    case "replace":
    case "remove":
    case "fold":
      return `${action.handle ?? ""} ${reason}`;
    case "insert":
      return action.text;
    case "expand":
      return `with ${action.inner.length} messages of lookups`;
    case "tools":
      return `${reason} ${action.loaded.join(" ")}`;
    case "pin":
      return "stays as it is";
    case "checkpoint":
      return action.label;
    case "revert":
      return `undoes edit ${action.edit}`;
    case "restore":
      return `back to edit ${action.to}`;
  }
}

export async function runCheckpoints(id: string | undefined, flags: EditFlags): Promise<void> {
  const points = checkpointsOf(await readEdits(id, flags));
  if (flags.json === true) {
    console.log(harmlessJson({ items: points }));
    return;
  }
  if (points.length === 0) {
    console.log("There is no point to restore yet, because the view was never changed.");
    return;
  }
  const rows = points.map(({ id: point, at, branch, label }) => [
    point,
    branch,
    when(at),
    harmless(oneLine(label, 60)),
  ]);
  console.log(table([["checkpoint", "branch", "when (UTC)", "label"], ...rows]));
}

function when(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
