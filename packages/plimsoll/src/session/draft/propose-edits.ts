/**
 * The only way to make an edit: propose it, check the resulting view and its validity, then commit it.
 * Nothing enters the log before the commit, and edits that the store could not keep never take effect.
 */

import type { Edit, NewEdit } from "../../message/edit.ts";
import {
  commitEdits,
  type EditMade,
  type EditStore,
  newEdit,
  numbered,
  type StoredWith,
} from "../log/edits.ts";
import { remember } from "../log/log.ts";
import { anchorOf, viewOf, viewWith } from "../log/path.ts";
import type { Saved } from "../log/save.ts";
import { markOf } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import { type Draft, type Sized, sizeView } from "./draft.ts";
import { type Validator, validateView } from "./validate-view.ts";

/** Edits with the numbers they would get, and the resulting view. */
export interface Candidate {
  readonly edits: readonly Edit[];
  readonly sized: Sized;
}

/**
 * unvalidated: the validator itself failed. pointless: the caller rejected the resulting view, for example because it is no
 * smaller.
 */
export type Proposed =
  | ValidCandidate
  | UnvalidatedCandidate
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "pointless" };

export interface ValidCandidate extends Candidate {
  readonly kind: "valid";
}

export interface UnvalidatedCandidate extends Candidate {
  readonly kind: "unvalidated";
  readonly reason: string;
}

export interface ProposalWorld extends Validator {
  readonly facts: FactsReader;
}

/** Makes an edit of the draft's conversation in the draft's turn. Default for `step`: the id of the turn. */
export function editOn(
  { log, branch, path, turn }: Draft,
  made: Omit<EditMade, "anchor">,
  step: string = turn.id,
): NewEdit {
  const anchor = anchorOf(log, path, branch);
  return newEdit({ branch: branch.record.id, step, at: turn.at }, { anchor, ...made });
}

/** Contract: changes nothing. The validator runs last, because it is the most expensive check. */
export async function propose(
  world: ProposalWorld,
  draft: Draft,
  edits: readonly NewEdit[],
  isWorthwhile: (sized: Sized) => boolean = () => true,
): Promise<Proposed> {
  const { log, path } = draft;
  const numberedEdits = numbered(log, edits);
  const sized = await sizeView(world.facts, draft, viewWith(log, path, numberedEdits));
  if (!isWorthwhile(sized)) return { kind: "pointless" };
  const candidate = { edits: numberedEdits, sized };
  const validity = await validateView(world, draft, sized);
  switch (validity.kind) {
    case "valid":
      return { kind: "valid", ...candidate };
    case "invalid":
      return { kind: "invalid", reason: validity.reason };
    case "unknown":
      return { kind: "unvalidated", reason: validity.reason, ...candidate };
  }
}

/** Contract: since it proposed the edits, the caller has been the only one editing the session (`whileEditing`). */
export async function commit(
  world: EditStore,
  { log, branch, path }: Draft,
  { kind, edits }: ValidCandidate | UnvalidatedCandidate,
  others: StoredWith = {},
): Promise<Saved> {
  const saved = await commitEdits(world, log, edits, others);
  if (saved === "stored" && kind === "valid")
    remember(branch, { kind: "view-valid", view: markOf(viewOf(log, branch, path)) });
  return saved;
}
