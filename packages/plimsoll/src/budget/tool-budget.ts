/**
 * The tool budget: the tokens that the results of one turn's calls may take in the window. Results arrive in any order, some at
 * the same time. Each grant is made in one synchronous step, so the grants never add up to more than the budget.
 */

import { toolBudgetTexts } from "../text/for-models.ts";
import { matchesWildcard } from "../text/wildcard.ts";
import type { Limit } from "./limit.ts";
import { answerTokensMin } from "./output-room.ts";
import type { Projection } from "./projection.ts";

/** Which tools may run at all, by name. `*` matches any characters. */
export interface ToolRules {
  /** Patterns of allowed tools. Default: all tools are allowed. */
  readonly toolsAllowed?: readonly string[];
  /** Patterns of denied tools. They win over `toolsAllowed`. */
  readonly toolsDenied?: readonly string[];
}

export interface ToolBudget {
  /** Number of tokens for all results of the turn together. */
  readonly tokens: number;
  readonly granted: number;
  /** Tokens of the notices that the model got instead of results. */
  readonly noticeTokens: number;
  /** Number of calls whose results are still to come. */
  readonly openCalls: number;
  /** Tokens that the first handle adds to the request, because the tools that read handles are sent with it. */
  readonly entryTokens: number;
  readonly rules: ToolRules;
  /** True after a result for which there was no room even as a reference. From then on, nothing is granted. */
  readonly isExceeded: boolean;
}

/** The tokens that a result would take, whole or as a reference. Infinity means that the result cannot be sent in that way. */
export interface ResultCost {
  readonly wholeTokens: number;
  /** Tokens of a reference that replaces the result. The result itself is in the archive. */
  readonly handleTokens: number;
}

export type Grant =
  /** The result fits as it is. */
  | { readonly kind: "whole"; readonly tokens: number }
  /** Only a reference to the result fits. */
  | { readonly kind: "handle"; readonly tokens: number }
  | {
      readonly kind: "denied";
      readonly reason: "budget" | "rules";
      /** The text that the model gets instead of the result. */
      readonly text: string;
      readonly tokens: 0;
    };

/** Approximate number of tokens kept free for each call that is still open. */
const perOpenCall = { reference: 150, notice: 50 };

export interface ResultRoom {
  /** The effective limit. Infinite if the guard keeps none. */
  readonly limitTokens: number;
  /** Whether the limit is strict: everything in the request counts, also what a compaction could remove. */
  readonly isStrict: boolean;
  /** The size of the request, if the provider has reported it. */
  readonly reportedTokens?: number | undefined;
}

/**
 * The room for results below the limit, in a window that also has to contain the fixed part and a short answer. All older content
 * can be removed to make room. The fixed part is counted at its lowest plausible size, or as its share of the usage that the
 * provider reported, so that a wrong estimate does not reduce the room. With a strict limit, it is the limit minus the projection.
 */
export function roomForResults(
  { named, reserve }: Pick<Limit, "named" | "reserve">,
  { tokens, least, head }: Pick<Projection, "tokens" | "least" | "head">,
  { limitTokens, isStrict, reportedTokens }: ResultRoom,
): number {
  const headShare = tokens === 0 ? 0 : Math.min(1, head / tokens);
  const headTokens = Math.ceil((reportedTokens ?? least) * headShare);
  const most = Math.min(named - Math.min(answerTokensMin, reserve), limitTokens);
  const room = isStrict ? limitTokens - (reportedTokens ?? tokens) : most - headTokens;
  return Math.max(0, Math.min(unlimited, room));
}

/** The budget if the size of the window is unknown. */
export const unlimited = Number.MAX_SAFE_INTEGER;

export interface BudgetOptions {
  readonly rules?: ToolRules;
  readonly entryTokens?: number;
}

export function openToolBudget(tokens: number, options: BudgetOptions = {}): ToolBudget {
  return {
    tokens: Math.max(0, tokens),
    granted: 0,
    noticeTokens: 0,
    openCalls: 0,
    entryTokens: options.entryTokens ?? 0,
    rules: options.rules ?? {},
    isExceeded: false,
  };
}

function remainingTokens({ tokens, granted, noticeTokens }: ToolBudget): number {
  return Math.max(0, tokens - granted - noticeTokens);
}

export function isToolAllowed(
  { toolsAllowed, toolsDenied = [] }: ToolRules,
  name: string,
): boolean {
  const isNamed = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesWildcard(pattern, name));
  return (toolsAllowed === undefined || isNamed(toolsAllowed)) && !isNamed(toolsDenied);
}

