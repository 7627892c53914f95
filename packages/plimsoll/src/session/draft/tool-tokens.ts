/** How many tokens the tools of a request may take. */

import { toolTokensInBudget } from "../../budget/guard.ts";
import { usualToolShare } from "../../budget/thresholds.ts";
import type { Config } from "../../config/schema.ts";
import type { Draft } from "./draft.ts";
import { guardOf } from "./projection.ts";

/** Maximum number of tokens that all tools of a request may take. */
export function mostToolTokens({ agent }: Config, limitTokens: number): number {
  return Math.floor(limitTokens * (agent?.tool_deferral_threshold ?? usualToolShare));
}

/** How many tokens tools may take. */
export interface ToolTokens {
  /** Together with the tools that the model has found. */
  readonly most: number;
  /** If Plimsoll chooses the tools. It is less than `most` if a long system prompt leaves a smaller part of a budget. */
  readonly chosen: number;
}

export function tokensIn(world: { readonly config: Config }, draft: Draft): ToolTokens {
  const { own, limit, targets } = guardOf(world, draft);
  const most = mostToolTokens(world.config, limit);
  const { system, skills } = draft.measured.components;
  const systemTokens = system.tokens + skills.tokens;
  return { most, chosen: toolTokensInBudget(targets[0], own, { systemTokens, usualTokens: most }) };
}
