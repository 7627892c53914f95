/** `plimsoll receipts`: what each compaction of a session took out, and what survived, by class. */

import type { CompactionEndEvent } from "../message/event.ts";
import { evidenceClasses } from "../message/receipt.ts";
import type { Flags } from "../session/config.ts";
import { receiptsOf } from "../session/receipts.ts";
import { chooseSession, withStore } from "./open-store.ts";
import { harmless, harmlessJson, oneLine, table } from "./terminal.ts";

export async function runReceipts(
  id: string | undefined,
  flags: Flags & { readonly json?: boolean },
): Promise<void> {
  await withStore(flags, async (store) => {
    const items = await receiptsOf(store, await chooseSession(store, id));
    if (flags.json === true) {
      console.log(harmlessJson({ items }));
      return;
    }
    if (items.length === 0) {
      console.log("Nothing was compacted: the model sees every message as it came.");
      return;
    }
    console.log(items.map(render).join("\n\n"));
  });
}

function render({ at, reason, receipt, messagesTakenOut }: CompactionEndEvent): string {
  const { tokensBefore, tokensAfter, strategies, milliseconds, coherence, handles } = receipt;
  const rows = evidenceClasses.map((name) => {
    const { facts, verbatim, behindHandle, behindHandleExamples } = receipt.classes[name];
    const [example] = behindHandleExamples;
    const taken = example === undefined ? "" : `#${example.number} ${example.text}`;
    return [name, facts, verbatim, behindHandle, harmless(oneLine(taken, 60))];
  });
  return [
    `${new Date(at).toISOString()}  ${reason}: ${tokensBefore} → ${tokensAfter} tokens in ${milliseconds} ms by ${strategies.join(", ")}`,
    `${messagesTakenOut} messages left out whole, coherence ${coherence.toFixed(2)}, kept under ${handles.join(" ")}`,
    table([["class", "facts", "still said", "behind the handle", "for example"], ...rows]),
  ].join("\n");
}
