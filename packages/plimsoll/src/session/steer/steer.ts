/**
 * Steers the view by hand: undo, restore, checkpoint, pin, compact. Each of these appends edits, and nothing is ever deleted.
 * Content that comes back into the view is pinned, so that the next turn does not take it out again.
 */

import { type Edit, type EditAction, ownTools } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { ViewSteeredEvent } from "../../message/event.ts";
import { sizeView } from "../draft/draft.ts";
import {
  type Checkpoint,
  checkpointsOf,
  numberOf,
  type RestorePoint,
  seqOf,
  unknownPoint,
} from "../log/checkpoints.ts";
import { commitEdits, newEdit, numbered, whileEditing } from "../log/edits.ts";
import { newId } from "../log/ids.ts";
import { looseChainOf, remember } from "../log/log.ts";
import { anchorOf, indexOn, lastTouched, type Path, pathOfBranch, viewWith } from "../log/path.ts";
import { noBranch, unknownSession } from "../log/unknown-place.ts";
import { foldView, isAnchoredOn, madeSince, revertedIn, type View } from "../log/view.ts";
import { scaleOf } from "../measure/branch-counters.ts";
import { rememberSize, sizeAfterChange } from "../measure/window-size.ts";
import {
  type CompactionDone,
  compactNow,
  resetNow,
  type SteeredCompaction,
} from "./compact-now.ts";
import {
  type ReadableView,
  readableView,
  type SteerContext,
  type StoredPlace,
  storedDraft,
} from "./draft-from-store.ts";
import { type Forked, type ForkPoint, forkSession } from "./fork.ts";
import { type Impact, impactOf } from "./impact.ts";
import { checkRoom, type SteeredSize } from "./room.ts";
import { type TagWish, tagMessage } from "./tag.ts";
import { diffViews, type ViewDiff } from "./view-diff.ts";

export interface Steered extends WindowNow {
  readonly edits: readonly number[];
}

export interface WindowNow {
  readonly branch: string;
  /** Size of the window as the provider counts it, including system prompt and tools. */
  readonly tokens: number;
  readonly limit: number | null;
}

export interface ResetOptions {
  readonly reason?: string;
  /** The task in the caller's own words. The handover tells the model to continue this task. */
  readonly task?: string;
}

/** The sizes before and after the compaction, and the strategies that were used. */
export type Compacted = Steered & CompactionDone;

/** Contract: rejects with a PlimsollError that says what to do. */
export interface Steering {
  undo(
    session: string,
    options: { readonly edit?: number; readonly branch?: string },
  ): Promise<Steered>;
  restore(session: string, point: RestorePoint & { readonly branch?: string }): Promise<Steered>;
  checkpoint(
    session: string,
    options: { readonly label?: string; readonly branch?: string },
  ): Promise<{ readonly id: string }>;
  /** `first` and `last` are numbers of messages in the log. */
  pin(
    session: string,
    options: { readonly first: number; readonly last?: number; readonly branch?: string },
  ): Promise<Steered & { readonly id: number }>;
  /** Says how important a message of the log is, or what it contains. */
  tag(session: string, wish: TagWish): Promise<void>;
  /** Releases the pin with this id. */
  release(session: string, options: { readonly pin: number }): Promise<Steered>;
  compact(
    session: string,
    options: SteeredCompaction & { readonly branch?: string },
  ): Promise<Compacted>;
  /** Starts afresh: one handover replaces the conversation so far. */
  reset(session: string, options: ResetOptions & { readonly branch?: string }): Promise<Compacted>;
  /** Makes the next turn start afresh. */
  milestone(
    session: string,
    options: ResetOptions & { readonly branch?: string },
  ): Promise<{ readonly branch: string }>;
  /** Makes a new session from this one, or from a point of it. Both go on by themselves. */
  fork(session: string, point: ForkPoint & { readonly branch?: string }): Promise<Forked>;
  /** The messages as the model sees them, and the size of the whole window. */
  view(session: string, branch?: string): Promise<ReadableView & WindowNow>;
  /** Compares the view at one point with the view at another point, or with the current view. */
  diff(
    session: string,
    points: { readonly from: RestorePoint; readonly to?: RestorePoint; readonly branch?: string },
  ): Promise<ViewDiff>;
  /** What the edits of a view save. Default: the current view. */
  impact(
    session: string,
    options: { readonly view?: RestorePoint; readonly branch?: string },
  ): Promise<Impact>;
  checkpoints(session: string): Promise<readonly Checkpoint[]>;
}

