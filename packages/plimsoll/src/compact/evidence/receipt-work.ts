/** A receipt from two views: plain data in, plain data out, so that it can be made in another thread. */

import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import { coherenceOf, type VisibleText } from "./coherence.ts";
import { readEvidence } from "./evidence.ts";
import { makeReceipt } from "./receipt.ts";

export interface ReceiptWork {
  /** The view before, for the facts in it … */
  readonly before: readonly { readonly message: Message; readonly number: number }[];
  /** … and for what referred to what. */
  readonly visibleBefore: readonly VisibleText[];
  /** The view now, texts of ours as well, in any order. */
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
