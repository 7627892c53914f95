/**
 * The story so far, written by the session's own model: one more request to the upstream of the request that was just answered,
 * with the client's credentials, which Plimsoll never stores. The conversation is the beginning of that request, so the provider
 * reads it from its cache.
 */

import type { PriceList } from "../../prompt/price-rows.ts";
import type { Answer, Wire, WireEdit } from "../../wire/format/wire.ts";
import { bodyWithQuestion, textOf } from "../../wire/one-more-question.ts";
import { createAllowance } from "./allowance.ts";
import {
  type BoundedCall,
  callWithin,
  failedBy,
  type ModelSummary,
  type WrittenText,
} from "./bounded-call.ts";
import { summaryDefaults } from "./summariser.ts";

export interface SessionSummariserSettings {
  /** Maximum number of tokens of one story. Default: 1,000. */
  readonly maxTokens?: number;
  /** Maximum time for one story, in milliseconds. Default: 60,000, because the model reads the whole conversation. */
  readonly timeoutMs?: number;
  /** Maximum cost per day, in US dollars. Default: 1. */
  readonly maxUsdPerDay?: number;
  /** Maximum number of calls per hour. Default: 6. */
  readonly maxCallsPerHour?: number;
}

/**
 * Sends another body to the upstream of a request, with the headers of that request. Contract: its errors quote no credentials,
 * and it follows no redirects.
 */
export type AskAgain = (body: Uint8Array, signal: AbortSignal) => Promise<Answer>;

/** The request that was just answered, and a way to ask its model once more. */
export interface AnsweredRequest {
  readonly wire: Wire;
  readonly body: Uint8Array;
  /** The most tokens that the provider counts for the request. */
  readonly tokens: number;
  readonly window: number;
  readonly ownTextPlacement: WireEdit["ownTextPlacement"];
  readonly prices: PriceList;
  readonly askAgain: AskAgain;
}

export interface SessionQuestion {
  readonly answered: AnsweredRequest;
  readonly text: string;
  readonly textTokens: number;
  readonly signal: AbortSignal;
}

export interface SessionSummariser {
  readonly maxTokens: number;
  /** Contract: settles within the time limit, and never rejects. */
  ask(question: SessionQuestion): Promise<ModelSummary>;
  spentUsdToday(): number;
}

const defaults = {
  maxTokens: summaryDefaults.maxTokens,
  timeoutMs: 60_000,
  maxUsdPerDay: 1,
  maxCallsPerHour: 6,
} as const;
/** Tokens for thinking, in addition to the story. On some wires, thinking counts as output. */
const thinkingTokens = 4_000;

/** Tokenizers differ about the text, and the message around it takes a few tokens. */
const countingMargin = 1.25;
const frameTokens = 50;

export function createSessionSummariser(
  settings: SessionSummariserSettings,
  now: () => number,
): SessionSummariser {
  const bounds = { ...defaults, ...settings };
  const allowance = createAllowance(bounds, now);
  return {
    maxTokens: bounds.maxTokens,
    spentUsdToday: allowance.spentUsdToday,
    ask: async (question) => {
      try {
        const call = callFor(question, bounds);
        return call.kind === "failed" ? call : await callWithin(allowance, call);
      } catch (error) {
        return failedBy(error);
      }
    },
  };
}

type Bounds = Required<Pick<SessionSummariserSettings, "maxTokens" | "timeoutMs">>;

function callFor(
  { answered, text, textTokens, signal }: SessionQuestion,
  { maxTokens, timeoutMs }: Bounds,
): (BoundedCall & { readonly kind: "call" }) | Extract<ModelSummary, { kind: "failed" }> {
  const { wire, ownTextPlacement, askAgain, prices, window } = answered;
  const tokens = answered.tokens + Math.ceil(textTokens * countingMargin) + frameTokens;
  const made = bodyWithQuestion(wire, answered.body, {
    text,
    ownTextPlacement,
    outputTokens: { answer: maxTokens, thinking: thinkingTokens, room: window - tokens },
  });
  if (made.kind === "impossible") return { kind: "failed", reason: made.reason };
  const { body, outputTokens } = made;
  return {
    kind: "call",
    worst: { ...worstInput(wire, body, tokens), output: outputTokens },
    prices: pricesFor(prices, tokens),
    maxTokens,
    timeoutMs,
    signal,
    ask: async (within) => written(wire, await askAgain(body, within)),
  };
}

/** No list says how much more a request above the price step costs. */
function pricesFor({ prices, ...list }: PriceList, tokens: number): PriceList {
  const isKnown = prices !== undefined && tokens <= (list.priceStep ?? Number.POSITIVE_INFINITY);
  return isKnown ? { ...list, prices } : list;
}

/** In the worst case, the provider's cache has nothing, and stores everything again. */
function worstInput({ cache }: Wire, body: Uint8Array, tokens: number) {
  const nothing = { fresh: 0, cacheRead: 0, cacheWrite: 0 };
  if (cache.hasLongMarks(body)) return { ...nothing, cacheWriteLong: tokens };
  return cache.countMarks(body) > 0
    ? { ...nothing, cacheWrite: tokens }
    : { ...nothing, fresh: tokens };
}

function written(wire: Wire, answer: Answer): WrittenText {
  const { outcome, error, usage } = answer;
  if (outcome === "error")
    throw new Error(`the provider answered with an error: ${error?.message || error?.type || ""}`);
  if (outcome !== "message") throw new Error("the provider's answer could not be read");
  const text = textOf(wire, answer);
  const hasCalls = (answer.choices[0] ?? []).some(
    (message) => wire.messages.toolCalls(message).length > 0,
  );
  if (hasCalls) throw new Error("the model called a tool instead of writing");
  return { text, usage };
}
