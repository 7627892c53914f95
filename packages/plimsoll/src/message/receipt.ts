/** Receipts: what one compaction took out and what survived, by class of evidence. Plain data, to be stored and shown. */

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
  /** The view says them, word for word. */
  readonly verbatim: number;
  /** Nothing of the view says them: they are behind the handle. */
  readonly behindHandle: number;
  readonly verbatimExamples: readonly ReceiptFact[];
  readonly behindHandleExamples: readonly ReceiptFact[];
}

export interface ReceiptFact {
  readonly text: string;
  /** Of the message in the log. */
  readonly number: number;
}

export interface Receipt {
  readonly classes: Readonly<Record<EvidenceClass, ReceiptLine>>;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly milliseconds: number;
  readonly strategies: readonly string[];
  /** 0…1 */
  readonly coherence: number;
  readonly handles: readonly string[];
}
