/** Finds the session of a request by name or by shared history, first in memory and then in the store. */

import { PlimsollError } from "../../message/error.ts";
import type { SessionRecord, Store } from "../../store/store.ts";
import { newId } from "../log/ids.ts";
import { emptyLog, oldTalksOf, restoreLog, type SessionLog } from "../log/log.ts";
import {
  answeredTalks,
  type Continuation,
  continuationOf,
  hasWordsInCommon,
  type RequestShape,
  type SessionHints,
} from "./place-request.ts";
import { bringsAnswers, recallAnswers } from "./recall-answers.ts";
import { mayGoOn, sharedWith } from "./refreshed.ts";
import { createSessionShelf, type SessionShelf } from "./sessions-in-memory.ts";

export interface SessionCache {
  /** Contract: calls with the same client key, or of the same tenant without a key, must not overlap. */
  find(query: SessionLookup): Promise<{ readonly log: SessionLog; readonly isNew: boolean }>;
  byId(id: string): Promise<SessionLog | undefined>;
  /** The session that a request continues, or undefined if the request would begin a new session. */
  lookup(query: SessionLookup): Promise<SessionLog | undefined>;
  create(record: Omit<SessionRecord, "id" | "createdAt" | "updatedAt">): SessionLog;
  /** Call this after messages were added or a turn has ended, so that later requests find the session by its answers. */
  noteAnswers(log: SessionLog): void;
  /** Drops the log from memory. The next request for this session reads it from the store. */
  forget(log: SessionLog): void;
  /** The current log of the session. A session has only one log at a time, and a newer log may have replaced the given one. */
  current(log: SessionLog): Promise<SessionLog>;
  /** Drops sessions that the store no longer has, together with their unsaved writes. */
  abandon(sessions: readonly string[]): void;
  /** Whether a turn of this session is running, or something of it is not stored yet. */
  isInUse(session: string): boolean;
  /** About how many bytes of memory all sessions together take. */
  readonly bytes: number;
}

export interface SessionLookup {
  readonly tenant: string;
  readonly wire: string;
  readonly request: RequestShape;
  readonly hints: SessionHints;
  /**
   * True if the tenant is a client's own credential on this machine. When the client refreshes its credential, it appears as
   * another tenant.
   */
  readonly isRefreshable?: boolean;
  /** True to skip the search by history. A request that names no session then begins a new one. */
  readonly isFreshSearch?: boolean;
}

const shelfLimits = { maxSessions: 2000, maxBytes: 512 * 1024 * 1024, maxKeys: 1_000_000 };
/** If several sessions have the same answers, Plimsoll compares at most this many of them with a request. */
const maxCandidates = 16;
const candidatesPerTalk = 4;

export function createSessionCache(
  store: Store,
  now: () => number,
  maxSessions: number = shelfLimits.maxSessions,
): SessionCache {
  const shelf = createSessionShelf({ ...shelfLimits, maxSessions });
  const byId = (id: string): Promise<SessionLog | undefined> => loadSession(shelf, store, id);
  const create: SessionCache["create"] = (record) => {
    const at = now();
    const log = emptyLog({ ...record, id: newId("ses"), createdAt: at, updatedAt: at });
    log.recalled = Promise.resolve();
    shelf.put(log);
    return log;
  };
  const lookup: SessionCache["lookup"] = async (query) => {
    const { tenant, wire, hints } = query;
    const { clientKey, sessionId } = hints;
    const named = sessionId === undefined ? undefined : await byId(sessionId);
    if (named?.record.tenant === tenant && named.record.wire === wire) return named;
    if (clientKey !== undefined) return findByName(shelf, store, { ...query, clientKey });
    return query.isFreshSearch === true ? undefined : findByHistory(shelf, store, query);
  };
  return {
    byId,
    create,
    noteAnswers: shelf.noteAnswers,
    forget: shelf.remove,
    current: async (log) => {
      // If the store cannot be read, Plimsoll keeps using the given log.
      const known = await byId(log.record.id).catch(() => log);
      if (known === undefined && !log.isAbandoned) shelf.put(log);
      return known ?? log;
    },
    abandon: (sessions) => {
      for (const id of sessions) {
        const log = shelf.get(id);
        if (log === undefined) continue;
        log.isAbandoned = true;
        log.unsaved = [];
        shelf.remove(log);
      }
    },
    isInUse: shelf.isInUse,
    get bytes() {
      return shelf.bytes;
    },
    lookup,
    find: async (query) => {
      const { tenant, wire, hints } = query;
      const { clientKey, agent, client, folder } = hints;
      const known = await lookup(query);
      if (known !== undefined) return { log: known, isNew: false };
      const log = create({
        tenant,
        wire,
        ...(agent === undefined ? {} : { agent }),
        ...(clientKey === undefined ? {} : { clientKey }),
        ...(client === undefined ? {} : { client }),
        ...(folder === undefined ? {} : { folder }),
      });
      return { log, isNew: true };
    },
  };
}