interface Place extends StoredPlace {
  readonly path: Path;
}

export function createSteering(context: SteerContext): Steering {
  const at = async (session: string, branch?: string): Promise<Place> =>
    placeOf(context, session, branch);
  const one = async <T>(session: string, work: () => Promise<T>): Promise<T> => {
    const log = await context.sessions.byId(session);
    return log === undefined ? work() : whileEditing(log, work);
  };
  return {
    undo: (session, options) =>
      one(session, async () => {
        const branch = options.branch ?? (await branchOf(context, session, options.edit));
        return undo(context, await at(session, branch), options.edit);
      }),
    restore: (session, point) =>
      one(session, async () => {
        const named = point.seq ?? numberOf(point.checkpoint);
        const branch = point.branch ?? (await branchOf(context, session, named));
        return restore(context, await at(session, branch), point);
      }),
    checkpoint: (session, { label = "", branch }) =>
      one(session, async () => {
        const place = await at(session, branch);
        const made = await append(context, place, {
          action: "checkpoint",
          actions: [{ kind: "checkpoint", label }],
        });
        return { id: `cp_${made[0]?.seq ?? 0}` };
      }),
    pin: (session, options) =>
      one(session, async () => {
        const place = await at(session, options.branch);
        const made = await append(context, place, {
          action: "pin",
          actions: [pinAction(place, options)],
        });
        return { ...(await steered(context, place, made)), id: made[0]?.seq ?? 0 };
      }),
    tag: (session, wish) => one(session, () => tagMessage(context, session, wish)),
    release: (session, { pin }) =>
      one(session, async () => {
        const place = await at(session, await branchOf(context, session, pin));
        const pinned = place.view.edits.find(
          ({ seq, action }) => seq === pin && action.kind === "pin",
        );
        if (pinned === undefined)
          throw unknownPoint(`There is no active pin ${pin}. GET …/edits lists them.`);
        const made = await append(context, place, {
          action: "release",
          actions: [{ kind: "revert", edit: pin }],
        });
        return steered(context, place, made);
      }),
    compact: (session, options) =>
      one(session, async () => {
        const place = await at(session, options.branch);
        return {
          ...(await compactNow(context, place, options)),
          ...(await sizeNow(context, place)),
        };
      }),
    reset: (session, options) =>
      one(session, async () => {
        const place = await at(session, options.branch);
        return { ...(await resetNow(context, place, options)), ...(await sizeNow(context, place)) };
      }),
    milestone: (session, { reason = "A milestone was reached.", task, branch }) =>
      one(session, async () => {
        const place = await at(session, branch);
        remember(place.branch, { kind: "wants-recovery", reason, ...(task && { task }) });
        await context.saver.save(place.log);
        return { branch: place.branch.record.id };
      }),
    fork: (session, { branch, ...point }) =>
      one(session, async () => forkSession(context, await at(session, branch), point)),
    ...looking(context, at),
  };
}

/** What only looks at a session, and changes nothing. */
function looking(
  context: SteerContext,
  at: (session: string, branch?: string) => Promise<Place>,
): Pick<Steering, "view" | "diff" | "impact" | "checkpoints"> {
  return {
    view: async (session, branch) => {
      const place = await at(session, branch);
      return { ...(await readableView(context, place)), ...(await sizeNow(context, place)) };
    },
    diff: async (session, { from, to, branch }) => {
      const place = await at(session, branch);
      const edits = editsOn(place);
      return diffViews(context, place, {
        from: seqOf(edits, from),
        to: to === undefined ? (edits.at(-1)?.seq ?? 0) : seqOf(edits, to),
      });
    },
    impact: async (session, { view, branch }) => {
      const place = await at(session, branch);
      const edits = editsOn(place);
      const seq = view === undefined ? (edits.at(-1)?.seq ?? 0) : seqOf(edits, view);
      return impactOf(context, place, seq);
    },
    checkpoints: async (session) => checkpointsOf((await at(session)).log.edits),
  };
}

