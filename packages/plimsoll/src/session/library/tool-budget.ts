/** The tool budget of a session: results on their way into the conversation, counted before they are in it. */

import {
  inProviderTokens,
  notBelowOwn,
  sameScale,
  scaleBetween,
} from "../../budget/token-scale.ts";
import {
  type BudgetOptions,
  type Grant,
  openToolBudget,
  type ResultCost,
  roomForResults,
  type SharedToolBudget,
  shareToolBudget,
  type ToolRules,
  unlimited,
} from "../../budget/tool-budget.ts";
import type { Config } from "../../config/schema.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import type { LastTurn } from "../draft/draft.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { type ArrivalRules, isTooLarge } from "../fit/oversized-results.ts";
import { answerRoom } from "../lookup/answer-room.ts";
import { createScales, type NowCounter, type Scales } from "../measure/count-tool-output.ts";
import type { Target } from "../measure/target.ts";
import { anyReference, isReferable, referenceTo } from "./granted-handles.ts";
import { type Output, outputOf, resultMessage, textBytes } from "./tool-output.ts";

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
  /** A result was denied for want of room: so is every further one, and the next turn is the last if there is no room then either. */
  readonly isExceeded: boolean;
}

export interface TurnBudget {
  readonly publicApi: SessionToolBudget;
  /** A turn goes out. */
  begin(turn: BudgetedTurn): Promise<void>;
  /** The model has answered: what the provider says now of the request is better than what was thought of it. */
  answered(answer: BudgetedAnswer): void;
  /** The view has become shorter; before correction. Results gain nothing: what is older was never in their way. */
  freed(tokens: number): void;
  /** Taken since the turn went out, by its answer and by results; as the guard counts. */
  readonly spent: number;
  /** Of the first result of this turn for which there was no room; undefined in a last turn, which has none for any. */
  readonly denial: Denial | undefined;
  /** As the guard counts. */
  weigh(message: Message): number;
  /** A call was answered by Plimsoll itself, with so much; as the guard counts. */
  spend(tokens: number): void;
  /** What one answer of our own tools may take. */
  readonly answerRoom: number;
  /** Names of the tools by call, whose results are to be shown as references. Each is given once. */
  takeHandles(): ReadonlyMap<string, string>;
}

/** Whether it would be denied again, by what is known of the next turn: of another model, or once usage was reported, there may be room. */
export type Denial = (next: LastTurn) => boolean;

export interface BudgetedAnswer {
  /** Before correction. */
  readonly tokens: number;
  readonly calls: number;
  /** What the provider reported of the request. */
  readonly inputTokens?: number | undefined;
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

/** Two counts of one head are never quite the same: a denial is taken back for more than this share of it. */
const headSlack = 0.1;

export function createTurnBudget({ config, counter, tokenizers }: BudgetWorld): TurnBudget {
  const state = createBudgetState();
  const { budget } = state;
  const handles = new Map<string, string>();
  let arrival: ArrivalRules | undefined;
  let scale = sameScale;
  let scales: Scales = createScales(counter, { tokenizers, targets: [], scale });
  let lastTool: string | undefined;

  const decide = (take: typeof budget.reserve, call: CallOf, given: unknown): ToolGrant => {
    const output = outputOf(given);
    if (call.name === lastTool) {
      const message = resultMessage(call, output);
      return { kind: "whole", tokens: scales.weigh(message), message };
    }
    const grant = take(call.name, costOf(call, output, { scales, arrival }));
    if (grant.kind !== "denied") return { ...grant, message: resultMessage(call, output) };
    const result = { content: [{ kind: "text", text: grant.text } as const], isError: true };
    return { ...grant, message: resultMessage(call, result) };
  };

  return {
    publicApi: {
      reserve: (call, output) => {
        const grant = decide(state.reserve, call, output);
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
      const { measured, measurement, limit } = fitted;
      scale = notBelowOwn(scaleBetween(measured.total, measurement.total));
      scales = createScales(counter, { tokenizers, targets, scale });
      await scales.ready();
      lastTool = turn.lastTool;
      arrival = { limit, maxBytes: config.defaults?.toolResponseMaxBytes };
      handles.clear();
      const entryTokens = Math.ceil(inProviderTokens(turn.toolsToCome, scale));
      state.open(lastTool === undefined ? fitted : undefined, { rules, entryTokens });
    },
    answered: (answer) => {
      const tokens = Math.ceil(inProviderTokens(answer.tokens, scale));
      state.answered({ ...answer, tokens });
    },
    freed: (tokens) => state.take(-Math.floor(inProviderTokens(tokens, scale))),
    weigh: (message) => scales.weigh(message),
    spend: (tokens) => {
      state.take(tokens);
      budget.spend(tokens);
    },
    get spent() {
      return state.spent;
    },
    get denial() {
      return state.denial;
    },
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

interface Weighing {
  readonly scales: Scales;
  readonly arrival: ArrivalRules | undefined;
}

function costOf(call: CallOf, output: Output, { scales, arrival }: Weighing): ResultCost {
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
}

/** The budget of the turn that went out, what was taken of it, and what was denied. */
interface BudgetState {
  readonly budget: SharedToolBudget;
  readonly spent: number;
  readonly denial: Denial | undefined;
  /** Without a request: a last turn, in which there is nothing for results. */
  open(sent: Fitted | undefined, options: BudgetOptions): void;
  reserve(name: string, cost: ResultCost): Grant;
  answered(answer: BudgetedAnswer): void;
  take(tokens: number): void;
}

function createBudgetState(): BudgetState {
  const budget = shareToolBudget(openToolBudget(unlimited));
  let sent: Fitted | undefined;
  let reported: number | undefined;
  let spent = 0;
  let denial: Denial | undefined;
  return {
    budget,
    get spent() {
      return spent;
    },
    get denial() {
      return denial;
    },
    open: (request, options) => {
      sent = request;
      reported = undefined;
      spent = 0;
      denial = undefined;
      budget.open(openToolBudget(sent === undefined ? 0 : roomOf(sent), options));
    },
    reserve: (name, cost) => {
      const grant = budget.reserve(name, cost);
      const isFull = grant.kind === "denied" && grant.reason === "budget";
      if (isFull && sent !== undefined) denial ??= denialOf(sent, reported);
      spent += grant.tokens;
      return grant;
    },
    answered: ({ tokens, calls, inputTokens }) => {
      reported = inputTokens;
      if (sent !== undefined) budget.add(roomOf(sent, reported) - roomOf(sent));
      spent += tokens;
      budget.answered(tokens, calls);
    },
    take: (tokens) => {
      spent += tokens;
    },
  };
}

function roomOf({ target, projection }: Fitted, inputTokens?: number): number {
  return roomForResults(target.limit, projection, inputTokens);
}

/** By the best estimates of then and now. */
function denialOf({ target, projection }: Fitted, inputTokens?: number): Denial {
  const { tokens, head } = projection;
  const headThen = head * ((inputTokens ?? tokens) / Math.max(1, tokens));
  const roomThen = target.limit.named - headThen;
  return (next) =>
    next.target.limit.named - next.projection.head <= roomThen + headThen * headSlack;
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
