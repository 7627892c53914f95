/** Finds a session by its id, or by the beginning of its id if no other session begins with it. */

import { PlimsollError } from "../../message/error.ts";
import type { SessionRecord, Store } from "../../store/store.ts";
import { looksLikeId } from "../log/ids.ts";

/** Maximum number of sessions that the error names. */
const namedMax = 5;

export interface WantedSession {
  readonly id: string;
  /** Undefined for the owner, who sees the sessions of all tenants. Other sessions are reported as unknown. */
  readonly tenant: string | undefined;
  /** The sentence to say if there is no such session. */
  readonly otherwise: string;
}

/** Contract: rejects with SESSION_UNKNOWN if there is no such session, and with USAGE if there are several. */
export async function namedSession(
  store: Pick<Store, "session" | "sessionsBeginning">,
  { id, tenant, otherwise }: WantedSession,
): Promise<SessionRecord> {
  const known = looksLikeId(id) ? await store.session(id) : undefined;
  if (known !== undefined && (tenant === undefined || known.tenant === tenant)) return known;
  const found = idBeginning.test(id)
    ? await store.sessionsBeginning(id, { tenant, limit: namedMax + 1 })
    : [];
  const [first, ...others] = found;
  if (first === undefined) throw new PlimsollError("SESSION_UNKNOWN", otherwise, { status: 404 });
  if (others.length === 0) return first;
  const names = found.slice(0, namedMax).map((session) => session.id);
  const more = found.length > namedMax ? " and more" : "";
  throw new PlimsollError(
    "USAGE",
    `${id} is the beginning of several sessions: ${names.join(", ")}${more}. Give more of the id.`,
    { status: 400 },
  );
}

/** At least four characters, so that nobody opens a session by chance. */
const idBeginning = /^ses_[0-9A-Za-z]{4,21}$/;
