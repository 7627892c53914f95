/** Checkpoints: points in the list of a session's edits to which people can go back, and the names of these points. */

import type { Edit, EditAction } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";

export interface Checkpoint {
  readonly id: string;
  readonly at: number;
  readonly label: string;
  readonly branch: string;
}

/** A point to restore: a checkpoint, the number of an edit, or a time. */
export interface RestorePoint {
  readonly checkpoint?: string;
  readonly seq?: number;
  readonly at?: number;
}

/** The number of the edit in a checkpoint's id. Undefined if the text is not the id of a checkpoint. */
export function numberOf(id: string | undefined): number | undefined {
  const digits = /^cp_(\d{1,15})$/.exec(id ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function seqOf(edits: readonly Edit[], { checkpoint, seq, at }: RestorePoint): number {
  if (checkpoint !== undefined) {
    if (checkpointsOf(edits).some(({ id }) => id === checkpoint)) return numberOf(checkpoint) ?? 0;
    throw unknownPoint(
      `There is no checkpoint ${checkpoint} in this session. \`plimsoll checkpoints\` lists them.`,
    );
  }
  if (seq !== undefined) {
    if (seq === 0 || edits.some((edit) => edit.seq === seq)) return seq;
    throw unknownPoint(`There is no edit ${seq} in this session. \`plimsoll edits\` lists them.`);
  }
  if (at !== undefined) return edits.findLast((edit) => edit.at <= at)?.seq ?? 0;
  throw new PlimsollError(
    "USAGE",
    "Say where to go back to: a checkpoint, a seq, or a time (at).",
    {
      status: 400,
    },
  );
}

const tookOut: ReadonlySet<EditAction["kind"]> = new Set([
  "replace",
  "remove",
  "fold",
  "insert",
  "tools",
  "revert",
  "restore",
]);

/** The checkpoints that were set, plus one before each step that changed the view. Lookups and pins do not count as changes. */
export function checkpointsOf(edits: readonly Edit[]): readonly Checkpoint[] {
  const points = new Map<string, Checkpoint>();
  const steps = new Set<string>();
  for (const { seq, action, at, branch, step, strategy } of edits) {
    if (action.kind === "checkpoint")
      points.set(`cp_${seq}`, { id: `cp_${seq}`, at, branch, label: action.label });
    const isFirst = !steps.has(step);
    steps.add(step);
    if (!isFirst || !tookOut.has(action.kind)) continue;
    const id = `cp_${seq - 1}`;
    const main = edits.find((edit) => edit.step === step && edit.action.kind !== "revert");
    const label = `before ${main?.strategy ?? strategy}`;
    if (!points.has(id)) points.set(id, { id, at, branch, label });
  }
  return [...points.values()];
}

export function unknownPoint(message: string): PlimsollError {
  return new PlimsollError("POINT_UNKNOWN", message, { status: 404 });
}