async function placeOf(
  context: SteerContext,
  session: string,
  wanted: string | undefined,
): Promise<Place> {
  const log = await context.sessions.byId(session);
  const turns = await context.store.turns(session, 50);
  // If the caller names no branch, take the branch of the last turn. The first branch may contain only a request for a title.
  const last = log?.branches.get(turns[0]?.branch ?? "") ?? [...(log?.branches.values() ?? [])][0];
  const branch = wanted === undefined ? last : log?.branches.get(wanted);
  if (log === undefined) throw unknownSession(`no session ${session}`);
  if (branch === undefined) throw noBranch(log, wanted);
  const path = pathOfBranch(log, branch.record);
  return {
    log,
    branch,
    path,
    view: foldView(indexOn(path, log), log.edits),
    lastTurn: turns.find((turn) => turn.branch === branch.record.id) ?? turns[0],
  };
}

/** The branch on which this edit was made. If the caller gives no number, the branch of the last edit. */
async function branchOf(
  { sessions }: SteerContext,
  session: string,
  seq: number | undefined,
): Promise<string | undefined> {
  const edits = (await sessions.byId(session))?.edits ?? [];
  const edit = seq === undefined ? edits.at(-1) : edits.find((known) => known.seq === seq);
  return edit?.branch;
}

async function undo(
  context: SteerContext,
  place: Place,
  wanted: number | undefined,
): Promise<Steered> {
  const { view } = place;
  const made = editsOn(place);
  const isOfView = ({ action }: Edit): boolean =>
    action.kind !== "pin" && action.kind !== "checkpoint" && action.kind !== "expand";
  const undone = revertedIn(made);
  // A compaction may have done no more than revert lookups. In that case, undo that revert.
  const tookBack = made.findLast(
    ({ seq, action, strategy }) =>
      action.kind === "revert" && strategy === ownTools && !undone.has(seq),
  );
  const edit =
    wanted === undefined
      ? (view.edits.findLast(isOfView) ?? tookBack)
      : made.find(({ seq }) => seq === wanted);
  if (edit === undefined)
    throw unknownPoint(
      wanted === undefined
        ? "There is nothing to undo: no edit is active on this branch."
        : `There is no edit ${wanted}. \`plimsoll edits\` lists them.`,
    );
  const reverts = made
    .filter(({ step, seq }) => step === edit.step && !undone.has(seq))
    .map(({ seq }): EditAction => ({ kind: "revert", edit: seq }));
  if (reverts.length === 0) throw unknownPoint(`Edit ${edit.seq} has already been undone.`);
  return steer(context, place, "undo", reverts);
}

/**
 * Makes exactly those edits active that were active at this point. They stay active even if the client later goes back to a
 * message before the restore.
 */
async function restore(context: SteerContext, place: Place, point: RestorePoint): Promise<Steered> {
  const { log, path, view } = place;
  const made = editsOn(place);
  const to = seqOf(made, point);
  const action: EditAction = { kind: "restore", to };
  const drafts = draftEdits(context, place, "restore", [action]);
  const { edits } = viewWith(log, path, drafts);
  const isSame =
    edits.length === view.edits.length && edits.every((edit) => view.edits.includes(edit));
  if (isSame)
    throw new PlimsollError("NOTHING_TO_DO", "The view is already as it was at this point.", {
      status: 409,
    });
  const reverts = madeSince(made, to).map((edit): EditAction => ({ kind: "revert", edit }));
  return steer(context, place, "restore", [action, ...reverts]);
}

/** The edits that were made on this branch and on the branches from which it began. */
function editsOn({ log, path }: Place): readonly Edit[] {
  const indexOf = indexOn(path, log);
  return log.edits.filter((edit) => isAnchoredOn(indexOf, edit));
}

/** Appends the reverts, and pins everything that comes back into the view. Throws an error if the new view would not fit. */
async function steer(
  context: SteerContext,
  place: Place,
  action: ViewSteeredEvent["action"],
  reverts: readonly EditAction[],
): Promise<Steered> {
  const { log, path, view } = place;
  const drafts = draftEdits(context, place, action, reverts);
  const after = viewWith(log, path, drafts);
  const size = await measureWith(context, place, after);
  checkRoom(context, place, size);
  const pins = new Map(
    view.edits
      .filter((edit) => !after.edits.includes(edit))
      .flatMap((edit) => pinFor(edit.action))
      .map((pin) => [JSON.stringify(pin), pin]),
  );
  const made = await append(context, place, {
    action,
    actions: [...reverts, ...pins.values()],
    tokens: size.tokens,
  });
  return steered(context, { ...place, view: after }, made);
}

