/**
 * The tool budget: what the results of one turn's calls may take of the window. Results come in any order and at the same
 * time; each is decided in one step over one value, so what is granted never adds up to more than there was.
 */

import { toolBudgetTexts } from "../text/for-models.ts";
import { matchesWildcard } from "../text/wildcard.ts";
import type { Projection } from "./counters.ts";
import type { Limit } from "./limit.ts";
import { answerTokensMin } from "./output-room.ts";

/** Which tools may run at all, by name; `*` stands for any characters. */
export interface ToolRules {
  /** Absent: all. */
  readonly toolsAllowed?: readonly string[];
  /** Not even where they are allowed. */
  readonly toolsDenied?: readonly string[];
}

export interface ToolBudget {
  /** For all results of the turn together. */
  readonly tokens: number;
  readonly granted: number;
  /** Taken by what the model was told instead of results. */
  readonly noticeTokens: number;
  /** Calls whose results are still to come. */
  readonly openCalls: number;
  /** What the first handle brings with it: the tools that read it. */
  readonly entryTokens: number;
  readonly rules: ToolRules;
  /** A result could not even be named: nothing more is granted. */
  readonly isExceeded: boolean;
}

/** What a result would take. Infinity: that cannot be. */
export interface ResultCost {
  readonly wholeTokens: number;
  /** A reference in its place; the result is in the archive. */
  readonly handleTokens: number;
}

export type Grant =
  /** It fits as it is. */
  | { readonly kind: "whole"; readonly tokens: number }
  /** Its reference fits. */
  | { readonly kind: "handle"; readonly tokens: number }
  | {
      readonly kind: "denied";
      readonly reason: "budget" | "rules";
      /** For the model, in place of the result. */
      readonly text: string;
      readonly tokens: 0;
    };

/** Roughly, in tokens: what is kept free for each call that is still open. */
const perOpenCall = { reference: 150, notice: 50 };

/**
 * What the window leaves for results beside the head and a short answer: everything older can go for their sake. Only what is
 * known counts against them: the lowest plausible size of the head, or its share of what the provider reported of the request.
 */
export function roomForResults(
  { named, reserve }: Limit,
  { tokens, least, head }: Projection,
  reportedTokens?: number,
): number {
  const headShare = tokens === 0 ? 0 : Math.min(1, head / tokens);
  const headTokens = Math.ceil((reportedTokens ?? least) * headShare);
  const room = named - Math.min(answerTokensMin, reserve) - headTokens;
  return Math.max(0, Math.min(unlimited, room));
}

/** Nobody knows how much there is. */
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

/** Whether it makes sense to run a tool now: this one, or any. */
export function canExecute(budget: ToolBudget, name?: string): boolean {
  const isAllowed = name === undefined || isToolAllowed(budget.rules, name);
  return isAllowed && !budget.isExceeded && remainingTokens(budget) > 0;
}

/** What a reservation would answer now. */
export function previewOutput(budget: ToolBudget, name: string, cost: ResultCost): Grant {
  if (!isToolAllowed(budget.rules, name)) return denied("rules", toolBudgetTexts.notAllowed(name));
  const remaining = remainingTokens(budget);
  if (budget.isExceeded) return denied("budget", toolBudgetTexts.usedUp(remaining));
  const others = Math.max(0, budget.openCalls - 1);
  const { wholeTokens } = cost;
  const handleTokens = cost.handleTokens + budget.entryTokens;
  // What stands whole leaves room to name the others; a reference, to tell them that there is no room.
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

/** Contract: granted ≤ tokens afterwards, if it was before. */
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

/** The model has answered: so much of the window is taken by that, and so many results will come. */
export function answered(budget: ToolBudget, tokens: number, calls: number): ToolBudget {
  return { ...withTokens(budget, -tokens), openCalls: calls };
}

/** Something else has taken from the window, or given back to it. */
export function withTokens(budget: ToolBudget, added: number): ToolBudget {
  return { ...budget, tokens: Math.max(0, budget.tokens + added) };
}

/** The budget of a turn for all who run its tools at once. */
export interface SharedToolBudget {
  readonly remaining: number;
  readonly isExceeded: boolean;
  /** Contract: one step; the cost is counted before it is called, however long that takes. */
  reserve(name: string, cost: ResultCost): Grant;
  preview(name: string, cost: ResultCost): Grant;
  canExecute(name?: string): boolean;
  /** Takes the place of what there was: a new turn has begun. */
  open(budget: ToolBudget): void;
  answered(tokens: number, calls: number): void;
  /** A call was answered by somebody else, with so much. */
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
