/**
 * The edits of a session. Edits are numbered and made one at a time. Plimsoll commits an edit before it sends anything that
 * depends on the edit. If the commit fails, the edit has no effect.
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

/**
 * Runs tasks that edit a session one after the other, so two turns never edit the same view at once. The session stays in memory
 * meanwhile.
 */
export function whileEditing<T>(log: SessionLog, work: () => Promise<T>): Promise<T> {
  return log.editing.run(work);
}

/** The fields of a new edit. If `place` is absent, the place is unknown. If token counts are absent, they are 0. */
export type EditMade = Pick<Edit, "anchor" | "action" | "strategy" | "reason"> &
  Partial<Pick<Edit, "place" | "tokensBefore" | "tokensAfter">>;

/** All edits are made here. The store keeps the fields in this order. */
export function newEdit(
  { branch, step, at }: Pick<Edit, "branch" | "step" | "at">,
  { anchor, action, place = "undefined", strategy, reason, ...tokens }: EditMade,
): NewEdit {
  const { tokensBefore = 0, tokensAfter = 0 } = tokens;
  return {
    branch,
    step,
    anchor,
    at,
    action,
    place,
    strategy,
    reason,
    tokensBefore,
    tokensAfter,
  };
}

/**
 * Numbers the edits. No number is given twice, because an edit that Plimsoll gave up when the disk hung may still be stored
 * later.
 */
export function numbered(log: SessionLog, edits: readonly NewEdit[]): readonly Edit[] {
  const from = Math.max(log.edits.at(-1)?.seq ?? 0, log.lastEdit) + 1;
  return edits.map((edit, index) => ({ ...edit, seq: from + index }));
}

/** Adds an edit that takes effect at once and is stored with its turn. */
export function appendEdit(log: SessionLog, made: NewEdit): void {
  for (const edit of numbered(log, [made])) {
    addEdits(log, [edit]);
    log.unsaved.push(Promise.resolve({ kind: "edit", session: log.record.id, edit }));
  }
}

/**
 * Contract: after "unsaved", none of these edits is active. If the disk only hung, it may still store the edits later. From then
 * on they are active, both in memory and in the store.
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
      body: await packBody(bytes, session),
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

/** Keeps the edits ordered by number, even if one is stored late. */
function addEdits({ edits }: SessionLog, added: readonly Edit[]): void {
  const isLate = (added[0]?.seq ?? 0) < (edits.at(-1)?.seq ?? 0);
  edits.push(...added);
  if (isLate) edits.sort((one, other) => one.seq - other.seq);
}
