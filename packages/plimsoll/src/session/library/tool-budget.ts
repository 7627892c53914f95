/** The tool budget of a session: counts results before they join the conversation. */

import { type ContextCounters, countersWith, grownCounters } from "../../budget/counters.ts";
import { limitInForce, type OwnLimits } from "../../budget/guard.ts";
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
import { arrivalBytesOf } from "../../config/levels.ts";
import { ownLimitsOf, type WhoAsks } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import type { Wording } from "../../text/document-texts.ts";
import type { LastTurn } from "../draft/draft.ts";
import { asGuarded } from "../draft/projection.ts";
import { type Debug, debugEvaluation } from "../fit/debug.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { type ArrivalRules, isTooLarge } from "../fit/oversized-results.ts";
import { answerRoom } from "../lookup/answer-room.ts";
import { createScales, type NowCounter, type Scales } from "../measure/count-tool-output.ts";
import type { Target } from "../measure/target.ts";
import { anyReference, isReferable, referenceTo } from "./granted-handles.ts";
import { type Output, outputOf, resultMessage, textBytes } from "./tool-output.ts";

export type ToolGrant = Grant & {
  /** The result, or a text for the model that replaces a denied result. The caller must append this message. */
  readonly message: Message;
};

/** The call that a result belongs to. */
export type CallOf = Pick<ToolCallPart, "id" | "name">;

/**
 * The room for results of a turn's calls, from one `prepare` to the next. Results may arrive at the same time and in any order.
 * Before the first `prepare`, Plimsoll does not know the room and grants every result.
 */
export interface SessionToolBudget {
  /**
   * Reserves room for a result: text, JSON, a list of parts in Plimsoll's neutral form (text, image, document, opaque), or an
   * Error. If Plimsoll grants the result, its room is taken at once. Granted or not, the caller must append the `message` of the
   * returned grant.
   */
  reserve(call: CallOf, output: unknown): ToolGrant;
  /** Returns the same as `reserve`, but takes no room. */
  preview(call: CallOf, output: unknown): ToolGrant;
  /** Whether this tool may be called and there is still room for a result. Without a name, only the room is checked. */
  canExecute(name?: string): boolean;
  /** Counts with each configured tokenizer and returns the highest count. */
  countTokens(text: string): number;
  readonly remaining: number;
  /**
   * True if a result was denied because there was no room. All further results are then denied, too. If the next turn still has
   * no room, it is the final turn.
   */
  readonly isExceeded: boolean;
}

export interface TurnBudget {
  readonly publicApi: SessionToolBudget;
  /** Call this when a turn is about to be sent. */
  begin(turn: BudgetedTurn): Promise<void>;
  /** Call this when the model has answered. The provider's count of the request then replaces the estimate. */
  answered(answer: BudgetedAnswer): void;
  /**
   * Call this after the view has become shorter. `tokens`: how many tokens were saved, before calibration. Results get more room
   * only if the limit is strict. Otherwise their room does not depend on older content.
   */
  freed(tokens: number): void;
  /** Tokens taken by the answer and by results since the turn was sent, in the provider's tokens. */
  readonly spent: number;
  /**
   * Set when the first result of this turn is denied for lack of room. Always undefined in a final turn, which has no room for
   * results anyway.
   */
  readonly denial: Denial | undefined;
  /** Size of the message in the provider's tokens. */
  weigh(message: Message): number;
  /** Call this when Plimsoll has answered a call itself. `tokens`: the size of the answer, in the provider's tokens. */
  spend(tokens: number): void;
  /** Maximum size of one answer of Plimsoll's own tools. */
  readonly answerRoom: number;
  /** Tool names by call id, for the results that are to be shown as references. Each call is returned only once. */
  takeHandles(): ReadonlyMap<string, string>;
}

/**
 * Whether the denied result would be denied again, given the size of the next turn. There may be room after a change of the model
 * or after the provider has reported usage.
 */
export type Denial = (next: LastTurn) => boolean;

export interface BudgetedAnswer {
  /** Size of the answer, before calibration. */
  readonly tokens: number;
  readonly calls: number;
  /** Input tokens that the provider reported for the request. */
  readonly inputTokens?: number | undefined;
}

export interface BudgetedTurn {
  readonly fitted: Fitted;
  readonly targets: readonly [Target, ...Target[]];
  readonly rules: ToolRules;
  readonly who: WhoAsks;
  /** The only tool that a final turn may call. Undefined in any other turn. */
  readonly lastTool: string | undefined;
  /** Size of Plimsoll's tools that the first handle would add, before calibration. */
  readonly toolsToCome: number;
}

export interface BudgetWorld {
  readonly config: Config;
  readonly counter: NowCounter;
  readonly tokenizers: ReadonlySet<string>;
  readonly debug: Debug;
}

/**
 * Two counts of the same head always differ a little. A denial is withdrawn only if the room has grown by more than this share of
 * the head.
 */
const headSlack = 0.1;

