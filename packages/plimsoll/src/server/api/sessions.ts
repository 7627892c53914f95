/** Reads a session from the store: its record, its messages, and its last measurement. */

import type { Engine } from "../../engine.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { JsonValue } from "../../message/json.ts";
import { namedSession } from "../../session/inspect/named-session.ts";
import { figuresOf } from "../../session/inspect/status.ts";
import { pathInSnapshot } from "../../session/log/log.ts";
import type { NodeRecord, Page, SessionRecord, Store } from "../../store/store.ts";
import type { Caller } from "../http/checks.ts";

/** Finds a session by its id or the beginning of its id. A session of another tenant is reported as not found, so that nobody learns that it exists. */
export async function findSession(
  store: Store,
  caller: Caller,
  id: string,
): Promise<SessionRecord> {
  return namedSession(store, {
    id,
    tenant: caller.isOwner ? undefined : caller.tenant,
    otherwise:
      "There is no such session; it may have been deleted before. GET /api/sessions lists the sessions.",
  });
}

export async function describeSession(
  { store, inspect }: Engine,
  session: SessionRecord,
): Promise<unknown> {
  const snapshot = await store.snapshot(session.id);
  const [turn] = await store.turns(session.id, 1);
  return {
    ...session,
    ...(await inspect.names(session)),
    messages: snapshot?.nodes.length ?? 0,
    branches: (snapshot?.branches ?? []).map(({ tipSeq, ...branch }) => ({
      ...branch,
      tip: tipSeq,
      messages: snapshot === undefined ? 0 : pathInSnapshot(snapshot, tipSeq).length,
    })),
    ...(turn === undefined ? {} : { lastTurn: turn }),
  };
}

export async function readLog(
  store: Store,
  session: string,
  page: { readonly after: number; readonly limit: number },
): Promise<unknown> {
  const items = await readPage(store, session, page);
  const last = items.length === page.limit ? items.at(-1) : undefined;
  return { items, ...(last === undefined ? {} : { next: last.seq }) };
}

interface LogItem extends Omit<NodeRecord, "isComplete"> {
  readonly incomplete?: true;
  readonly message: JsonValue;
  /** The reason why the message cannot be read. */
  readonly unavailable?: string;
}

/** Reads one page of messages. If one message is damaged, reads them one by one, so that the others are still shown. */
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

export async function readMeasurement(store: Store, session: SessionRecord): Promise<unknown> {
  const [turn] = await store.turns(session.id, 1);
  if (turn === undefined)
    throw new PlimsollError("NOT_FOUND", "Nothing has been sent in this session yet.", {
      status: 404,
    });
  const branches = (await store.snapshot(session.id))?.branches ?? [];
  const { usage } = turn;
  return {
    ...figuresOf(turn),
    counters: branches.find(({ id }) => id === turn.branch)?.counters ?? null,
    ...(usage === undefined ? {} : { reported: usage }),
  };
}

function parse(body: Uint8Array): JsonValue {
  return JSON.parse(new TextDecoder().decode(body)) as JsonValue;
}
