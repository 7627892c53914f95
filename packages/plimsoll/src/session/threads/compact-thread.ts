/**
 * Uses threads to make excerpts and receipts of large conversations and to validate large requests, so that other requests need
 * not wait.
 */

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { type ReceiptWork, receiptFrom } from "../../compact/evidence/receipt-work.ts";
import { excerptBy, type MakeExcerpt, makeExcerpt } from "../../compact/excerpt/excerpt.ts";
import { type Message, messageText } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { Strategy, VisibleConversation } from "../../message/strategy.ts";
import { parseRuleInput } from "../../wire/validate/rules/rule.ts";
import { type Finding, newViolations, type RuleTexts } from "../../wire/validate/validate.ts";
import { createSpareWorkers } from "../../workers/spare-workers.ts";
import type { CompactAnswer, CompactJob } from "./compact-worker.ts";
import { createJobThreads, type JobThread, type OnQuestion } from "./job-thread.ts";

export interface CompactThreads {
  readonly excerpt: Strategy;
  /** Contract: never rejects. */
  makeReceipt(work: ReceiptWork): Promise<Receipt>;
  /** Like `newViolations`, but in a thread if the texts are long. */
  validate(input: RuleTexts): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

export interface CompactThreadOptions {
  /**
   * Maximum size of a conversation that is processed in the main thread, in bytes. A larger conversation is processed in another
   * thread.
   */
  readonly inPlaceBytes?: number;
  readonly startWorker?: () => Worker;
  readonly excerptTimeoutMs?: number;
  /** Maximum time until a thread begins a job, in milliseconds. */
  readonly startTimeoutMs?: number;
  readonly waitingMax?: number;
}

/**
 * Default of `inPlaceBytes`. A conversation of this size keeps the event loop busy for at most about 50 ms, whatever its content
 * is.
 */
const usualInPlaceBytes = 32_768;
/**
 * Maximum size of a request that is validated in the main thread, in characters. It is larger than `usualInPlaceBytes`, because
 * validation is far less work than an excerpt. A request of this size takes about 20 ms.
 */
const validatedInPlaceChars = 524_288;
/** Maximum time for a job, in milliseconds. It is long, because without an excerpt the conversation would be truncated. */
const timeouts = { excerpt: 60_000, receipt: 60_000, check: 60_000 };
/**
 * How long an idle thread is kept, in milliseconds. The next compaction may come soon, and starting a thread takes longer than
 * most excerpts. But after a long conversation, a thread keeps some 150 MB until it ends.
 */
const idleMs = { excerpt: 30_000, receipt: 5000, check: 30_000 };
const closedReason = "it was closed";
/**
 * Excerpts are made in as many threads as there are processors beside the one of the main thread, at most this many. Each may need
 * a gigabyte for a window of a million tokens.
 */
const excerptThreadsMax = 4;
/**
 * Maximum number of waiting jobs. A waiting job takes little memory, because its session keeps the conversation in memory anyway.
 */
const usualWaitingMax = 256;

export function createCompactThreads(options: CompactThreadOptions = {}): CompactThreads {
  const { inPlaceBytes = usualInPlaceBytes, startWorker } = options;
  const open = (of: keyof typeof timeouts, count: number, timeoutMs = timeouts[of]) =>
    createJobThreads<CompactAnswer>(count, {
      ...(startWorker === undefined ? compactWorkers : { startWorker }),
      timeoutMs,
      idleMs: idleMs[of],
      waitingMax: options.waitingMax ?? usualWaitingMax,
      ...(options.startTimeoutMs === undefined ? {} : { startTimeoutMs: options.startTimeoutMs }),
    });
  const excerptThreads = Math.min(excerptThreadsMax, Math.max(1, availableParallelism() - 1));
  const excerpts = open("excerpt", excerptThreads, options.excerptTimeoutMs);
  const receipts = open("receipt", 1);
  const checks = open("check", 1);
  /** An excerpt's thread if all are idle. Checks and receipts must not wait for an excerpt, which takes far longer. */
  const idleOr = (other: JobThread<CompactAnswer>): JobThread<CompactAnswer> =>
    excerpts.jobs === 0 ? excerpts : other;

  const makeThere: MakeExcerpt = async (conversation, goal) => {
    const bytes = conversation.messages.reduce((sum, message) => sum + sizeOf(message), 0);
    if (bytes <= inPlaceBytes) return makeExcerpt(conversation, goal);
    const { weigh, ...plain } = conversation;
    const job: CompactJob = { kind: "excerpt", conversation: plain, goal };
    const answer = await doneBy(excerpts, job, (messages) => weigh(messages as readonly Message[]));
    if (answer.kind === "excerpt") return answer.made;
    throw new Error(answer.kind === "threw" ? answer.reason : otherKind);
  };

  return {
    excerpt: { ...excerptBy(makeThere), keepsTime: true },
    makeReceipt: async (work) => {
      const chars =
        work.visibleBefore.reduce((sum, { text }) => sum + text.length, 0) +
        work.before.reduce((sum, { message }) => sum + messageText(message).length, 0);
      if (chars <= inPlaceBytes) return receiptFrom(work);
      const job: CompactJob = { kind: "receipt", work };
      const outcome = await idleOr(receipts).run(() => ({ job }));
      const answer = outcome.kind === "answered" ? outcome.answer : undefined;
      // If the receipt is not made in time, a short receipt says how much was removed, but lists no facts.
      return answer?.kind === "receipt"
        ? answer.receipt
        : receiptFrom({ ...work, before: [], visibleBefore: [], visibleAfter: [] });
    },
    validate: async (input) => {
      const chars = input.bodyText.length + (input.originalText ?? "").length;
      if (chars <= validatedInPlaceChars) return newViolations(parseRuleInput(input));
      const answer = await doneBy(idleOr(checks), { kind: "validate", input });
      if (answer.kind === "validate") return answer.findings;
      throw new Error(answer.kind === "threw" ? answer.reason : otherKind);
    },
    close: async () => {
      await Promise.all([excerpts.close(), receipts.close(), checks.close()]);
    },
  };
}

const otherKind = "the thread answered another kind of job";

/**
 * The answer to a job. If its thread dies, or cannot be started, the job is tried once more, in a new thread. It is never done in the
 * main thread: that would keep all sessions waiting, and a job that has used up the memory of a thread would end the service.
 * Rejects if there is no answer. The conversation then goes on with the next fallback.
 */
async function doneBy(
  threads: JobThread<CompactAnswer>,
  job: CompactJob,
  onQuestion?: OnQuestion,
): Promise<CompactAnswer> {
  for (let left = tries; ; left--) {
    const outcome = await threads.run(() => ({ job }), onQuestion);
    if (outcome.kind === "answered") return outcome.answer;
    if (outcome.kind === "too-slow") throw new Error("it took too long");
    if (outcome.kind === "closed") throw new Error(closedReason);
    if (outcome.kind === "full") throw new Error("too many others were waiting");
    if (left <= 1) throw new Error("its thread has failed twice");
  }
}

/** How often a job is given to a thread. */
const tries = 2;

/** Size of the original content, from which the excerpt is made. Less of it may be visible now. */
function sizeOf({ bytes, original }: VisibleConversation["messages"][number]): number {
  return original === undefined ? bytes : Math.max(bytes, original.tokens * bytesPerToken);
}

const bytesPerToken = 4;

const compactWorkers = createSpareWorkers(
  () =>
    new Worker(new URL("./compact-worker.ts", import.meta.url), {
      name: "compact",
      resourceLimits: { maxOldGenerationSizeMb: 2048 },
    }),
);
