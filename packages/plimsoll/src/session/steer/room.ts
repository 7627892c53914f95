/** Checks whether there is room for a view that a user wants to restore. If not, says what takes up the room. */

import { budgetOf } from "../../budget/guard.ts";
import { ownLimitsOf } from "../../config/limits.ts";
import { PlimsollError } from "../../message/error.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { BranchState } from "../log/log.ts";
import type { TurnContext } from "../turn/context.ts";
import type { StoredPlace } from "./draft-from-store.ts";

export interface SteeredSize {
  readonly tokens: number;
  /** Number of images and documents above the provider's maximum. */
  readonly tooMany: number;
}

/**
 * Contract: if the view is too large, throws a PlimsollError that says by how much. If the limit comes only from a guessed
 * window, no size is too large.
 */
export function checkRoom(
  world: Pick<TurnContext, "config">,
  { branch, lastTurn }: StoredPlace,
  { tokens, tooMany }: SteeredSize,
): void {
  if (tooMany > 0) throw tooManyMedia(tooMany);
  if (lastTurn === undefined || tokens <= lastTurn.limit) return;
  const { limit, window, isWindowGuess: isGuess = false } = lastTurn;
  const hasBudget = isBudgeted(world, branch, lastTurn);
  if (isGuess && !hasBudget) return;
  const missing = tokens - limit;
  const isOverWindow = !isGuess && tokens > window;
  throw new PlimsollError(
    "TOKEN_LIMIT_EXCEEDED",
    `This would not fit: it is ${missing} tokens too large. ${wayOut({ isOverWindow, hasBudget, limit })}`,
    { status: 409, fields: { missingTokens: missing } },
  );
}

function tooManyMedia(tooMany: number): PlimsollError {
  return new PlimsollError(
    "TOKEN_LIMIT_EXCEEDED",
    `This would not fit: it has ${tooMany} more images or documents than the provider accepts in one request.`,
    { status: 409, fields: { tooManyMedia: tooMany } },
  );
}

/** Whether the configuration limits requests like the last one to less than the window. */
function isBudgeted(
  { config }: Pick<TurnContext, "config">,
  { record: { agent } }: BranchState,
  { provider = "", model, priority, window, isWindowGuess }: TurnRecord,
): boolean {
  const own = ownLimitsOf(config, { agent, priority, provider, model });
  const named = isWindowGuess === true ? Number.POSITIVE_INFINITY : window;
  return budgetOf({ named, maxOutput: 0 }, own) !== undefined;
}

interface InTheWay {
  readonly isOverWindow: boolean;
  readonly hasBudget: boolean;
  readonly limit: number;
}

function wayOut({ isOverWindow, hasBudget, limit }: InTheWay): string {
  if (isOverWindow) return "Take something else out first, or use a model with a larger window.";
  return hasBudget
    ? `The window has room for it, but the configuration allows only ${limit} tokens (agent.context_budget, context_config). Take something else out first, or allow more.`
    : `The window has room for it, but some of the window must stay free for the answer, which leaves ${limit} tokens. Take something else out first, or ask for shorter answers.`;
}
