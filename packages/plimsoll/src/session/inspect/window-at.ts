/** Finds the data for the picture of a window: a branch of a stored session, its view at some point, and its last turn. */

import type { TokenScale } from "../../budget/token-scale.ts";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { NodeRecord, Store, TurnRecord } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { numberOf, type RestorePoint, seqOf } from "../log/checkpoints.ts";
import { type BranchState, pathTo, restoreLog, type SessionLog } from "../log/log.ts";
import { indexOn, pathOfBranch } from "../log/path.ts";
import { foldView, type IndexOf, isAnchoredOn, type View } from "../log/view.ts";
import { scaleOf } from "../measure/branch-counters.ts";
import { rememberedSize } from "../measure/window-size.ts";

export interface PictureOptions {
  readonly branch?: string;
  /**
   * The earlier point that is wanted. The view then has only the edits up to that point, but all messages, including later
   * messages.
   */
  readonly at?: RestorePoint;
}

/** Plimsoll searches this many of the newest turns for the last turn of the branch. */
const turnsBack = 50;

export interface PlaceWorld {
  readonly store: Pick<Store, "snapshot" | "turns">;
  /** Finds the log of a session in memory. If this function is undefined, the log is read from the store. */
  readonly logOf?: (session: string) => Promise<SessionLog | undefined>;
}

function storedLog(
  store: Pick<Store, "snapshot">,
): (session: string) => Promise<SessionLog | undefined> {
  return async (session) => {
    const snapshot = await store.snapshot(session);
    return snapshot && restoreLog(snapshot);
  };
}

export interface Place {
  readonly session: string;
  readonly log: SessionLog;
  readonly branch: string;
  readonly wire: Wire;
  readonly nodes: readonly NodeRecord[];
  readonly view: View;
  readonly replacing: ReadonlyMap<string, readonly Edit[]>;
  readonly indexOf: IndexOf;
  readonly lastTurn: TurnRecord | undefined;
  readonly scale: TokenScale;
  /** The size of the window, if this view is the current one and its size is remembered. */
  readonly size: number | undefined;
}

export async function placeOf(
  { store, logOf }: PlaceWorld,
  session: string,
  { branch: wanted, at }: PictureOptions,
): Promise<Place> {
  const log = await (logOf ?? storedLog(store))(session);
  if (log === undefined) throw unknown("There is no such session. GET /api/sessions lists them.");
  const turns = await store.turns(session, turnsBack);
  const wire = Object.values(wires).find(({ name }) => name === log.record.wire);
  const branch = branchFor(log, wanted ?? branchOfPoint(log, at) ?? turns[0]?.branch);
  if (wanted !== undefined && branch?.record.id !== wanted)
    throw unknown(
      `There is no branch ${wanted} in this session. GET /api/sessions/${session} lists them.`,
    );
  if (branch === undefined || wire === undefined)
    throw new PlimsollError("NOTHING_TO_DO", "There is nothing in this session yet.", {
      status: 409,
    });
  const nodes = pathTo(log, branch.record.tipSeq);
  const indexOf = indexOn(pathOfBranch(log, branch.record), log);
  const view = viewAt(log, indexOf, at);
  const lastTurn = turns.find((turn) => turn.branch === branch.record.id) ?? turns[0];
  const replacing = replacingIn(view);
  const isNow = at === undefined || isSameView(view, viewAt(log, indexOf, undefined));
  return {
    session,
    log,
    branch: branch.record.id,
    wire,
    nodes,
    view,
    replacing,
    indexOf,
    lastTurn,
    scale: scaleOf(branch.record),
    size: isNow ? rememberedSize({ log, branch }) : undefined,
  };
}

function isSameView(one: View, other: View): boolean {
  const seqs = new Set(one.edits.map(({ seq }) => seq));
  return one.edits.length === other.edits.length && other.edits.every(({ seq }) => seqs.has(seq));
}

function unknown(message: string): PlimsollError {
  return new PlimsollError("SESSION_UNKNOWN", message, { status: 404 });
}

function branchFor(log: SessionLog, name: string | undefined): BranchState | undefined {
  const [first] = log.branches.values();
  return log.branches.get(name ?? "") ?? first;
}

function viewAt(log: SessionLog, indexOf: IndexOf, at: RestorePoint | undefined): View {
  const here = log.edits.filter((edit) => isAnchoredOn(indexOf, edit));
  const last = at === undefined ? Number.POSITIVE_INFINITY : seqOf(here, at);
  const then = here.filter(({ seq }) => seq <= last);
  return foldView(indexOf, then);
}

function branchOfPoint(log: SessionLog, at: RestorePoint | undefined): string | undefined {
  const seq = at?.seq ?? numberOf(at?.checkpoint);
  return log.edits.find((edit) => edit.seq === seq)?.branch;
}

/** The edits that replace parts of a message, by the chain of the message. */
function replacingIn({ edits }: View): ReadonlyMap<string, readonly Edit[]> {
  const found = new Map<string, Edit[]>();
  for (const edit of edits) {
    if (edit.action.kind !== "replace") continue;
    const { chain } = edit.action;
    found.set(chain, [...(found.get(chain) ?? []), edit]);
  }
  return found;
}
