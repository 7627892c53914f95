/** The thread in which large conversations are excerpted and judged, and receipts made: at a million tokens that takes seconds. */

import { parentPort } from "node:worker_threads";
import { type ReceiptWork, receiptFrom } from "../../compact/evidence/receipt-work.ts";
import { type MadeExcerpt, makeExcerpt } from "../../compact/excerpt/excerpt.ts";
import { errorMessage } from "../../message/error.ts";
import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { Goal, SeenConversation } from "../../message/strategy.ts";
import { parseJudged } from "../../wire/validate/rules/rule.ts";
import { type Finding, type JudgedTexts, newViolations } from "../../wire/validate/validate.ts";
import { takeUntilEnd } from "../../work/thread-end.ts";
import type { JobReply, JobRequest, JobTold } from "./job-thread.ts";

export type CompactJob =
  | {
      readonly kind: "excerpt";
      readonly conversation: Omit<SeenConversation, "weigh">;
      readonly goal: Goal;
    }
  | { readonly kind: "receipt"; readonly work: ReceiptWork }
  | { readonly kind: "judge"; readonly judged: JudgedTexts };

export type CompactAnswer =
  | { readonly kind: "excerpt"; readonly made: MadeExcerpt | undefined }
  | { readonly kind: "receipt"; readonly receipt: Receipt }
  | { readonly kind: "judge"; readonly findings: readonly Finding[] }
  | { readonly kind: "threw"; readonly reason: string };

/** Messages are weighed where everything else is: with the same tokenizer, and what it remembers. */
type Weigh = SeenConversation["weigh"];

const asked = new Map<number, (answer: unknown) => void>();
let questions = 0;

function weighThere(id: number): Weigh {
  return async (messages: readonly Message[]) => {
    const question = ++questions;
    const answer = await new Promise<unknown>((resolve) => {
      asked.set(question, resolve);
      say({ kind: "asks", id, question, asked: messages });
    });
    if (!Array.isArray(answer)) throw new Error("the messages could not be weighed");
    return answer as readonly number[];
  };
}

function say(reply: JobReply<CompactAnswer>): void {
  parentPort?.postMessage(reply);
}

async function answerTo(id: number, job: CompactJob): Promise<CompactAnswer> {
  try {
    if (job.kind === "receipt") return { kind: "receipt", receipt: receiptFrom(job.work) };
    if (job.kind === "judge")
      return { kind: "judge", findings: newViolations(parseJudged(job.judged)) };
    const conversation = { ...job.conversation, weigh: weighThere(id) };
    return { kind: "excerpt", made: await makeExcerpt(conversation, job.goal) };
  } catch (error) {
    return { kind: "threw", reason: errorMessage(error) };
  }
}

if (parentPort !== null)
  takeUntilEnd(parentPort, async (message: JobRequest | JobTold) => {
    if ("question" in message) {
      asked.get(message.question)?.(message.answer);
      asked.delete(message.question);
      return;
    }
    say({ kind: "begun", id: message.id });
    const answer = await answerTo(message.id, message.job as CompactJob);
    say({ kind: "answered", id: message.id, answer });
  });
