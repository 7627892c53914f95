/** The read side of /api: sessions, their log, view, edits and measurement, errors, and the archive. */

import type { Engine } from "../../engine.ts";
import type { Listed, SessionRow } from "../../message/api.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { looksLikeHandle } from "../../message/handle.ts";
import type { JsonValue } from "../../message/json.ts";
import { detailsOf, type Range } from "../../session/inspect/message-details.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import { figuresOf } from "../../session/inspect/status.ts";
import type { PictureOptions } from "../../session/inspect/window-at.ts";
import { asText, readArchived, readArchivedMessage } from "../../session/log/archive.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import { pathInSnapshot } from "../../session/log/log.ts";
import { lastScope } from "../../session/lookup/scope.ts";
import type { Steering } from "../../session/steer/steer.ts";
import type { ArchiveRecord, NodeRecord, Page, SessionRecord, Store } from "../../store/store.ts";
import type { Caller } from "../http/checks.ts";
import { agentsOf, diffAsText, historyOf, rowsOf } from "./read-models.ts";

export interface ApiRequest {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly caller: Caller;
}

const pageLimit = { usual: 100, max: 1000 };
const historyLimit = { usual: 1000, max: 10_000 };
const searchBudget = { usual: 2000, max: 32_000 };
const archiveLimit = { usual: 65_536, max: 16 * 1024 * 1024 };

type AnswerArea = (engine: Engine, request: ApiRequest) => Promise<unknown>;

const areas: ReadonlyMap<string, AnswerArea> = new Map([
  ["sessions", listSessions],
  ["agents", (engine, { caller }) => agentsOf(engine, tenantOf(caller))],
  ["errors", ({ store }, request) => listErrors(store, request)],
  ["search", answerSearch],
  ["cost", (engine, { caller }) => engine.inspect.cost({ tenant: tenantOf(caller) })],
] satisfies [string, AnswerArea][]);

interface AskedSession {
  readonly session: SessionRecord;
  readonly query: URLSearchParams;
}

type AnswerView = (engine: Engine, asked: AskedSession) => Promise<unknown>;

const sessionViews: ReadonlyMap<string, AnswerView> = new Map([
  ["", ({ store }, { session }) => describeSession(store, session)],
  ["log", ({ store }, { session, query }) => readLog(store, session, query)],
  [
    "view",
    ({ steering }, { session, query }) =>
      steering.view(session.id, query.get("branch") ?? undefined),
  ],
  ["edits", async ({ store }, { session }) => ({ items: await store.edits(session.id) })],
  ["receipts", async ({ store }, { session }) => ({ items: await receiptsOf(store, session.id) })],
  ["diff", answerDiff],
  [
    "turns",
    (engine, { session, query }) =>
      historyOf(engine, session.id, countOf(query, "limit", historyLimit)),
  ],
  [
    "window",
    (engine, { session, query }) => engine.inspect.picture(session.id, pictureOptionsOf(query)),
  ],
  ["messages", ({ store }, { session, query }) => detailsOf(store, session.id, rangeOf(query))],
  [
    "checkpoints",
    async ({ steering }, { session }) => ({ items: await steering.checkpoints(session.id) }),
  ],
  ["cost", (engine, { session }) => engine.inspect.cost({ session: session.id })],
  ["measurement", ({ store }, { session }) => readMeasurement(store, session)],
] satisfies [string, AnswerView][]);

/** The names in `docs/interface.md`. */
export const readRoutes: readonly string[] = [
  ...[...areas.keys()].map((area) => `/api/${area}`),
  ...[...sessionViews.keys()].map((view) => `/api/sessions/{id}${view === "" ? "" : `/${view}`}`),
  "/api/archive/{handle}",
];

/** Contract: rejects with a PlimsollError that carries the status. */
export async function answerApi(engine: Engine, request: ApiRequest): Promise<unknown> {
  const [area = "", id = "", view = "", ...rest] = request.segments;
  if (rest.length > 0) throw notFound();
  if (area === "sessions" && id !== "") return answerSession(engine, request, { id, view });
  if (area === "archive" && id !== "" && view === "")
    return answerArchive(engine.store, request, id);
  const answer = id === "" ? areas.get(area) : undefined;
  if (answer === undefined) throw notFound();
  return answer(engine, request);
}

/** Undefined for the owner, who sees all tenants. */
function tenantOf({ isOwner, tenant }: Caller): string | undefined {
  return isOwner ? undefined : tenant;
}

async function listSessions(
  engine: Engine,
  { query, caller }: ApiRequest,
): Promise<Listed<SessionRow>> {
  const limit = countOf(query, "limit", pageLimit);
  const before = cursorOf(query.get("after"));
  const items = await engine.store.sessions({
    ...(caller.isOwner ? {} : { tenant: caller.tenant }),
    ...(before === undefined ? {} : { before }),
    limit,
  });
  const last = items.length === limit ? items.at(-1) : undefined;
  return {
    items: await rowsOf(engine, items),
    ...(last === undefined ? {} : { next: `${last.updatedAt}.${last.id}` }),
  };
}

