/** How full a library session is, and what its edits save. */

import { encodeMessage, encodePending, usage } from "../draft/encode.ts";
import type { RestorePoint } from "../log/checkpoints.ts";
import type { Impact } from "../steer/impact.ts";
import type { TurnContext } from "../turn/context.ts";
import { lastAnswer } from "./conversation.ts";
import type { SessionState } from "./state.ts";

export interface SessionFilling {
  /**
   * Tells whether the conversation fills this share of the limit of its last prepared turn, with everything that was said and
   * appended since. Plimsoll compacts by itself: this is for callers that want to do something before that. Default: 0.9.
   */
  shouldCompact(threshold?: number): Promise<boolean>;
  /** What the edits save at this point, compared with the whole conversation. Default: now. */
  impact(view?: RestorePoint): Promise<Impact>;
}

const usualThreshold = 0.9;

export async function fills(
  { facts }: Pick<TurnContext, "facts">,
  state: SessionState,
  threshold = usualThreshold,
): Promise<boolean> {
  if (!(threshold > 0 && threshold <= 1))
    throw usage(
      `shouldCompact takes a share above 0, at most 1, such as 0.9. It got ${threshold}.`,
    );
  const { draft, sent, ruler, wire } = state;
  // Before the first request, there is no model whose window could be full.
  if (draft === undefined || sent === undefined || ruler === undefined || wire === undefined)
    return false;
  const { tokensAfter, limit } = sent();
  const since = state.messages.slice(draft.path.length);
  const appended = encodePending(state.pending, wire, lastAnswer(state));
  const learned = await facts.learn(
    wire,
    appended.map(({ json }) => encodeMessage(json)),
    ruler,
  );
  const added = [...since, ...learned].reduce((sum, { tokens }) => sum + tokens, 0);
  return tokensAfter + added >= limit * threshold;
}
