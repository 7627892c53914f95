/** Whether a view that somebody wants back has room, and what is in its way. */

import { ownLimitsOf } from "../../config/limits.ts";
import { PlimsollError } from "../../message/error.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { BranchState } from "../log/log.ts";
import type { TurnContext } from "../turn/context.ts";
import type { StoredPlace } from "./draft-from-store.ts";

export interface SteeredSize {
  readonly tokens: number;
  /** Images and documents, more than the provider takes. */
  readonly tooMany: number;
}

/** Contract: throws a PlimsollError that says what is missing. A window that nobody knows refuses nothing. */
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
    `This would not fit: ${missing} tokens are missing. ${wayOut({ isOverWindow, hasBudget, limit })}`,
    { status: 409, fields: { missingTokens: missing } },
  );
}

function tooManyMedia(tooMany: number): PlimsollError {
  return new PlimsollError(
    "TOKEN_LIMIT_EXCEEDED",
    `This would not fit: ${tooMany} images or documents more than the provider takes in one request.`,
    { status: 409, fields: { tooManyMedia: tooMany } },
  );
}

/** The configuration holds requests like the last one below what the window takes. */
function isBudgeted(
  { config }: Pick<TurnContext, "config">,
  { record: { agent } }: BranchState,
  { provider = "", model, priority }: TurnRecord,
): boolean {
  const own = ownLimitsOf(config, { agent, priority, provider, model });
  return own.contextBudget !== undefined || own.agentLimit !== undefined;
}

interface InTheWay {
  readonly isOverWindow: boolean;
  readonly hasBudget: boolean;
  readonly limit: number;
}

function wayOut({ isOverWindow, hasBudget, limit }: InTheWay): string {
  if (isOverWindow) return "Take something else out first, or use a model with a larger window.";
  return hasBudget
    ? `The window would hold it; the configuration allows ${limit} (agent.context_budget, context_config). Take something else out first, or allow more.`
    : `The window would hold it, but not beside what is kept free for the answer: ${limit} are left. Take something else out first, or ask for shorter answers.`;
}