async function loadSession(
  shelf: SessionShelf,
  store: Store,
  id: string,
): Promise<SessionLog | undefined> {
  const inMemory = shelf.get(id);
  if (inMemory !== undefined) return inMemory;
  const snapshot = await store.snapshot(id);
  const log = snapshot && restoreLog(snapshot);
  // If the log contains echoes, the words of its answers are needed, because an echo is shown with the lookups of its answer.
  const hasEchoes = snapshot?.nodes.some(({ source }) => source === "echo") === true;
  if (log !== undefined && hasEchoes) await recallAnswers(store, log);
  // Another caller may have loaded the session meanwhile. If so, its log is used, because a session must have only one log.
  const meanwhile = shelf.get(id);
  if (meanwhile !== undefined || log === undefined) return meanwhile;
  shelf.put(log);
  return log;
}

interface NamedLookup extends SessionLookup {
  readonly clientKey: string;
}

/**
 * Finds a session by the client's name for it: a session of this tenant, or a session that the client began under an earlier
 * credential. Both exist if the client first used its new credential to ask for a title or to start a sub-agent. This tenant's
 * session then contains nothing of the conversation.
 */
async function findByName(
  shelf: SessionShelf,
  store: Store,
  query: NamedLookup,
): Promise<SessionLog | undefined> {
  const { tenant, wire, clientKey, request } = query;
  const id =
    shelf.byClientKey(tenant, wire, clientKey) ??
    (await store.sessionByClientKey(tenant, wire, clientKey))?.id;
  const own = id === undefined ? undefined : await loadSession(shelf, store, id);
  if (query.isRefreshable !== true || !uuid.test(clientKey)) return own;
  const shared = own && sharedWith(own, request);
  if (shared?.isAnswered === true && shared.hasLastAnswer) return own;
  const refreshed = await findRefreshed(shelf, store, query);
  if (refreshed === undefined) return own;
  const isLonger =
    shared?.isAnswered !== true || sharedWith(refreshed, request).common > shared.common;
  return isLonger ? refreshed : own;
}

const uuid = /:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Finds a conversation that the client began under another credential. The client proves this in two ways: it names the
 * conversation by a UUID, which nobody can guess, and it sends every word of the conversation. The session still belongs to its
 * first tenant.
 */
async function findRefreshed(
  shelf: SessionShelf,
  store: Store,
  query: NamedLookup,
): Promise<SessionLog | undefined> {
  const { clientKey, wire, request } = query;
  // A request that contains no answer of a model cannot prove that its client knows the conversation.
  if (!request.messages.some(({ role }) => role === "assistant")) return undefined;
  const namesakes = await store.sessionsNamed(wire, clientKey).catch(noneUnlessSpoilt);
  for (const { id, tenant } of namesakes) {
    if (!isCredential(tenant) || tenant === query.tenant) continue;
    const log = await loadSession(shelf, store, id);
    if (log === undefined) continue;
    if (bringsAnswers(log, request)) await recallAnswers(store, log);
    if (mayGoOn(log, query)) return log;
  }
  return undefined;
}

/** Whether a tenant is a client's own credential, and not a token that Plimsoll has issued. */
function isCredential(tenant: string): boolean {
  return tenant.startsWith("key:");
}

/** A session that a request may continue, and the evidence for it. */
interface Candidate {
  readonly log: SessionLog;
  readonly continuation: Exclude<Continuation, { readonly kind: "stranger" }>;
}