export function createTurnBudget(world: BudgetWorld): TurnBudget {
  const { config, counter, tokenizers, debug } = world;
  const state = createBudgetState();
  const { budget } = state;
  const handles = new Map<string, string>();
  let arrival: ArrivalRules | undefined;
  let scale = sameScale;
  let scales: Scales = createScales(counter, { tokenizers, targets: [], scale });
  let lastTool: string | undefined;
  let counters: ContextCounters | undefined;
  const tell = (tokens: number): void => tellOfResult(debug, counters, state.spent, tokens);

  const decide = (take: typeof budget.reserve, call: CallOf, given: unknown): ToolGrant => {
    const output = outputOf(given);
    if (call.name === lastTool) {
      const message = resultMessage(call, output);
      return { kind: "whole", tokens: scales.weigh(message), message };
    }
    const grant = take(call.name, costOf(call, output, { scales, arrival, config }));
    if (grant.kind !== "denied") return { ...grant, message: resultMessage(call, output) };
    const result = { content: [{ kind: "text", text: grant.text } as const], isError: true };
    return { ...grant, message: resultMessage(call, result) };
  };

  return {
    publicApi: {
      reserve: (call, output) => {
        const grant = decide(
          (name, cost) => {
            tell(Math.min(cost.wholeTokens, cost.handleTokens));
            return state.reserve(name, cost);
          },
          call,
          output,
        );
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
      const { fitted, targets, rules, who } = turn;
      const { measured, measurement, limit } = fitted;
      scale = notBelowOwn(scaleBetween(measured.total, measurement.total));
      scales = createScales(counter, { tokenizers, targets, scale });
      await scales.ready();
      lastTool = turn.lastTool;
      counters = fitted.projection.counters;
      arrival = { limit, maxBytes: arrivalBytesOf(config, who) };
      handles.clear();
      const entryTokens = Math.ceil(inProviderTokens(turn.toolsToCome, scale));
      const sent = { ...fitted, own: ownLimitsOf(config, who) };
      state.open(lastTool === undefined ? sent : undefined, { rules, entryTokens });
    },
    answered: (answer) => {
      const tokens = Math.ceil(inProviderTokens(answer.tokens, scale));
      state.answered({ ...answer, tokens });
    },
    freed: (tokens) => state.freed(Math.floor(inProviderTokens(tokens, scale))),
    weigh: (message) => scales.weigh(message),
    spend: (tokens) => {
      tell(tokens);
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

/** Prints the counters as they are before a result of this size joins the conversation. */
function tellOfResult(
  debug: Debug,
  counters: ContextCounters | undefined,
  spent: number,
  tokens: number,
): void {
  if (counters === undefined || tokens === Number.POSITIVE_INFINITY) return;
  debugEvaluation(debug, { counters: countersWith(grownCounters(counters, spent), tokens) });
}

interface Weighing {
  readonly scales: Scales;
  readonly arrival: ArrivalRules | undefined;
  readonly config: Pick<Config, "agent" | "texts">;
}

function costOf(call: CallOf, output: Output, { scales, arrival, config }: Weighing): ResultCost {
  const whole = resultMessage(call, output);
  let counted: number | undefined;
  const tokens = (): number => {
    counted ??= scales.weigh(whole);
    return counted;
  };
  const isLarge =
    arrival !== undefined && isTooLarge({ bytes: textBytes(output), tokens }, arrival);
  // With `by_hand`, a reference replaces a result that is too large, but not one for which there is no room.
  const mayRefer = isLarge || config.agent?.compaction !== "by_hand";
  const referred = mayRefer ? withReferences(call, output, config.texts) : undefined;
  return {
    wholeTokens: isLarge ? Number.POSITIVE_INFINITY : tokens(),
    handleTokens:
      referred === undefined
        ? Number.POSITIVE_INFINITY
        : scales.weigh(resultMessage(call, referred)),
  };
}

/** The budget of the turn that was sent, the room taken from it, and the denial. */
interface BudgetState {
  readonly budget: SharedToolBudget;
  readonly spent: number;
  readonly denial: Denial | undefined;
  /** `sent` is undefined for a final turn, which has no room for results. */
  open(sent: SentTurn | undefined, options: BudgetOptions): void;
  reserve(name: string, cost: ResultCost): Grant;
  answered(answer: BudgetedAnswer): void;
  take(tokens: number): void;
  freed(tokens: number): void;
}

/** A turn that was sent, and the limits that apply in addition to the window. */
type SentTurn = LastTurn & { readonly own: OwnLimits };

function createBudgetState(): BudgetState {
  const budget = shareToolBudget(openToolBudget(unlimited));
  let sent: SentTurn | undefined;
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
    freed: (tokens) => {
      spent -= tokens;
      if (sent?.own.isStrict === true) budget.add(tokens);
    },
  };
}

function roomOf({ target, projection, own }: SentTurn, reportedTokens?: number): number {
  const limitTokens = limitInForce(asGuarded(target), own, projection);
  const isStrict = own.isStrict === true;
  return roomForResults(target.limit, projection, { limitTokens, isStrict, reportedTokens });
}

/** Compares the best estimate of the room at the time of the denial with the estimate for the next turn. */
function denialOf({ target, projection, own }: SentTurn, inputTokens?: number): Denial {
  const { tokens, head } = projection;
  const factor = (inputTokens ?? tokens) / Math.max(1, tokens);
  const roomThen = roomBeside({ target, projection, own }, factor);
  return (next) => roomBeside({ ...next, own }, 1) <= roomThen + head * factor * headSlack;
}

/** The room beside everything that counts. `factor` corrects the projection by the provider's report. */
function roomBeside({ target, projection, own }: SentTurn, factor: number): number {
  const limitTokens = limitInForce(asGuarded(target), own, projection);
  return own.isStrict === true
    ? limitTokens - projection.tokens * factor
    : Math.min(target.limit.named, limitTokens) - projection.head * factor;
}

/** The output with references in place of its long texts. Undefined if it has nothing that a reference could replace. */
function withReferences(
  { name }: CallOf,
  output: Output,
  texts: Wording | undefined,
): Output | undefined {
  if (!output.content.some(isReferable)) return undefined;
  const content = output.content.map((part) =>
    isReferable(part)
      ? ({ kind: "text", text: referenceTo(part, { tool: name, ...anyReference, texts }) } as const)
      : part,
  );
  return { ...output, content };
}
