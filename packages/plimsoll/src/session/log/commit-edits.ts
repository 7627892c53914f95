/** Edits on their way into the log: committed before anything that depends on them is sent, or not made at all. */

import type { Edit } from "../../message/edit.ts";
import type { ErrorCode } from "../../message/error.ts";
import type { PlimsollEvent, Rung } from "../../message/event.ts";
import { packBody } from "../../store/body.ts";
import type { ArchiveRecord, Write } from "../../store/store.ts";
import { type Compaction, type CompactionWorld, warning } from "../fit/run-strategies.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import { judge } from "../draft/validate-view.ts";
import { addEdits, nextEditSeq, type SessionLog } from "./log.ts";
import { makeEdits, type Wording } from "../fit/edits-from-proposals.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import { indexOn, viewOf } from "./path.ts";
import { announce } from "./append.ts";
import type { LogSaver, Saved } from "./save.ts";
import { countOfEdits, foldView } from "./view.ts";

interface EditStore {
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

export function commitCompaction(
  world: EditStore,
  { log }: Draft,
  { edits, archive, wordings }: Compaction,
): Promise<Saved> {
  return commitEdits(world, log, edits, { archive, wordings });
}

/** Tells the model, behind the last message, that the window fills; undefined when that cannot be done. */
export async function addNote(
  world: EditStore & CompactionWorld,
  draft: Draft,
  start: Sized,
  { filled, isRoomy }: { readonly filled: number; readonly isRoomy: (sized: Sized) => boolean },
): Promise<Sized | undefined> {
  const { log, branch, path, wire, turn } = draft;
  await path.load();
  const { edits } = await makeEdits(
    {
      log,
      branch: branch.record.id,
      wire,
      path,
      view: start.view,
      seen: [path.length - 1],
      sign: world.sign,
      step: turn.id,
      strategy: warning,
      at: turn.at,
      from: nextEditSeq(log),
      wordings: new Map(),
      hasArchive: true,
    },
    [
      {
        kind: "insert",
        after: 0,
        text: `[Plimsoll: this conversation fills ${Math.floor(filled * 100)} % of the room that it has. Its older part will soon be replaced by a short notice; everything stays readable under a handle.${wayOut(draft, start)}]`,
        reason: "The window fills.",
      },
    ],
  );
  branch.warnedEdits = countOfEdits(start.view);
  const view = foldView(indexOn(path, log), [...log.edits, ...edits]);
  const noted = await sizeView(world.facts, draft, view);
  // Where there is no room behind the last message, or nothing of ours may stand there, nothing is said.
  if (!isRoomy(noted) || (await judge(world, draft, noted)).kind !== "valid") return undefined;
  const tokensAfter = Math.max(0, noted.measured.total - start.measured.total);
  const weighed = edits.map((edit) => ({ ...edit, tokensAfter }));
  const saved = await commitEdits(world, log, weighed);
  if (saved === "unsaved") return undefined;
  branch.judged = { view: viewOf(log, branch, path), turns: 0 };
  return noted;
}

/** Only where the model has the tool. */
function wayOut({ offer }: Draft, { tools }: Sized): string {
  if (offer === undefined || tools.elements.length === 0) return "";
  return ` Call ${offer.own.nameOf("compact_context")} to make room now, at a point of your choice.`;
}

export function reportWarning({ log, turn }: Draft, filled: number, limit: number): void {
  announce(log, {
    type: "context-warning",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    filled,
    limit,
  });
}

/** Once per conversation: the names stay. */
export function reportRenamed({ log, branch, turn }: Draft, { own }: OwnOffer): void {
  const names = own.definitions.map(({ name }) => name);
  if (branch.renamed === names.join(" ")) return;
  branch.renamed = names.join(" ");
  announce(log, {
    type: "own-tools-renamed",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    names,
  });
}

export function reportDegraded(draft: Draft, rung: Rung, reason: string): void {
  const { log, turn } = draft;
  announce(log, {
    type: "degraded",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    rung,
    reason,
  });
  recordError(draft, "BREAKER_FAILED", reason, { rung });
}

export function reportEnforced(
  draft: Draft,
  action: "final" | "refused",
  tokens: number,
  limit: number,
): void {
  const { log, turn } = draft;
  announce(log, {
    type: "guard-enforced",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    action,
    reason: "context",
    tokens,
    limit,
  });
  const isFinal = action === "final";
  recordError(
    draft,
    isFinal ? "RECOVERY_TRIGGERED" : "TOKEN_LIMIT_EXCEEDED",
    isFinal
      ? "Still over limit after shrink: the turn goes as the last one."
      : "The request does not fit, and nothing more can be taken out.",
    { tokens, limit },
  );
}

export function recordError(
  { log, turn }: Pick<Draft, "log" | "turn">,
  code: ErrorCode,
  message: string,
  fields: Readonly<Record<string, string | number | boolean>> = {},
): void {
  const { id: session, tenant } = log.record;
  const error = { session, code, message, at: turn.at, fields: { turn: turn.id, ...fields } };
  log.unsaved.push(Promise.resolve({ kind: "error", tenant, error }));
}
