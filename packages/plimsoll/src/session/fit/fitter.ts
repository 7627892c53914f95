/** Everything that makes a draft fit, one at a time for each session: two turns never edit one view at once. */

import type { Draft } from "../draft/draft.ts";
import { whileEditing } from "../log/edits.ts";
import { type CompactedAsAsked, compactAsAsked } from "./compact-on-request.ts";
import { fitTurn, untouched } from "./fit.ts";
import type { Fitted } from "./last-resort.ts";
import { type FoundTools, loadTools, type ToolSearch } from "./load-tools.ts";
import { fitAgain, type Overflowed, type OverflowWorld } from "./refit-after-overflow.ts";

export interface Fitter {
  /** Contract: rejects with CLOSED when the product closes, and else for what only a spoilt store explains. */
  fit(draft: Draft): Promise<Fitted>;
  /** As the client sent it, whatever it comes to. */
  untouched(draft: Draft): Promise<Fitted>;
  /** The provider said "too long". Undefined: there is nothing smaller to send. */
  afterOverflow(draft: Draft, overflowed: Overflowed): Promise<Fitted | undefined>;
  /** The model asked for room. */
  compactAsAsked(draft: Draft, before: Fitted): Promise<CompactedAsAsked>;
  /** The model looks for tools that are held back. */
  findTools(draft: Draft, search: ToolSearch): Promise<FoundTools>;
}

export function createFitter(world: OverflowWorld): Fitter {
  return {
    fit: (draft) =>
      whileEditing(draft.log, async () => {
        world.closing.throwIfAborted();
        return fitTurn(world, draft);
      }),
    untouched: (draft) => untouched(world, draft),
    afterOverflow: (draft, overflowed) =>
      whileEditing(draft.log, () => fitAgain(world, draft, overflowed)),
    compactAsAsked: (draft, before) =>
      whileEditing(draft.log, () => compactAsAsked(world, draft, before)),
    findTools: (draft, search) => whileEditing(draft.log, () => loadTools(world, draft, search)),
  };
}
