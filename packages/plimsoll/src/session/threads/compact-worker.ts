/**
 * The thread that makes excerpts and receipts of large conversations, and validates large requests. This takes seconds for a
 * million tokens.
 */

import { parentPort } from "node:worker_threads";
import { type ReceiptWork, receiptFrom } from "../../compact/evidence/receipt-work.ts";
import { type MadeExcerpt, makeExcerpt } from "../../compact/excerpt/excerpt.ts";
import { errorMessage } from "../../message/error.ts";
import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { Goal, VisibleConversation } from "../../message/strategy.ts";
import { parseRuleInput } from "../../wire/validate/rules/rule.ts";
import { type Finding, newViolations, type RuleTexts } from "../../wire/validate/validate.ts";
import { type AskBack, takeJobs } from "./take-jobs.ts";

export type CompactJob =
  | {
      readonly kind: "excerpt";
      readonly conversation: Omit<VisibleConversation, "weigh">;
      readonly goal: Goal;
    }
  | { readonly kind: "receipt"; readonly work: ReceiptWork }
  | { readonly kind: "validate"; readonly input: RuleTexts };

export type CompactAnswer =
  | { readonly kind: "excerpt"; readonly made: MadeExcerpt | undefined }
  | { readonly kind: "receipt"; readonly receipt: Receipt }
  | { readonly kind: "validate"; readonly findings: readonly Finding[] }
  | { readonly kind: "threw"; readonly reason: string };

/** Messages are weighed in the main thread, where the tokenizer and its cache are. */
type Weigh = VisibleConversation["weigh"];

function weighThere(askBack: AskBack): Weigh {
  return async (messages: readonly Message[]) => {
    const weights = await askBack(messages);
    if (!Array.isArray(weights)) throw new Error("the messages could not be weighed");
    return weights as readonly number[];
  };
}

async function answerTo(job: CompactJob, askBack: AskBack): Promise<CompactAnswer> {
  try {
    if (job.kind === "receipt") return { kind: "receipt", receipt: receiptFrom(job.work) };
    if (job.kind === "validate")
      return { kind: "validate", findings: newViolations(parseRuleInput(job.input)) };
    const conversation = { ...job.conversation, weigh: weighThere(askBack) };
    return { kind: "excerpt", made: await makeExcerpt(conversation, job.goal) };
  } catch (error) {
    return { kind: "threw", reason: errorMessage(error) };
  }
}

if (parentPort !== null) takeJobs(parentPort, answerTo);
