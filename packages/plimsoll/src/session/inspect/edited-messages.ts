/** Which messages an edit touches, by their numbers in the log, and what the content behind a handle is. */

import type { ArchiveRow, EditRow } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import type { ArchiveRecord, SessionRecord, Store } from "../../store/store.ts";
import { wires } from "../../wire/wires.ts";
import { decodeMessage } from "../draft/encode.ts";
import { looseChainOf } from "../log/log.ts";
import { sketchOf } from "./message-sketch.ts";

/** All edits of a session, each with the messages that it touches. */
export async function editRows(
  store: Pick<Store, "snapshot">,
  session: string,
): Promise<readonly EditRow[]> {
  const snapshot = await store.snapshot(session);
  const seqs = new Map<string, number>();
  for (const node of snapshot?.nodes ?? [])
    if (!seqs.has(looseChainOf(node))) seqs.set(looseChainOf(node), node.seq);
  return (snapshot?.edits ?? []).map((edit) => {
    const [first, last] = endsOf(edit).map((chain) => seqs.get(chain));
    return first === undefined || last === undefined
      ? edit
      : { ...edit, messages: { first, last } };
  });
}

/** The chains of the first and the last message that an edit touches. For a text that was added, of the message before it. */
function endsOf({ action }: Edit): readonly string[] {
  switch (action.kind) {
    case "replace":
      return [action.chain, action.chain];
    case "insert":
      return [action.after, action.after];
    case "remove":
    case "fold":
    case "pin":
    case "expand":
      return [action.first, action.last];
    default:
      return [];
  }
}

/** Maximum number of handles to describe. The newest are described. */
const handlesMax = 200;

/** What is behind the handles of a session, newest first. */
export async function archiveRows(
  store: Pick<Store, "edits" | "archived" | "bodies">,
  session: Pick<SessionRecord, "id" | "wire">,
): Promise<readonly ArchiveRow[]> {
  const named = (await store.edits(session.id)).flatMap(({ action }) =>
    "handle" in action && action.handle !== undefined ? [action.handle] : [],
  );
  const handles = [...new Set(named.toReversed())].slice(0, handlesMax);
  const rows = await Promise.all(
    handles.map(async (handle) => {
      const record = await store.archived(undefined, handle);
      return record?.session === session.id ? [await rowOf(store, session, record)] : [];
    }),
  );
  return rows.flat();
}

async function rowOf(
  store: Pick<Store, "bodies">,
  { id, wire: name }: Pick<SessionRecord, "id" | "wire">,
  { handle, bytes, source }: ArchiveRecord,
): Promise<ArchiveRow> {
  const runs = source.kind === "part" ? [[source.seq, source.seq] as const] : source.runs;
  const first = runs[0]?.[0] ?? 0;
  const wire = Object.values(wires).find((known) => known.name === name);
  const body = (await store.bodies(id, [first])).get(first);
  const begins =
    wire === undefined || body === undefined
      ? ""
      : sketchOf(wire.messages.decode(decodeMessage(body)), []).begins;
  return {
    handle,
    bytes,
    messages: runs.reduce((sum, [from, to]) => sum + to - from + 1, 0),
    first,
    last: runs.at(-1)?.[1] ?? first,
    begins,
  };
}
