/** Edits on their way into the log: committed before anything that depends on them is sent, or not made at all. */

import type { Edit } from "../../message/edit.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { packBody } from "../../store/body.ts";
import type { ArchiveRecord, Wording, Write } from "../../store/store.ts";
import { addEdits, type SessionLog } from "./log.ts";
import type { LogSaver, Saved } from "./save.ts";

export interface EditStore {
  readonly saver: LogSaver;
}

/**
 * Contract: after "unsaved" nothing of it holds. A disk that hangs may still store it: then it holds from that moment on, in
 * memory as in the store.
 */
export async function commitEdits(
  { saver }: EditStore,
  log: SessionLog,
  edits: readonly Edit[],
  others: {
    readonly archive?: readonly ArchiveRecord[];
    readonly wordings?: readonly Wording[];
    readonly event?: PlimsollEvent;
  } = {},
): Promise<Saved> {
  const { id: session, tenant } = log.record;
  const wordings = (others.wordings ?? []).map(
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
    ...(await Promise.all(wordings)),
    ...(others.archive ?? []).map((entry): Write => ({ kind: "archive", entry })),
    ...edits.map((edit): Write => ({ kind: "edit", session, edit })),
    ...(others.event === undefined
      ? []
      : [{ kind: "event", tenant, event: others.event } as const]),
  ];
  log.lastEdit = Math.max(log.lastEdit, ...edits.map(({ seq }) => seq));
  return saver.saveNow(log, writes, () => addEdits(log, edits));
}