function cursorOf(
  text: string | null,
): { readonly updatedAt: number; readonly id: string } | undefined {
  if (text === null) return undefined;
  const [time = "", id = ""] = text.split(".");
  if (/^\d{1,16}$/.test(time) && looksLikeId(id)) return { updatedAt: Number(time), id };
  throw invalid("`after` must be the `next` of an earlier page.");
}

async function answerSession(
  engine: Engine,
  { caller, query }: ApiRequest,
  { id, view }: { readonly id: string; readonly view: string },
): Promise<unknown> {
  const session = await findSession(engine.store, caller, id);
  const answer = sessionViews.get(view);
  if (answer === undefined) throw notFound();
  return answer(engine, { session, query });
}

async function answerDiff(
  { steering }: Engine,
  { session, query }: AskedSession,
): Promise<unknown> {
  const diff = await steering.diff(session.id, pointsOf(query));
  return query.get("form") === "text" ? diffAsText(diff, session.wire) : diff;
}

/** `cp_7` is a checkpoint, and a number is an edit. */
function pointIn(query: URLSearchParams, name: string): RestorePoint | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return { seq: Number(text) };
  if (/^cp_\d{1,15}$/.test(text)) return { checkpoint: text };
  throw invalid(`\`${name}\` must be a checkpoint (cp_7) or the number of an edit.`);
}

function pictureOptionsOf(query: URLSearchParams): PictureOptions {
  const [at, branch] = [pointIn(query, "at"), query.get("branch")];
  return { ...(at === undefined ? {} : { at }), ...(branch === null ? {} : { branch }) };
}

function rangeOf(query: URLSearchParams): Range {
  const any = Number.MAX_SAFE_INTEGER;
  const first = countOf(query, "first", { usual: 1, max: any });
  const branch = query.get("branch");
  return {
    first,
    last: countOf(query, "last", { usual: first, max: any }),
    ...(branch === null ? {} : { branch }),
  };
}

function pointsOf(query: URLSearchParams): Parameters<Steering["diff"]>[1] {
  const [from, to, branch] = [pointIn(query, "from"), pointIn(query, "to"), query.get("branch")];
  return {
    from: from ?? { seq: 0 },
    ...(to === undefined ? {} : { to }),
    ...(branch === null ? {} : { branch }),
  };
}

/** A session of another tenant counts as missing, so nobody learns that it exists. */
export async function findSession(
  store: Store,
  caller: Caller,
  id: string,
): Promise<SessionRecord> {
  const session = looksLikeId(id) ? await store.session(id) : undefined;
  if (session !== undefined && (caller.isOwner || session.tenant === caller.tenant)) return session;
  throw new PlimsollError(
    "SESSION_UNKNOWN",
    "There is no such session. GET /api/sessions lists them.",
    { status: 404 },
  );
}

async function describeSession(store: Store, session: SessionRecord): Promise<unknown> {
  const snapshot = await store.snapshot(session.id);
  const [turn] = await store.turns(session.id, 1);
  return {
    ...session,
    messages: snapshot?.nodes.length ?? 0,
    branches: (snapshot?.branches ?? []).map(({ tipSeq, ...branch }) => ({
      ...branch,
      tip: tipSeq,
      messages: snapshot === undefined ? 0 : pathInSnapshot(snapshot, tipSeq).length,
    })),
    ...(turn === undefined ? {} : { lastTurn: turn }),
  };
}

async function readLog(
  store: Store,
  session: SessionRecord,
  query: URLSearchParams,
): Promise<unknown> {
  const limit = countOf(query, "limit", pageLimit);
  const after = countOf(query, "after", { usual: 0, max: Number.MAX_SAFE_INTEGER });
  const items = await readPage(store, session.id, { after, limit });
  const last = items.length === limit ? items.at(-1) : undefined;
  return { items, ...(last === undefined ? {} : { next: last.seq }) };
}

interface LogItem extends Omit<NodeRecord, "isComplete"> {
  readonly incomplete?: true;
  readonly message: JsonValue;
  /** Why the message is missing. */
  readonly unavailable?: string;
}

/** One damaged message must not hide the others, so after a failure they are read one by one. */
async function readPage(store: Store, session: string, page: Page): Promise<readonly LogItem[]> {
  try {
    const records = await store.messages(session, page);
    return records.map(({ body, ...node }) => ({ ...itemOf(node), message: parse(body) }));
  } catch (error) {
    if (!PlimsollError.is(error) || error.code !== "STORE_CORRUPT") throw error;
    const nodes = (await store.snapshot(session))?.nodes ?? [];
    const wanted = nodes.filter(({ seq }) => seq > (page.after ?? 0)).slice(0, page.limit);
    return Promise.all(wanted.map((node) => readOne(store, session, node)));
  }
}

