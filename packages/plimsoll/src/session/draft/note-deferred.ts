/** With `deferral_note: in_conversation`, a note after the last message tells the model that tools are deferred. */

import type { Config } from "../../config/schema.ts";
import { deferral, type NewEdit } from "../../message/edit.ts";
import { deferredToolsNote } from "../../text/for-models.ts";
import { viewOf } from "../log/path.ts";
import type { Draft } from "./draft.ts";
import { editOn } from "./propose-edits.ts";

export interface DeferralNoted {
  /** The step of the edit that defers the tools. An undo of that edit also undoes the note. */
  readonly step: string;
  readonly count: number;
  readonly searchTool: string;
}

/** Takes the earlier note back, and adds the new one if tools are deferred. */
export function deferralNotes(
  { agent }: Pick<Config, "agent">,
  draft: Draft,
  { step, ...deferred }: DeferralNoted,
): readonly NewEdit[] {
  const { log, branch, path, request } = draft;
  if (agent?.deferral_note !== "in_conversation" || request.hasServerSideHistory === true)
    return [];
  const earlier = viewOf(log, branch, path).edits.filter(
    ({ action, strategy }) => action.kind === "insert" && strategy === deferral,
  );
  const reverts = earlier.map(({ seq }) =>
    editOn(
      draft,
      {
        action: { kind: "revert", edit: seq },
        strategy: deferral,
        reason: "Other tools are deferred now.",
      },
      step,
    ),
  );
  const after = path.chainAt(path.length - 1);
  if (deferred.count === 0 || after === undefined) return reverts;
  const text = deferredToolsNote({ ...deferred, servers: [], moreServers: 0 });
  const note = editOn(
    draft,
    {
      action: { kind: "insert", after, text },
      strategy: deferral,
      reason: "The model can search for deferred tools.",
    },
    step,
  );
  return [...reverts, { ...note, anchor: after }];
}
