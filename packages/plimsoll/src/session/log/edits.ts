/**
 * The edits of a session: numbered, one at a time, and committed before anything that depends on them is sent, or not made
 * at all.
 */

import type { Edit, NewEdit } from "../../message/edit.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { packBody } from "../../store/body.ts";
import type { ArchiveRecord, ClientSpelling, Write } from "../../store/store.ts";
import type { SessionLog } from "./log.ts";
import type { LogSaver, Saved } from "./save.ts";

export interface EditStore {
  readonly saver: LogSaver;
}

export interface StoredWith {
  readonly archive?: readonly ArchiveRecord[];
  readonly clientSpellings?: readonly ClientSpelling[];
  readonly event?: PlimsollEvent;
}

/** One after the other: two turns never edit one view at once. A session whose edits somebody has stays in memory. */
export function whileEditing<T>(log: SessionLog, work: () => Promise<T>): Promise<T> {
  return log.editing.run(work);
}

/** Numbers are not given twice: an edit that was given up for a disk that hangs may be stored all the same. */
export function numbered(log: SessionLog, edits: readonly NewEdit[]): readonly Edit[] {
  const from = Math.max(log.edits.at(-1)?.seq ?? 0, log.lastEdit) + 1;
  return edits.map((edit, index) => ({ ...edit, seq: from + index }));
}

/** An edit that is stored with the turn that it belongs to, and holds at once. */
export function appendEdit(log: SessionLog, made: NewEdit): void {
  for (const edit of numbered(log, [made])) {
    addEdits(log, [edit]);
    log.unsaved.push(Promise.resolve({ kind: "edit", session: log.record.id, edit }));
  }
}

/**
 * Contract: after "unsaved" nothing of it holds. A disk that hangs may still store it: then it holds from that moment on, in
 * memory as in the store.
 */
export async function commitEdits(
  { saver }: EditStore,
  log: SessionLog,
  edits: readonly Edit[],
  others: StoredWith = {},
): Promise<Saved> {
  const { id: session, tenant } = log.record;
  const clientSpellings = (others.clientSpellings ?? []).map(
    async ({ seq, hash, bytes }): Promise<Write> => ({
      kind: "wording",
      session,
      seq,
      hash,
      bytes: bytes.length,
      body: await packBody(bytes),
    }),
  );
  const writes: readonly Write[] = [
    ...(await Promise.all(clientSpellings)),
    ...(others.archive ?? []).map((entry): Write => ({ kind: "archive", entry })),
    ...edits.map((edit): Write => ({ kind: "edit", session, edit })),
    ...(others.event === undefined
      ? []
      : [{ kind: "event", tenant, event: others.event } as const]),
  ];
  log.lastEdit = Math.max(log.lastEdit, ...edits.map(({ seq }) => seq));
  return saver.saveNow(log, writes, () => addEdits(log, edits));
}

/** In their order, also those that were stored late. */
function addEdits({ edits }: SessionLog, added: readonly Edit[]): void {
  const isLate = (added[0]?.seq ?? 0) < (edits.at(-1)?.seq ?? 0);
  edits.push(...added);
  if (isLate) edits.sort((one, other) => one.seq - other.seq);
}