function pinFor(action: EditAction): readonly EditAction[] {
  if (action.kind === "remove" || action.kind === "fold")
    return [{ kind: "pin", first: action.first, last: action.last }];
  return action.kind === "replace"
    ? [{ kind: "pin", first: action.chain, last: action.chain }]
    : [];
}

function pinAction(
  { log, path }: Place,
  { first, last = first }: { readonly first: number; readonly last?: number },
): EditAction {
  const chains = [first, last].map((seq) => {
    const node = log.nodes.get(seq);
    const chain = node && looseChainOf(node);
    if (chain !== undefined && indexOn(path, log)(chain) !== undefined) return chain;
    throw unknownPoint(
      `There is no message ${seq} on this branch. \`plimsoll log\` shows their numbers.`,
    );
  });
  if (first > last) throw unknownPoint(`Message ${last} comes before message ${first}. Swap them.`);
  return { kind: "pin", first: chains[0] ?? "", last: chains[1] ?? "" };
}

function draftEdits(
  context: SteerContext,
  { log, branch, path }: Place,
  action: ViewSteeredEvent["action"],
  actions: readonly EditAction[],
): readonly Edit[] {
  const anchors = new Map(log.edits.map(({ seq, anchor }) => [seq, anchor]));
  const anchorFor = (made: EditAction): string | undefined =>
    made.kind === "revert" ? anchors.get(made.edit) : lastTouched(made);
  const origin = { branch: branch.record.id, step: newId("step"), at: context.now() };
  const edits = actions.map((made) => {
    const anchor = anchorFor(made) ?? anchorOf(log, path, branch);
    return newEdit(origin, { anchor, action: made, strategy: action, reason: "By hand." });
  });
  return numbered(log, edits);
}

interface Appending {
  readonly action: ViewSteeredEvent["action"];
  readonly actions: readonly EditAction[];
  /** Size of the window afterwards. Undefined if it stays the same. */
  readonly tokens?: number;
}

async function append(
  context: SteerContext,
  place: Place,
  { action, actions, tokens: known }: Appending,
): Promise<readonly Edit[]> {
  const { log, branch, lastTurn } = place;
  if (place.path.length === 0)
    throw new PlimsollError("NOTHING_TO_DO", "There is nothing in this session yet.", {
      status: 409,
    });
  const tokens = known ?? (await sizeNow(context, place)).tokens;
  const edits = draftEdits(context, place, action, actions);
  // If the store fails, these edits are not made, and the remembered size belongs to no view.
  rememberSize(place, tokens, edits.at(-1)?.seq);
  const saved = await commitEdits(context, log, edits, {
    event: {
      type: "view-steered",
      session: log.record.id,
      at: context.now(),
      branch: branch.record.id,
      action,
      edits: edits.map(({ seq }) => seq),
      ...(lastTurn === undefined ? {} : { tokens, limit: lastTurn.limit }),
    },
  });
  if (saved === "stored") return edits;
  throw new PlimsollError("STORE_FAILED", "The store failed, so nothing was changed. Try again.", {
    status: 503,
  });
}

/** The size of the window with another view: its size now, and the difference between the two views. */
async function measureWith(context: SteerContext, place: Place, other: View): Promise<SteeredSize> {
  const draft = await storedDraft(context, place);
  const now = await sizeView(context.facts, draft, place.view);
  const wanted = await sizeView(context.facts, draft, other);
  const { tokens } = await sizeNow(context, place);
  const change = { before: now.measured.total, after: wanted.measured.total };
  return {
    tokens: sizeAfterChange(tokens, change, scaleOf(place.branch.record)),
    tooMany: Math.max(0, wanted.media - draft.targets[0].media.maxCount),
  };
}

async function steered(
  context: SteerContext,
  place: Place,
  made: readonly Edit[],
): Promise<Steered> {
  return { edits: made.map(({ seq }) => seq), ...(await sizeNow(context, place)) };
}

async function sizeNow(
  { picture }: SteerContext,
  { log, branch, lastTurn }: Place,
): Promise<WindowNow> {
  const { id } = branch.record;
  const { tokens } = await picture(log.record.id, { branch: id });
  return { branch: id, tokens, limit: lastTurn?.limit ?? null };
}
