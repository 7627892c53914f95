/**
 * The operations that make a draft fit. They run one at a time in each session, so two turns never edit the same view at once.
 */

import type { Draft } from "../draft/draft.ts";
import { whileEditing } from "../log/edits.ts";
import { type CompactedAsAsked, compactAsAsked } from "./compact-on-request.ts";
import { fitTurn, untouched } from "./fit.ts";
import { closedIfLast, type Fitted } from "./last-resort.ts";
import { type FoundTools, loadTools, type ToolSearch } from "./load-tools.ts";
import { fitAgain, type Overflowed, type OverflowWorld } from "./refit-after-overflow.ts";

export interface Fitter {
  /** Contract: rejects with CLOSED when Plimsoll shuts down, and otherwise only if the store is damaged. */
  fit(draft: Draft): Promise<Fitted>;
  /** The request exactly as the client sent it, regardless of its size. */
  untouched(draft: Draft): Promise<Fitted>;
  /** Called after the provider said "too long". Resolves to undefined if there is nothing smaller to send. */
  afterOverflow(draft: Draft, overflowed: Overflowed): Promise<Fitted | undefined>;
  /** Called when the model calls `compact_context`, or when its inner rounds no longer fit. */
  compactAsAsked(draft: Draft, before: Fitted): Promise<CompactedAsAsked>;
  /** Called when the model calls `tool_search`. */
  findTools(draft: Draft, search: ToolSearch): Promise<FoundTools>;
}

export function createFitter(world: OverflowWorld): Fitter {
  return {
    fit: (draft) =>
      whileEditing(draft.log, async () => {
        world.closing.throwIfAborted();
        return closedIfLast(world, draft, await fitTurn(world, draft));
      }),
    untouched: (draft) => untouched(world, draft),
    afterOverflow: (draft, overflowed) =>
      whileEditing(draft.log, async () => {
        const smaller = await fitAgain(world, draft, overflowed);
        return smaller && closedIfLast(world, draft, smaller);
      }),
    compactAsAsked: (draft, before) =>
      whileEditing(draft.log, () => compactAsAsked(world, draft, before)),
    findTools: (draft, search) => whileEditing(draft.log, () => loadTools(world, draft, search)),
  };
}
