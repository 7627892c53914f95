/** `plimsoll receipts`: the facts that each compaction of a session removed and kept, by class of evidence. */

import type { Flags } from "../../config/config.ts";
import type { CompactionEndEvent } from "../../message/event.ts";
import { evidenceClasses, type Receipt } from "../../message/receipt.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { oneLine, table } from "../console/terminal.ts";

export async function runReceipts(
  id: string | undefined,
  flags: Flags & { readonly json?: boolean },
): Promise<void> {
  const items = await withProgress("Reading receipts", { json: flags.json }, () =>
    withStore(flags, async (store) => receiptsOf(store, await chooseSession(store, id))),
  );
  if (flags.json === true) {
    console.log(harmlessJson({ items }));
    return;
  }
  if (items.length === 0) {
    console.log("Nothing was compacted. The model sees every message as it came.");
    return;
  }
  console.log(items.map(render).join("\n\n"));
}

function render({ at, reason, receipt, messagesTakenOut }: CompactionEndEvent): string {
  return [
    `${new Date(at).toISOString()}  ${reason}, ${messagesTakenOut} messages removed entirely`,
    receiptText(receipt),
  ].join("\n");
}

export function receiptText(receipt: Receipt): string {
  const { tokensBefore, tokensAfter, strategies, milliseconds, coherence, handles } = receipt;
  const by = strategies.length === 0 ? "nothing was removed" : `by ${strategies.join(", ")}`;
  const kept = handles.length === 0 ? "" : `, kept under ${handles.join(" ")}`;
  const rows = evidenceClasses.map((name) => {
    const { facts, verbatim, behindHandle, behindHandleExamples } = receipt.classes[name];
    const [example] = behindHandleExamples;
    const taken = example === undefined ? "" : `#${example.number} ${example.text}`;
    return [name, facts, verbatim, behindHandle, harmless(oneLine(taken, 60))];
  });
  return [
    `${tokensBefore} → ${tokensAfter} tokens in ${milliseconds} ms (${by}), coherence ${coherence.toFixed(2)}${kept}`,
    table([["class", "facts", "still said", "in the archive", "for example"], ...rows]),
  ].join("\n");
}
