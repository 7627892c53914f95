/** The tool budget of a session: results on their way into the conversation, counted before they are in it. */

import {
  type Grant,
  openToolBudget,
  type ResultCost,
  shareToolBudget,
  type ToolRules,
} from "../budget/tool-budget.ts";
import type { Message, ToolCallPart } from "../message/message.ts";
import { answerRoom } from "./answer-room.ts";
import type { Config } from "./config-schema.ts";
import { anyReference, isReferable, referenceTo } from "./granted-handles.ts";
import type { Fitted } from "./last-resort.ts";
import { type ArrivalRules, isTooLarge } from "./oversized-results.ts";
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

export function createTurnBudget({ config, counter, tokenizers }: BudgetWorld): TurnBudget {
  const budget = shareToolBudget(openToolBudget(untold));
  const handles = new Map<string, string>();
  let arrival: ArrivalRules | undefined;
  let factor = 1;
  let scales: Scales = createScales(counter, { tokenizers, targets: [], factor });
  let lastTool: string | undefined;

  const costOf = (call: CallOf, output: Output): ResultCost => {
    const whole = resultMessage(call, output);
    let counted: number | undefined;
    const tokens = (): number => {
      counted ??= scales.weigh(whole);
      return counted;
    };
    const isLarge =
      arrival !== undefined && isTooLarge({ bytes: textBytes(output), tokens }, arrival);
    const referred = withReferences(call, output);
    return {
      wholeTokens: isLarge ? Number.POSITIVE_INFINITY : tokens(),
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
      const { measured, measurement, tokensAfter, limit } = fitted;
      factor = Math.max(1, measurement.total / Math.max(1, measured.total));
      scales = createScales(counter, { tokenizers, targets, factor });
      await scales.ready();
      lastTool = turn.lastTool;
      arrival = { limit, maxBytes: config.defaults?.toolResponseMaxBytes };
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
      return answerRoom(arrival?.limit ?? 0, budget.remaining);
    },
    takeHandles: () => {
      const taken = new Map(handles);
      handles.clear();
      return taken;
    },
  };
}

/** Undefined: there is nothing in it that a reference could stand for. */
function withReferences({ name }: CallOf, output: Output): Output | undefined {
  if (!output.content.some(isReferable)) return undefined;
  const content = output.content.map((part) =>
    isReferable(part)
      ? ({ kind: "text", text: referenceTo(part, { tool: name, ...anyReference }) } as const)
      : part,
  );
  return { ...output, content };
}