/** Finds the session whose history a request shares. Looks in memory first, because the session is nearly always there. */
async function findByHistory(
  shelf: SessionShelf,
  store: Store,
  query: SessionLookup,
): Promise<SessionLog | undefined> {
  const { wire, request } = query;
  // A request that contains no answer of a model cannot continue a conversation.
  if (!request.messages.some(({ role }) => role === "assistant")) return undefined;
  const talks = request.links.map(({ talk }) => talk);
  const found = await findByTalks(shelf, store, query, talks);
  return found ?? findByTalks(shelf, store, query, oldTalksOf(wire, request.messages));
}

async function findByTalks(
  shelf: SessionShelf,
  store: Store,
  query: SessionLookup,
  talks: readonly string[],
): Promise<SessionLog | undefined> {
  const { tenant, wire, request } = query;
  const answered = answeredTalks(request, talks);
  const inMemory = shelf.byAnswers({ tenant, talks: answered, max: maxCandidates });
  const found = await choose(shelf, store, query, { talks, ids: inMemory });
  if (found !== undefined) return found;
  const matches = await store.answers({ tenant, wire, talks: answered, limit: candidatesPerTalk });
  const stored = new Set(matches.map(({ session }) => session).filter((id) => !inMemory.has(id)));
  const ids = [...stored].slice(0, maxCandidates);
  return choose(shelf, store, query, { talks, ids });
}

interface Choosing {
  readonly talks: readonly string[];
  readonly ids: Iterable<string>;
}

async function choose(
  shelf: SessionShelf,
  store: Store,
  query: SessionLookup,
  choosing: Choosing,
): Promise<SessionLog | undefined> {
  const { talks } = choosing;
  const candidates = await candidatesAmong(shelf, store, query, choosing);
  // First the sessions that the request continues at their end, then the sessions in which the request goes back. In each group,
  // the longest match comes first.
  const ordered = candidates.toSorted(
    (a, b) =>
      rank(a.continuation) - rank(b.continuation) || b.continuation.common - a.continuation.common,
  );
  for (const candidate of ordered)
    if (await isOnly(shelf, store, { ...query, talks }, candidate)) return candidate.log;
  return undefined;
}

function rank({ kind }: Candidate["continuation"]): number {
  return kind === "goes-on" ? 0 : 1;
}

async function candidatesAmong(
  shelf: SessionShelf,
  store: Store,
  { wire, request, hints: { agent } }: SessionLookup,
  { talks, ids }: Choosing,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  for (const id of ids) {
    const log = await loadSession(shelf, store, id);
    if (log?.record.wire !== wire || log.record.clientKey !== undefined) continue;
    const continuation = continuationOf(log, request, { talks, agent });
    if (continuation.kind !== "stranger" && (await isInItsWords(store, log, { request, talks })))
      candidates.push({ log, continuation });
  }
  return candidates;
}

/** Treats a store that cannot be read now as empty, because a conversation that is in memory must go on. */
function noneUnlessSpoilt(error: unknown): readonly never[] {
  if (PlimsollError.is(error) && error.code === "STORE_CORRUPT") throw error;
  return [];
}

interface Talking {
  readonly request: RequestShape;
  readonly talks: readonly string[];
}

async function isInItsWords(
  store: Store,
  log: SessionLog,
  { request, talks }: Talking,
): Promise<boolean> {
  if (!isNumbered(request)) return true;
  if (bringsAnswers(log, request)) await recallAnswers(store, log);
  return hasWordsInCommon(log, request, talks);
}

function isNumbered({ messages }: RequestShape): boolean {
  return messages.some(({ marks }) => marks?.isNumbered === true);
}

/** Whether no other session has the answers that serve as proof. An answer that two conversations share proves nothing. */
async function isOnly(
  shelf: SessionShelf,
  store: Store,
  query: SessionLookup & Talking,
  { log, continuation: { proof } }: Candidate,
): Promise<boolean> {
  const { tenant, wire, request } = query;
  const inMemory = shelf.byAnswers({ tenant, talks: proof, max: maxCandidates });
  const asked = { tenant, wire, talks: proof, limit: candidatesPerTalk };
  const stored = await store.holders(asked).catch(noneUnlessSpoilt);
  const others = new Set([...inMemory, ...stored].filter((session) => session !== log.record.id));
  if (others.size > 0 && !isNumbered(request)) return false;
  for (const id of others) {
    const other = await loadSession(shelf, store, id);
    if (other !== undefined && (await isInItsWords(store, other, query))) return false;
  }
  return true;
}
