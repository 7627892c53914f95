/** Messages of rounds that the client does not know of: kept while an expansion needs them, else in the store. */

import type { Store } from "../store/store.ts";
import type { SessionLog } from "./log.ts";

/** Contract: afterwards every message of an expansion that the store can give is in `log.inner`. */
export async function loadInner(
  store: Pick<Store, "bodies">,
  log: Pick<SessionLog, "record" | "edits" | "inner">,
): Promise<void> {
  const needed = innerOf(log);
  const missing = [...needed].filter((seq) => !log.inner.has(seq));
  if (missing.length === 0) return;
  for (const [seq, bytes] of await store.bodies(log.record.id, missing)) log.inner.set(seq, bytes);
}

/** What no expansion that holds needs any more need not be in memory. */
export function forgetInner(log: Pick<SessionLog, "edits" | "inner">): void {
  const needed = innerOf(log);
  for (const seq of log.inner.keys()) if (!needed.has(seq)) log.inner.delete(seq);
}

function innerOf({ edits }: Pick<SessionLog, "edits">): ReadonlySet<number> {
  const reverted = new Set(
    edits.flatMap(({ action }) => (action.kind === "revert" ? action.edit : [])),
  );
  return new Set(
    edits.flatMap(({ seq, action }) =>
      action.kind === "expand" && !reverted.has(seq) ? action.inner : [],
    ),
  );
}
