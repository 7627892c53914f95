/** Loads the messages of inner rounds from the store into the log. The client does not see these messages. */

import type { Store } from "../../store/store.ts";
import type { SessionLog } from "./log.ts";

/** Contract: afterwards, `log.inner` contains every message that an expansion needs, as far as the store has it. */
export async function loadInner(
  store: Pick<Store, "bodies">,
  log: Pick<SessionLog, "record" | "edits" | "inner">,
): Promise<void> {
  const { edits, inner } = log;
  if (complete.get(inner) === edits.length) return;
  const needed = edits.flatMap(({ action }) => (action.kind === "expand" ? action.inner : []));
  const missing = needed.filter((seq) => !inner.has(seq));
  if (missing.length === 0) {
    complete.set(inner, edits.length);
    return;
  }
  for (const [seq, bytes] of await store.bodies(log.record.id, missing)) log.inner.set(seq, bytes);
}

/** The number of edits of which all messages are loaded. Most turns make no edit, so they need not look through all edits. */
const complete = new WeakMap<SessionLog["inner"], number>();
