/** Which messages a lookup may find. */

import type { Store } from "../../store/store.ts";
import { restoreLog } from "../log/log.ts";
import { type IsVisible, visibleOn } from "../log/visible.ts";
import { storedLeadingMessages } from "../measure/preamble.ts";

/** The messages that one branch of a session may look up. Without a scope, everything in the session may be looked up. */
export interface Scope {
  readonly branch: string;
  readonly isVisible: IsVisible;
}

/** The scope for callers that name a session but no branch. It is the scope of the branch that was sent last. */
export async function lastScope(
  store: Pick<Store, "snapshot" | "turns" | "head">,
  session: string,
): Promise<Scope | undefined> {
  const snapshot = await store.snapshot(session);
  if (snapshot === undefined) return undefined;
  const [turn] = await store.turns(session, 1);
  const branch = turn?.branch ?? snapshot.branches[0]?.id;
  if (branch === undefined) return undefined;
  const head = turn?.head === undefined ? undefined : await store.head(session, turn.head);
  const hasOtherLead = storedLeadingMessages(head).length > 0;
  return { branch, isVisible: visibleOn(restoreLog(snapshot), branch, hasOtherLead) };
}
