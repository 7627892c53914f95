/**
 * The size of a window: the tokens of the whole view, with system prompt, tools and the newest answer, as the provider counts
 * them. It is computed here when a turn begins, when a turn ends and when somebody changes the view, and every screen shows the
 * remembered figure. So all of them agree.
 */

import { shownTokens, type TokenScale } from "../../budget/token-scale.ts";
import type { TurnRecord } from "../../store/store.ts";
import { type BranchState, remember, type SessionLog } from "../log/log.ts";
import type { BranchMemory } from "../log/memory.ts";

interface Place {
  readonly log: Pick<SessionLog, "edits">;
  readonly branch: BranchState;
}

/** Remembers the size of the branch's window. `edit` is the last edit in it, or by default the last edit that was made. */
export function rememberSize(
  { log, branch }: Place,
  tokens: number,
  edit: number = lastEditOn(log, branch),
): void {
  remember(branch, { kind: "sized", size: { tokens, tip: branch.record.tipSeq, edit } });
}

/** The remembered size. Undefined if messages or edits have come since then, and in sessions of earlier versions. */
export function rememberedSize({ log, branch }: Place): number | undefined {
  const { size } = branch.memory;
  const isOfNow = size?.tip === branch.record.tipSeq && size.edit === lastEditOn(log, branch);
  return isOfNow ? size?.tokens : undefined;
}

function lastEditOn({ edits }: Place["log"], { record }: BranchState): number {
  return edits.findLast(({ branch }) => branch === record.id)?.seq ?? 0;
}

export interface EndedRequest {
  /** Size of the request as sent, in the provider's tokens. */
  readonly requestTokens: number;
  /** The provider's own count of the last round. Undefined if the provider reported none, or an implausible one. */
  readonly reportedTokens: number | undefined;
  /** Lookups that followed the request, and the answer, as Plimsoll counts them. */
  readonly lookedUpTokens: number;
  readonly answerTokens: number;
}

/** The size after a turn. The provider's own count is used if there is one, because it is exact and includes the lookups. */
export function sizeAfterTurn(ended: EndedRequest, scale: TokenScale): number {
  const { requestTokens, reportedTokens, lookedUpTokens, answerTokens } = ended;
  const asked = reportedTokens ?? requestTokens + shownTokens(lookedUpTokens, scale);
  return asked + shownTokens(answerTokens, scale);
}

/** The size after a change of the view. Changing back gives exactly the size before, because each figure is rounded alone. */
export function sizeAfterChange(
  sizeBefore: number,
  { before, after }: { readonly before: number; readonly after: number },
  scale: TokenScale,
): number {
  return Math.max(0, sizeBefore + shownTokens(after, scale) - shownTokens(before, scale));
}

/** The size of the window in which the last turn was made, from what is stored. For lists, which read no logs. */
export function storedSize(
  memories: ReadonlyMap<string, object>,
  lastTurn: Pick<TurnRecord, "branch" | "measurement"> | undefined,
): number | undefined {
  if (lastTurn === undefined) return undefined;
  const memory = memories.get(lastTurn.branch) as Partial<BranchMemory> | undefined;
  return memory?.size?.tokens ?? lastTurn.measurement.total;
}
