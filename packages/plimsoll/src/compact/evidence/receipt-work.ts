/** Makes a receipt from an earlier and the current view. Input and output are plain data, so this can run in another thread. */

import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import { coherenceOf, type VisibleText } from "./coherence.ts";
import { readEvidence } from "./evidence.ts";
import { makeReceipt } from "./receipt.ts";

export interface ReceiptWork {
  /**
   * The messages of the conversation as they came, from which its facts are read. So a receipt counts what earlier compactions
   * took out, and no mark of Plimsoll is a fact.
   */
  readonly before: readonly { readonly message: Message; readonly number: number }[];
  /** The texts of the earlier view, in which its references are found. */
  readonly visibleBefore: readonly VisibleText[];
  /** The texts of the current view in any order, including the texts that Plimsoll wrote. */
  readonly visibleAfter: readonly VisibleText[];
  readonly figures: Omit<Receipt, "classes" | "coherence">;
}

export function receiptFrom({
  before,
  visibleBefore,
  visibleAfter,
  figures,
}: ReceiptWork): Receipt {
  const inOrder = visibleAfter.toSorted((one, other) => one.number - other.number);
  const { handles, ...rest } = figures;
  return makeReceipt({
    ...rest,
    before: readEvidence(before),
    after: visibleAfter.map(({ text }) => text),
    coherence: coherenceOf(visibleBefore, inOrder),
    handles,
  });
}
