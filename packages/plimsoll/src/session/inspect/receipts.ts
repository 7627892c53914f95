/** The receipts of a session, read from its events. */

import type { CompactionEndEvent } from "../../message/event.ts";
import type { Store } from "../../store/store.ts";

const pageEvents = 500;
/** Maximum number of receipts. If there are more, only the newest are returned. */
const receiptsMax = 1000;

/** The receipts of a session, oldest first. */
export async function receiptsOf(
  store: Pick<Store, "events">,
  session: string,
): Promise<readonly CompactionEndEvent[]> {
  const found: CompactionEndEvent[] = [];
  let after = 0;
  for (;;) {
    const page = await store.events({ session, after, limit: pageEvents });
    for (const { event } of page) if (event.type === "compaction-end") found.push(event);
    if (found.length > receiptsMax) found.splice(0, found.length - receiptsMax);
    const last = page.at(-1);
    if (last === undefined || page.length < pageEvents) return found;
    after = last.seq;
  }
}
