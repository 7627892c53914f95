/**
 * Summaries written by a model of their own, within a time limit and an allowance. A failure of the summariser never makes
 * anything else fail.
 */

import { type FencedText, storyPrompt, summaryPrompt } from "../../compact/summary/prompt.ts";
import type { PriceList } from "../../prompt/price-rows.ts";
import { createAllowance } from "./allowance.ts";
import { askModel, type ModelOutside, type ModelSettings } from "./ask-model.ts";
import { callWithin, type ModelSummary } from "./bounded-call.ts";

export interface SummariserSettings extends ModelSettings {
  /** Maximum number of tokens of one summary. Default: 1,000. */
  readonly maxTokens?: number;
  /** Maximum time for one summary, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Maximum cost per day, in US dollars. If it is set and no price is known, the model is not asked. */
  readonly maxUsdPerDay?: number;
  /** Maximum number of calls per hour. Default: 30. */
  readonly maxCallsPerHour?: number;
  readonly prices: PriceList;
}

export interface SummariserOutside extends ModelOutside {
  /** The current time, in milliseconds since 1970. */
  readonly now: () => number;
}

export interface SummariserTask {
  readonly source: readonly FencedText[];
  /** Set if the model writes the story so far, and not a summary. */
  readonly story?: {
    /** The lines that Plimsoll wrote itself. */
    readonly skeleton: string;
    /** The story of an earlier compaction. Its lines stay as they are. */
    readonly earlier?: string | undefined;
  };
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

export interface Summariser {
  readonly maxTokens: number;
  /** Contract: settles within the time limit, and never rejects. */
  summarise(task: SummariserTask): Promise<ModelSummary>;
  spentUsdToday(): number;
}

export const summaryDefaults = { maxTokens: 1_000, timeoutMs: 10_000 } as const;
const maxCallsPerHour = 30;
/** Characters per token of the input in the worst case. Hardly any text has fewer. */
const charsPerToken = 3;

export function createSummariser(
  settings: SummariserSettings,
  outside: SummariserOutside,
): Summariser {
  const { prices, timeoutMs = summaryDefaults.timeoutMs } = settings;
  const most = settings.maxTokens ?? summaryDefaults.maxTokens;
  const allowance = createAllowance({ maxCallsPerHour, ...settings }, outside.now);
  return {
    maxTokens: most,
    spentUsdToday: allowance.spentUsdToday,
    summarise: ({ signal, ...task }) => {
      const maxTokens = Math.min(task.maxTokens, most);
      const given = { ...task, maxTokens };
      const prompt =
        task.story === undefined ? summaryPrompt(given) : storyPrompt({ ...given, ...task.story });
      const inputTokens = Math.ceil((prompt.system.length + prompt.prompt.length) / charsPerToken);
      return callWithin(allowance, {
        worst: { fresh: inputTokens, cacheRead: 0, cacheWrite: 0, output: maxTokens },
        prices,
        maxTokens,
        timeoutMs,
        signal,
        ask: (within) => askModel(settings, outside, { ...prompt, maxTokens, signal: within }),
      });
    },
  };
}
