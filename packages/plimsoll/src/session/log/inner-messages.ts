/** Messages of rounds that the client does not know of: in memory while their session is, else in the store. */

import type { Store } from "../../store/store.ts";
import type { SessionLog } from "./log.ts";

/** Contract: afterwards every message of an expansion that the store can give is in `log.inner`. */
export async function loadInner(
  store: Pick<Store, "bodies">,
  log: Pick<SessionLog, "record" | "edits" | "inner">,
): Promise<void> {
  const needed = log.edits.flatMap(({ action }) => (action.kind === "expand" ? action.inner : []));
  const missing = needed.filter((seq) => !log.inner.has(seq));
  if (missing.length === 0) return;
  for (const [seq, bytes] of await store.bodies(log.record.id, missing)) log.inner.set(seq, bytes);
}
