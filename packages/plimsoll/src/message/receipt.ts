/**
 * Receipts. A receipt lists the facts that a compaction took out and those that survived, by class of evidence. Receipts are
 * plain data, so that they can be stored and shown.
 */

export const evidenceClasses = [
  "constraint",
  "error",
  "decision",
  "task",
  "command",
  "path",
  "id",
  "number",
] as const;

export type EvidenceClass = (typeof evidenceClasses)[number];

export interface ReceiptLine {
  readonly facts: number;
  /** Number of facts that are still in the view word for word. */
  readonly verbatim: number;
  /** Number of facts that are no longer in the view and can only be read through the handle. */
  readonly behindHandle: number;
  readonly verbatimExamples: readonly ReceiptFact[];
  readonly behindHandleExamples: readonly ReceiptFact[];
}

export interface ReceiptFact {
  readonly text: string;
  /** Number of the message in the log. */
  readonly number: number;
}

export interface Receipt {
  readonly classes: Readonly<Record<EvidenceClass, ReceiptLine>>;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly milliseconds: number;
  readonly strategies: readonly string[];
  /** Share of the repeated mentions in the view whose earlier mention is still visible before them, from 0 to 1. */
  readonly coherence: number;
  readonly handles: readonly string[];
}
