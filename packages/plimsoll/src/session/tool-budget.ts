/** The tool budget of a session: results on their way into the conversation, counted before they are in it. */

import {
  type Grant,
  openToolBudget,
  type ResultCost,
  shareToolBudget,
  type ToolRules,
} from "../budget/tool-budget.ts";
import type { Message, ToolCallPart } from "../message/message.ts";
import type { Config } from "./config.ts";
import { isReferable, referenceTo } from "./granted-handles.ts";
import type { Fitted } from "./last-resort.ts";
import type { Target } from "./target.ts";
import { type Output, outputOf, resultMessage, textBytes } from "./tool-output.ts";
import { createScales, type NowCounter, type Scales } from "./tool-scales.ts";

export type ToolGrant = Grant & {
  /** The result, or what the model is told instead: append it. */
  readonly message: Message;
};

/** Which call a result belongs to. */
export type CallOf = Pick<ToolCallPart, "id" | "name">;

/**
 * What the results of a turn's calls may take, from `prepare` to the next `prepare`. Results may come at the same time and in
 * any order. Before the first `prepare` nothing is known, and everything is granted.
 */
export interface SessionToolBudget {
  /** A result: text, JSON, neutral parts, or an Error. What is granted is taken at once; append the message of the grant. */
  reserve(call: CallOf, output: unknown): ToolGrant;
  /** What `reserve` would answer now; nothing is taken. */
  preview(call: CallOf, output: unknown): ToolGrant;
  /** Whether it makes sense to run a tool now: this one, or any. */
  canExecute(name?: string): boolean;
  /** By the tokenizer, of all that are configured, that makes the most of it. */
  countTokens(text: string): number;
  readonly remaining: number;
  /** A result was denied for want of room: so is every further one, and the next turn is the last. */
  readonly isExceeded: boolean;
}

export interface TurnBudget {
  readonly face: SessionToolBudget;
  /** A turn goes out. */
  begin(turn: BudgetedTurn): Promise<void>;
  /** The model has answered with so much, and with so many calls; before correction. */
  answered(tokens: number, calls: number): void;
  /** The view has become shorter; before correction. */
  freed(tokens: number): void;
  /** As the guard counts. */
  weigh(message: Message): number;
  /** A call was answered by Plimsoll itself, with so much; as the guard counts. */
  spend(tokens: number): void;
  /** What one answer of our own tools may take. */
  readonly answerRoom: number;
  /** Names of the tools by call, whose results are to be shown as references. Each is given once. */
  takeHandles(): ReadonlyMap<string, string>;
}

export interface BudgetedTurn {
  readonly fitted: Fitted;
  readonly targets: readonly [Target, ...Target[]];
  readonly rules: ToolRules;
  /** The one tool that a last turn may call; undefined in any other turn. */
  readonly lastTool: string | undefined;
  /** Tools of ours that the first handle would bring in; before correction. */
  readonly toolsToCome: number;
}

export interface BudgetWorld {
  readonly config: Config;
  readonly counter: NowCounter;
  readonly tokenizers: ReadonlySet<string>;
}

/** Before a turn has said how much there is. */
const untold = Number.MAX_SAFE_INTEGER;

/** Larger results are seen as references only, however much room there is. */
const wholeBytes = { least: 50 * 1024, shareOfLimit: 0.15, bytesPerToken: 4 };

/** Of the limit, and of what is left under it: counts are not exact. */
const answerShare = { ofLimit: 0.25, ofRest: 0.8 };

export function createTurnBudget({ config, counter, tokenizers }: BudgetWorld): TurnBudget {
  const budget = shareToolBudget(openToolBudget(untold));
  const handles = new Map<string, string>();
  let mostBytes = Number.POSITIVE_INFINITY;
  let limit = 0;
  let factor = 1;
  let scales: Scales = createScales(counter, { tokenizers, targets: [], factor });
  let lastTool: string | undefined;

  const costOf = (call: CallOf, output: Output): ResultCost => {
    const isLarge = textBytes(output) > mostBytes;
    const referred = withReferences(call, output);
    return {
      wholeTokens: isLarge ? Number.POSITIVE_INFINITY : scales.weigh(resultMessage(call, output)),
      handleTokens:
        referred === undefined
          ? Number.POSITIVE_INFINITY
          : scales.weigh(resultMessage(call, referred)),
    };
  };
  const decide = (take: typeof budget.reserve, call: CallOf, given: unknown): ToolGrant => {
    const output = outputOf(given);
    if (call.name === lastTool) {
      const message = resultMessage(call, output);
      return { kind: "whole", tokens: scales.weigh(message), message };
    }
    const grant = take(call.name, costOf(call, output));
    if (grant.kind !== "denied") return { ...grant, message: resultMessage(call, output) };
    const told = { content: [{ kind: "text", text: grant.text } as const], isError: true };
    return { ...grant, message: resultMessage(call, told) };
  };

  return {
    face: {
      reserve: (call, output) => {
        const grant = decide(budget.reserve, call, output);
        if (grant.kind === "handle") handles.set(call.id, call.name);
        return grant;
      },
      preview: (call, output) => decide(budget.preview, call, output),
      canExecute: (name) => (name !== undefined && name === lastTool) || budget.canExecute(name),
      countTokens: (text) => scales.count(text),
      get remaining() {
        return budget.remaining;
      },
      get isExceeded() {
        return budget.isExceeded;
      },
    },
    begin: async (turn) => {
      const { fitted, targets, rules } = turn;
      const { measured, measurement, tokensAfter } = fitted;
      factor = Math.max(1, measurement.total / Math.max(1, measured.total));
      scales = createScales(counter, { tokenizers, targets, factor });
      await scales.ready();
      limit = fitted.limit;
      lastTool = turn.lastTool;
      mostBytes = mostBytesOf(config, limit);
      handles.clear();
      const isLast = lastTool !== undefined;
      const entryTokens = Math.ceil(turn.toolsToCome * factor);
      budget.open(openToolBudget(isLast ? 0 : limit - tokensAfter, { rules, entryTokens }));
    },
    answered: (tokens, calls) => budget.answered(Math.ceil(tokens * factor), calls),
    freed: (tokens) => budget.add(Math.floor(tokens * factor)),
    weigh: (message) => scales.weigh(message),
    spend: budget.spend,
    get answerRoom() {
      const { ofLimit, ofRest } = answerShare;
      return Math.floor(Math.min(limit * ofLimit, budget.remaining * ofRest));
    },
    takeHandles: () => {
      const taken = new Map(handles);
      handles.clear();
      return taken;
    },
  };
}

function mostBytesOf({ defaults }: Config, limit: number): number {
  const { least, shareOfLimit, bytesPerToken } = wholeBytes;
  const usual = Math.max(least, limit * shareOfLimit * bytesPerToken);
  return Math.min(usual, defaults?.toolResponseMaxBytes ?? usual);
}

/** As long as a real one, and as many tokens: the real one is not known before the result is in the log. */
const anyHandle = "pl_7Qk2XvZ9bRw4TjY1mHc8dN";

/** Undefined: there is nothing in it that a reference could stand for. */
function withReferences({ name }: CallOf, output: Output): Output | undefined {
  if (!output.content.some(isReferable)) return undefined;
  const content = output.content.map((part) =>
    isReferable(part)
      ? ({ kind: "text", text: referenceTo(part, { tool: name, handle: anyHandle }) } as const)
      : part,
  );
  return { ...output, content };
}
