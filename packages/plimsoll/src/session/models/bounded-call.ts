/** One call of a model for a summary, within an allowance and a time limit. A failure is a verdict, never an error. */

import { errorMessage } from "../../message/error.ts";
import type { Usage } from "../../message/message.ts";
import { type BilledTokens, billedOf, costOf } from "../../prompt/bill.ts";
import type { PriceList } from "../../prompt/price-rows.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import type { Allowance } from "./allowance.ts";

/** A text as the model wrote it. It must pass the survival gate before it is used. */
export type ModelSummary =
  | { readonly kind: "text"; readonly text: string; readonly usage: Usage }
  | { readonly kind: "failed"; readonly reason: string };

export interface BoundedCall {
  /** The most tokens that the call can use, at the prices that apply in the worst case. */
  readonly worst: BilledTokens;
  readonly prices: PriceList;
  /** Maximum number of tokens of the text. A longer text is cut. */
  readonly maxTokens: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Contract: its errors quote no credentials. */
  readonly ask: (signal: AbortSignal) => Promise<WrittenText>;
}

export interface WrittenText {
  readonly text: string;
  /** Token usage. Undefined if the provider did not report it. */
  readonly usage?: Usage | undefined;
}

/** The most characters per token that a text within its limit can have. */
const maxCharsPerToken = 16;
/** Maximum length of a reason in characters. There is a bound because a provider's error may quote the whole request. */
const maxReasonChars = 300;

/** Contract: settles within the time limit, and never rejects. */
export async function callWithin(allowance: Allowance, call: BoundedCall): Promise<ModelSummary> {
  const { worst, prices, maxTokens } = call;
  const leave = allowance.ask(costOf(worst, prices));
  if (leave.kind === "refused") return { kind: "failed", reason: leave.reason };
  try {
    const answer = await withinTime(call);
    const usage = wholeUsage(answer.usage);
    leave.settle(usage && costOf(billedOf(usage), prices));
    const text = answer.text.slice(0, maxTokens * maxCharsPerToken).trim();
    if (text === "") return { kind: "failed", reason: "the answer was empty" };
    return { kind: "text", text, usage: usage ?? usageOf(worst) };
  } catch (error) {
    return failedBy(error);
  }
}

export function failedBy(error: unknown): ModelSummary {
  return { kind: "failed", reason: errorMessage(error).slice(0, maxReasonChars) };
}

function usageOf({ fresh, cacheWrite, cacheWriteLong = 0, output }: BilledTokens): Usage {
  return { inputTokens: fresh + cacheWrite + cacheWriteLong, outputTokens: output };
}

/** The usage. Undefined unless the provider has reported both input and output. */
function wholeUsage(usage: Usage | undefined): Usage | undefined {
  return usage !== undefined && usage.inputTokens > 0 && usage.outputTokens > 0 ? usage : undefined;
}

/** Waits for the answer until the time limit is reached or the signal aborts, even if the call itself ignores the signal. */
async function withinTime({
  ask,
  signal: outer,
  timeoutMs,
}: Pick<BoundedCall, "ask" | "signal" | "timeoutMs">): Promise<WrittenText> {
  const late = new AbortController();
  const calledOff = Promise.withResolvers<never>();
  const onAbort = (): void => calledOff.reject(new Error("it was cancelled"));
  if (outer.aborted) onAbort();
  outer.addEventListener("abort", onAbort, { once: true });
  const work = Promise.race([ask(AbortSignal.any([outer, late.signal])), calledOff.promise]);
  try {
    return await withTimeout(work, timeoutMs, () => {
      late.abort();
      throw new Error("it took too long");
    });
  } finally {
    outer.removeEventListener("abort", onAbort);
  }
}
