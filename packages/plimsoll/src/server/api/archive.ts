/** Reads content of the archive by its handle, and finds passages of a session that answer a query. */

import type { Engine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { looksLikeHandle } from "../../message/handle.ts";
import type { JsonValue } from "../../message/json.ts";
import { asText, readArchived, readArchivedMessage } from "../../session/log/archive.ts";
import { lastScope } from "../../session/lookup/scope.ts";
import type { ArchiveRecord, Store } from "../../store/store.ts";
import type { Caller } from "../http/checks.ts";
import { findSession } from "./sessions.ts";

export interface ArchiveWish {
  readonly offset: number;
  readonly limit: number;
  /** Number of a message to read instead of a page. It is the number in a mark such as `#17`. */
  readonly message?: number;
}

/** Minimum size of a page: the length of the longest UTF-8 character, so that every page can contain at least one. */
const leastBytes = 4;

export async function readArchive(
  store: Store,
  caller: Caller,
  handle: string,
  { offset, limit, message }: ArchiveWish,
): Promise<unknown> {
  const tenant = caller.isOwner ? undefined : caller.tenant;
  const found = looksLikeHandle(handle) ? await store.archived(tenant, handle) : undefined;
  if (found === undefined)
    throw new PlimsollError(
      "HANDLE_UNKNOWN",
      "There is no content under this handle. GET /api/sessions/{id}/edits shows a session's handles.",
      { status: 404 },
    );
  if (message !== undefined) return readMessage(store, found, message);
  const page = await readArchived(store, found, { offset, limit: Math.max(leastBytes, limit) });
  const text = asText(page.content);
  return {
    ...page,
    content: text ?? Buffer.from(page.content).toString("base64"),
    ...(text === undefined ? { encoding: "base64" } : {}),
  };
}

async function readMessage(store: Store, record: ArchiveRecord, number: number): Promise<unknown> {
  const body = await readArchivedMessage(store, record, number);
  if (body === undefined)
    throw new PlimsollError(
      "HANDLE_UNKNOWN",
      `There is no message ${number} in the session of this handle. GET /api/sessions/{id}/log lists them.`,
      { status: 404 },
    );
  const message = JSON.parse(new TextDecoder().decode(body)) as JsonValue;
  return { handle: record.handle, number, message };
}

export interface SearchWish {
  readonly q: string;
  readonly budget: number;
  readonly session?: string;
}

/**
 * Searches the newest session if the caller names none. For the owner, searches the whole session. For other callers, searches
 * only the branch that was sent last, because several people may share one token.
 */
export async function search(
  { store, own }: Engine,
  caller: Caller,
  { q, budget: budgetTokens, session }: SearchWish,
): Promise<unknown> {
  const tenant = caller.isOwner ? undefined : caller.tenant;
  const several =
    tenant === undefined || session !== undefined ? [] : await store.sessions({ tenant, limit: 2 });
  if (several.length > 1)
    throw new PlimsollError(
      "USAGE",
      "There are several sessions under this token. Name one of them in `session`.",
      { status: 400 },
    );
  const found =
    session === undefined
      ? await store.newestSession(tenant)
      : await findSession(store, caller, session);
  if (found === undefined) return { items: [] };
  const { id } = found;
  const scope = tenant === undefined ? undefined : await lastScope(store, id);
  return { items: await own.search(tenant, id, q, { budgetTokens, scope }) };
}
