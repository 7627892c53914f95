/**
 * Summaries written by a model, within a time limit and an allowance. A failure of the summariser never makes anything else fail.
 */

import { type FencedText, summaryPrompt } from "../../compact/summary/prompt.ts";
import { errorMessage } from "../../message/error.ts";
import type { Usage } from "../../message/message.ts";
import type { OneAnswer } from "../../wire/one-question.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import { createAllowance, type Prices, type Tokens } from "./allowance.ts";
import { askModel, type ModelOutside, type ModelSettings } from "./ask-model.ts";

export interface SummariserSettings extends ModelSettings, Prices {
  /** Maximum number of tokens of one summary. Default: 1,000. */
  readonly maxTokens?: number;
  /** Maximum time for one summary, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Maximum cost per day, in US dollars. It has an effect only if the prices are set. */
  readonly maxUsdPerDay?: number;
  /** Maximum number of calls per hour. Default: 30. */
  readonly maxCallsPerHour?: number;
}

export interface SummariserOutside extends ModelOutside {
  /** The current time, in milliseconds since 1970. */
  readonly now: () => number;
}

export interface SummariserTask {
  readonly source: readonly FencedText[];
  /** Text of the earlier summary, which the new summary replaces. */
  readonly earlier?: string;
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

/** The summary as the model wrote it. It must pass the survival gate (compact/summary/survival.ts) before it is used. */
export type ModelSummary =
  | { readonly kind: "text"; readonly text: string; readonly usage: Usage }
  | { readonly kind: "failed"; readonly reason: string };

export interface Summariser {
  /** Contract: settles within the time limit, and never rejects. */
  summarise(task: SummariserTask): Promise<ModelSummary>;
  spentUsdToday(): number;
}

const defaults = { maxTokens: 1_000, timeoutMs: 10_000, maxCallsPerHour: 30 } as const;
/** Characters per token of the input in the worst case. Hardly any text has fewer. */
const charsPerToken = 3;
/** The most characters per token that an answer within its limit can have. A longer answer is cut. */
const maxCharsPerToken = 16;
/** Maximum length of a reason in characters. There is a bound because a provider's error may quote the whole request. */
const maxReasonChars = 300;

export function createSummariser(
  settings: SummariserSettings,
  outside: SummariserOutside,
): Summariser {
  const allowance = createAllowance(
    { ...settings, maxCallsPerHour: settings.maxCallsPerHour ?? defaults.maxCallsPerHour },
    outside.now,
  );
  return {
    spentUsdToday: allowance.spentUsdToday,
    summarise: async (task) => {
      const maxTokens = Math.min(task.maxTokens, settings.maxTokens ?? defaults.maxTokens);
      try {
        const prompt = summaryPrompt({ ...task, maxTokens });
        const inputTokens = Math.ceil(
          (prompt.system.length + prompt.prompt.length) / charsPerToken,
        );
        const leave = allowance.ask({ inputTokens, outputTokens: maxTokens });
        if (leave.kind === "refused") return { kind: "failed", reason: leave.reason };
        const ask = (signal: AbortSignal): Promise<OneAnswer> =>
          askModel(settings, outside, { ...prompt, maxTokens, signal });
        const answer = await withinTime(ask, task.signal, settings.timeoutMs ?? defaults.timeoutMs);
        const used = tokensOf(answer.usage);
        leave.settle(used);
        const text = answer.text.slice(0, maxTokens * maxCharsPerToken).trim();
        if (text === "") return { kind: "failed", reason: "the answer was empty" };
        return {
          kind: "text",
          text,
          usage: used ?? { inputTokens, outputTokens: maxTokens },
        };
      } catch (error) {
        return { kind: "failed", reason: errorMessage(error).slice(0, maxReasonChars) };
      }
    },
  };
}

/** The used tokens. Undefined unless the provider has reported both input and output. */
function tokensOf(usage: Usage | undefined): Tokens | undefined {
  const isWhole = usage !== undefined && usage.inputTokens > 0 && usage.outputTokens > 0;
  return isWhole ? { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } : undefined;
}

/** Waits for the work until the time limit is reached or the signal aborts, even if the work itself ignores the signal. */
async function withinTime<T>(
  run: (signal: AbortSignal) => Promise<T>,
  outer: AbortSignal,
  timeoutMs: number,
): Promise<T> {
  const late = new AbortController();
  const calledOff = Promise.withResolvers<never>();
  const onAbort = (): void => calledOff.reject(new Error("it was cancelled"));
  if (outer.aborted) onAbort();
  outer.addEventListener("abort", onAbort, { once: true });
  const work = Promise.race([run(AbortSignal.any([outer, late.signal])), calledOff.promise]);
  try {
    return await withTimeout(work, timeoutMs, () => {
      late.abort();
      throw new Error("it took too long");
    });
  } finally {
    outer.removeEventListener("abort", onAbort);
  }
}