/** Whether it makes sense to run this tool now, or any tool if no name is given. */
export function canExecute(budget: ToolBudget, name?: string): boolean {
  const isAllowed = name === undefined || isToolAllowed(budget.rules, name);
  return isAllowed && !budget.isExceeded && remainingTokens(budget) > 0;
}

/** The grant that `reserveOutput` would give now. */
export function previewOutput(budget: ToolBudget, name: string, cost: ResultCost): Grant {
  if (!isToolAllowed(budget.rules, name)) return denied("rules", toolBudgetTexts.notAllowed(name));
  const remaining = remainingTokens(budget);
  if (budget.isExceeded) return denied("budget", toolBudgetTexts.usedUp(remaining));
  const others = Math.max(0, budget.openCalls - 1);
  const { wholeTokens } = cost;
  const handleTokens = cost.handleTokens + budget.entryTokens;
  // A whole result must leave room for references to the other results. A reference must leave room for notices about the other
  // results.
  const named = others * perOpenCall.reference + (others > 0 ? budget.entryTokens : 0);
  const left = remaining - others * perOpenCall.notice;
  if (wholeTokens <= remaining - named) return { kind: "whole", tokens: wholeTokens };
  if (handleTokens < wholeTokens && handleTokens <= left)
    return { kind: "handle", tokens: handleTokens };
  if (wholeTokens <= left) return { kind: "whole", tokens: wholeTokens };
  return denied("budget", toolBudgetTexts.usedUp(remaining));
}

export interface Reserved {
  readonly budget: ToolBudget;
  readonly grant: Grant;
}

/** Contract: never raises `granted` above `tokens`. */
export function reserveOutput(budget: ToolBudget, name: string, cost: ResultCost): Reserved {
  const grant = previewOutput(budget, name, cost);
  const isDenied = grant.kind === "denied";
  return {
    grant,
    budget: {
      ...budget,
      granted: budget.granted + grant.tokens,
      noticeTokens: budget.noticeTokens + (isDenied ? perOpenCall.notice : 0),
      openCalls: Math.max(0, budget.openCalls - 1),
      entryTokens: grant.kind === "handle" ? 0 : budget.entryTokens,
      isExceeded: budget.isExceeded || (isDenied && grant.reason === "budget"),
    },
  };
}

/** Records an answer of the model, which takes this many tokens of the window and makes this many calls. */
export function answered(budget: ToolBudget, tokens: number, calls: number): ToolBudget {
  return { ...withTokens(budget, -tokens), openCalls: calls };
}

/** Changes the budget because something else has used or freed room in the window. */
export function withTokens(budget: ToolBudget, added: number): ToolBudget {
  return { ...budget, tokens: Math.max(0, budget.tokens + added) };
}

/** The budget of a turn, shared by all code that runs its tools at the same time. */
export interface SharedToolBudget {
  readonly remaining: number;
  readonly isExceeded: boolean;
  /** Contract: synchronous. Counting tokens may take long, so callers count the cost before they call this. */
  reserve(name: string, cost: ResultCost): Grant;
  preview(name: string, cost: ResultCost): Grant;
  canExecute(name?: string): boolean;
  /** Replaces the budget, because a new turn has begun. */
  open(budget: ToolBudget): void;
  answered(tokens: number, calls: number): void;
  /** Records that a call was answered elsewhere, and that the answer takes this many tokens. */
  spend(tokens: number): void;
  add(tokens: number): void;
}

export function shareToolBudget(first: ToolBudget): SharedToolBudget {
  let budget = first;
  return {
    get remaining() {
      return remainingTokens(budget);
    },
    get isExceeded() {
      return budget.isExceeded;
    },
    reserve: (name, cost) => {
      const reserved = reserveOutput(budget, name, cost);
      budget = reserved.budget;
      return reserved.grant;
    },
    preview: (name, cost) => previewOutput(budget, name, cost),
    canExecute: (name) => canExecute(budget, name),
    open: (next) => {
      budget = next;
    },
    answered: (tokens, calls) => {
      budget = answered(budget, tokens, calls);
    },
    spend: (tokens) => {
      budget = answered(budget, tokens, Math.max(0, budget.openCalls - 1));
    },
    add: (tokens) => {
      budget = withTokens(budget, tokens);
    },
  };
}

function denied(reason: "budget" | "rules", text: string): Grant {
  return { kind: "denied", reason, text, tokens: 0 };
}