async function readOne(store: Store, session: string, node: NodeRecord): Promise<LogItem> {
  try {
    const body = (await store.bodies(session, [node.seq])).get(node.seq);
    return { ...itemOf(node), message: body === undefined ? null : parse(body) };
  } catch (error) {
    return { ...itemOf(node), message: null, unavailable: errorMessage(error) };
  }
}

function itemOf({ isComplete, ...node }: NodeRecord): Omit<LogItem, "message"> {
  return isComplete ? node : { ...node, incomplete: true };
}

async function readMeasurement(store: Store, session: SessionRecord): Promise<unknown> {
  const [turn] = await store.turns(session.id, 1);
  if (turn === undefined) throw notFound();
  const branches = (await store.snapshot(session.id))?.branches ?? [];
  const { usage } = turn;
  return {
    ...figuresOf(turn),
    counters: branches.find(({ id }) => id === turn.branch)?.counters ?? null,
    ...(usage === undefined ? {} : { reported: usage }),
  };
}

async function answerArchive(
  store: Store,
  { query, caller }: ApiRequest,
  handle: string,
): Promise<unknown> {
  const tenant = caller.isOwner ? undefined : caller.tenant;
  const found = looksLikeHandle(handle) ? await store.archived(tenant, handle) : undefined;
  if (found === undefined) {
    throw new PlimsollError("HANDLE_UNKNOWN", "This handle opens nothing here.", { status: 404 });
  }
  if (query.has("message")) return answerMessage(store, found, query);
  const page = await readArchived(store, found, {
    offset: countOf(query, "offset", { usual: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: Math.max(4, countOf(query, "limit", archiveLimit)),
  });
  const text = asText(page.content);
  return {
    ...page,
    content: text ?? Buffer.from(page.content).toString("base64"),
    ...(text === undefined ? { encoding: "base64" } : {}),
  };
}

/** One message of a handle's content, by the number that the marks in a view name. */
async function answerMessage(
  store: Store,
  record: ArchiveRecord,
  query: URLSearchParams,
): Promise<unknown> {
  const message = countOf(query, "message", { usual: 0, max: Number.MAX_SAFE_INTEGER });
  const body = await readArchivedMessage(store, record, message);
  if (body === undefined)
    throw new PlimsollError(
      "HANDLE_UNKNOWN",
      `There is no message ${message} in the session of this handle.`,
      {
        status: 404,
      },
    );
  return { handle: record.handle, number: message, message: parse(body) };
}

/**
 * Passages of a session that answer a query. Without a session, the newest one is searched. The owner sees all
 * of it. Others see only the branch that was sent last, because several people may share their token.
 */
async function answerSearch(
  { store, own }: Engine,
  { query, caller }: ApiRequest,
): Promise<unknown> {
  const wanted = query.get("q")?.trim() ?? "";
  if (wanted === "") throw invalid("`q` must contain a query.");
  const tenant = caller.isOwner ? undefined : caller.tenant;
  const several =
    tenant === undefined || query.has("session") ? [] : await store.sessions({ tenant, limit: 2 });
  if (several.length > 1)
    throw invalid("Several sessions are recorded under this token. Name one of them in `session`.");
  const id = query.get("session") ?? (await store.newestSession(tenant))?.id;
  const budgetTokens = countOf(query, "budget", searchBudget);
  if (id === undefined) return { items: [] };
  const isOwn = tenant === undefined || (await store.session(id))?.tenant === tenant;
  const scope = tenant === undefined || !isOwn ? undefined : await lastScope(store, id);
  return { items: await own.search(tenant, id, wanted, { budgetTokens, scope }) };
}

async function listErrors(store: Store, { query, caller }: ApiRequest): Promise<unknown> {
  const session = query.get("session");
  const items = await store.errors({
    ...(caller.isOwner ? {} : { tenant: caller.tenant }),
    ...(session === null ? {} : { session }),
    limit: countOf(query, "limit", pageLimit),
  });
  return { items };
}

function parse(body: Uint8Array): JsonValue {
  return JSON.parse(new TextDecoder().decode(body)) as JsonValue;
}

function countOf(
  query: URLSearchParams,
  name: string,
  limits: { readonly usual: number; readonly max: number },
): number {
  const text = query.get(name);
  if (text === null) return limits.usual;
  if (!/^\d{1,15}$/.test(text)) throw invalid(`\`${name}\` must be a whole number.`);
  return Math.min(Number(text), limits.max);
}

function invalid(message: string): PlimsollError {
  return new PlimsollError("USAGE", message, { status: 400 });
}

function notFound(): PlimsollError {
  return new PlimsollError("NOT_FOUND", "There is nothing at this path.", { status: 404 });
}
