/**
 * Forks a session: a session, or a point of it, becomes a new session that goes on by itself. The new session has its own copy of
 * the messages and edits, with the same numbers. So it stays whole if the other one is deleted, and neither changes the other.
 */

import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { makeHandle, type Sign } from "../../message/handle.ts";
import { packBody, sha256 } from "../../store/body.ts";
import type {
  ArchiveRecord,
  BranchRecord,
  NodeRecord,
  SessionRecord,
  TurnRecord,
  Write,
} from "../../store/store.ts";
import { checkpointsOf, type RestorePoint, seqOf, unknownPoint } from "../log/checkpoints.ts";
import { newId } from "../log/ids.ts";
import { pathTo, type SessionLog } from "../log/log.ts";
import { type BranchMemory, blankBranch, type SessionMemory } from "../log/memory.ts";
import { indexOn, type Path } from "../log/path.ts";
import { isAnchoredOn } from "../log/view.ts";
import type { SteerContext, StoredPlace } from "./draft-from-store.ts";

/** Where the new session ends: after a message, at a point of the view's history, or, without any, at the newest message. */
export interface ForkPoint extends RestorePoint {
  /** Number of a message in the log. */
  readonly message?: number;
}

export interface Forked {
  /** Id of the new session. */
  readonly id: string;
  readonly from: string;
  /** Number of messages, and number of the last one. */
  readonly messages: number;
  readonly last: number;
}

interface ForkPlace extends StoredPlace {
  readonly path: Path;
}

/** Contract: rejects with POINT_UNKNOWN, or with STORE_FAILED. In both cases there is no new session. */
export async function forkSession(
  context: Pick<SteerContext, "store" | "saver" | "bus" | "sign" | "now">,
  place: ForkPlace,
  point: ForkPoint,
): Promise<Forked> {
  const { log } = place;
  if ((await context.saver.save(log)) === "unsaved") throw notForked();
  const taken = takenAt(place, point);
  const last = taken.nodes.at(-1);
  if (last === undefined) throw unknownPoint("At this point, the session had no message yet.");
  const id = newId("ses");
  const archive = await archivedIn(context, log, taken.edits);
  const writes = [
    ...framesOf(place, { ...taken, id, at: context.now() }),
    ...(await messageWrites(context, log, { ...taken, id })),
    ...withNewHandles(context.sign, { id, tenant: log.record.tenant, archive, edits: taken.edits }),
  ];
  await commit(context, writes);
  return { id, from: log.record.id, messages: taken.nodes.length, last: last.seq };
}

/** The part of a session that becomes the new one. */
interface Taken {
  /** The messages from the root to the last one. */
  readonly nodes: readonly NodeRecord[];
  readonly edits: readonly Edit[];
  /** Messages of inner rounds that the edits show. */
  readonly inner: readonly NodeRecord[];
  /** Whether the new session has everything that the branch has now. */
  readonly isWhole: boolean;
}

function takenAt({ log, branch, path }: ForkPlace, point: ForkPoint): Taken {
  const nodes = pathTo(log, branch.record.tipSeq);
  const indexOf = indexOn(path, log);
  const here = log.edits.filter((edit) => isAnchoredOn(indexOf, edit));
  const end = endOf(nodes, here, point);
  const kept = nodes.slice(0, end.messages);
  const edits = here.filter(
    ({ seq, anchor }) => seq <= end.edit && (indexOf(anchor) ?? end.messages) < end.messages,
  );
  const shown = edits.flatMap(({ action }) => (action.kind === "expand" ? action.inner : []));
  const inner = shown.flatMap((seq) => log.nodes.get(seq) ?? []);
  const isWhole = kept.length === nodes.length && edits.length === here.length;
  return { nodes: kept, edits, inner, isWhole };
}

interface End {
  readonly messages: number;
  /** The last edit that may be taken over. */
  readonly edit: number;
}

function endOf(nodes: readonly NodeRecord[], edits: readonly Edit[], point: ForkPoint): End {
  const { message, checkpoint, seq, at } = point;
  if (message !== undefined) {
    const index = nodes.findIndex((node) => node.seq === message);
    if (index >= 0) return { messages: index + 1, edit: Number.POSITIVE_INFINITY };
    throw unknownPoint(
      `There is no message ${message} on this branch. \`plimsoll log\` shows the numbers.`,
    );
  }
  if (checkpoint === undefined && seq === undefined && at === undefined)
    return { messages: nodes.length, edit: Number.POSITIVE_INFINITY };
  const edit = seqOf(edits, point);
  const time = at ?? timeOf(edits, edit);
  const after = time === undefined ? -1 : nodes.findIndex((node) => node.at > time);
  return { messages: after < 0 ? nodes.length : after, edit };
}

/** The time of an edit, or of a checkpoint before a step. Undefined before the first edit. */
function timeOf(edits: readonly Edit[], seq: number): number | undefined {
  const checkpoint = checkpointsOf(edits).find(({ id }) => id === `cp_${seq}`);
  return checkpoint?.at ?? edits.find((edit) => edit.seq === seq)?.at;
}

interface Framing extends Taken {
  readonly id: string;
  readonly at: number;
}

const main = "main";

/** Session, branch, memories, the last turn, and the event that announces the session. */
function framesOf(place: ForkPlace, framing: Framing): readonly Write[] {
  const { log } = place;
  const { id, at } = framing;
  // A client names its session only once, so the name stays with the other session.
  const { clientKey: _, ...named } = log.record;
  const branch = branchOf(place, framing);
  const session: SessionRecord = {
    ...named,
    ...(branch.agent === undefined ? {} : { agent: branch.agent }),
    id,
    createdAt: at,
    updatedAt: at,
  };
  const { wire, tenant, client, folder, agent } = session;
  const event: PlimsollEvent = {
    type: "session-start",
    session: id,
    at,
    wire,
    ...(client === undefined ? {} : { client }),
    ...(folder === undefined ? {} : { folder }),
    ...(agent === undefined ? {} : { agent }),
  };
  return [
    { kind: "session", session },
    { kind: "branch", session: id, branch },
    { kind: "memory", session: id, name: "", memory: sessionMemory(log.memory, framing) },
    { kind: "memory", session: id, name: main, memory: branchMemory(place, framing) },
    ...turnWrites(place, framing),
    { kind: "event", tenant, event },
  ];
}

function branchOf(
  { log, branch }: ForkPlace,
  { nodes, isWhole, at }: Pick<Framing, "nodes" | "isWhole" | "at">,
): BranchRecord {
  const { counters, agent = log.record.agent } = branch.record;
  return {
    id: main,
    relation: "new",
    forkSeq: null,
    tipSeq: nodes.at(-1)?.seq ?? null,
    ...(agent === undefined ? {} : { agent }),
    ...(isWhole && counters !== undefined ? { counters } : {}),
    createdAt: at,
  };
}

function sessionMemory(memory: SessionMemory, { nodes }: Pick<Taken, "nodes">): SessionMemory {
  const last = nodes.at(-1)?.seq ?? 0;
  const { tags = [], ...rest } = memory;
  const kept = tags.filter(({ first }) => first <= last);
  return { ...rest, overflows: [], ...(kept.length === 0 ? {} : { tags: kept }) };
}

/** What the branch knows about a longer conversation does not hold for a shorter one. */
function branchMemory(
  { branch: { memory } }: ForkPlace,
  { isWhole }: Pick<Taken, "isWhole">,
): BranchMemory {
  if (!isWhole) return blankBranch;
  const { guest: _guest, rewritten: _rewritten, found: _found, ...rest } = memory;
  return rest;
}

/** The last turn, so that the new session knows its model and limit. It has no usage, because nobody paid for it again. */
function turnWrites(
  { lastTurn }: ForkPlace,
  { id, at, nodes }: Pick<Framing, "id" | "at" | "nodes">,
): readonly Write[] {
  const last = nodes.at(-1);
  if (lastTurn === undefined || last === undefined) return [];
  const { head: _head, usage: _usage, cachedTokens: _cached, error: _error, ...rest } = lastTurn;
  const turn: TurnRecord = {
    ...rest,
    id: newId("turn"),
    branch: main,
    relation: "new",
    requestTip: last.seq,
    startedAt: at,
    endedAt: at,
  };
  return [{ kind: "turn", session: id, turn }];
}

/** Number of messages that are read and packed at a time. */
const messagesAtOnce = 200;

async function messageWrites(
  { store }: Pick<SteerContext, "store">,
  { record }: SessionLog,
  { id, nodes, inner }: Taken & { readonly id: string },
): Promise<readonly Write[]> {
  const all = [...nodes, ...inner].toSorted((one, other) => one.seq - other.seq);
  const writes: Write[] = [];
  for (let first = 0; first < all.length; first += messagesAtOnce) {
    const some = all.slice(first, first + messagesAtOnce);
    const seqs = some.map(({ seq }) => seq);
    const bodies = await store.bodies(record.id, seqs);
    for (const node of some) {
      const body = bodies.get(node.seq) ?? new Uint8Array();
      writes.push(await messageWrite({ session: id, tenant: record.tenant }, node, body));
    }
    for (const [seq, bytes] of await store.clientSpellings(record.id, seqs))
      writes.push(await spellingWrite(id, seq, bytes));
  }
  return writes;
}

/** Without its talk, a message does not make requests of the other session find this one. */
async function messageWrite(
  place: { readonly session: string; readonly tenant: string },
  { talk: _, ...node }: NodeRecord,
  bytes: Uint8Array,
): Promise<Write> {
  const body = await packBody(bytes, place.session);
  return { kind: "message", ...place, node: { ...node, branch: main }, body };
}

async function spellingWrite(session: string, seq: number, bytes: Uint8Array): Promise<Write> {
  const body = await packBody(bytes, session);
  return { kind: "wording", session, seq, hash: sha256(bytes), bytes: bytes.length, body };
}

/** The archive entries of all handles in these edits. */
async function archivedIn(
  { store }: Pick<SteerContext, "store">,
  { record: { tenant } }: SessionLog,
  edits: readonly Edit[],
): Promise<readonly ArchiveRecord[]> {
  const handles = edits.flatMap(({ action }) => ("handle" in action ? (action.handle ?? []) : []));
  const records: ArchiveRecord[] = [];
  for (const handle of new Set(handles)) {
    const record = await store.archived(tenant, handle);
    if (record !== undefined) records.push(record);
  }
  return records;
}

interface Renaming {
  readonly id: string;
  readonly tenant: string;
  readonly archive: readonly ArchiveRecord[];
  readonly edits: readonly Edit[];
}

/** A handle opens content of its own session only. So the edits of the new session get handles of their own, also in their texts. */
function withNewHandles(sign: Sign, { id, tenant, archive, edits }: Renaming): readonly Write[] {
  const renamed = new Map(
    archive.map(({ handle }) => [
      handle,
      makeHandle(sign, { tenant, session: id, contentHash: handle }),
    ]),
  );
  const inWords = (json: string): string =>
    json.replaceAll(/pl_[0-9A-Za-z]{22}/g, (handle) => renamed.get(handle) ?? handle);
  return [
    ...edits.map((edit): Write => {
      const own = JSON.parse(inWords(JSON.stringify(edit))) as Edit;
      return { kind: "edit", session: id, edit: { ...own, branch: main } };
    }),
    ...archive.map((entry): Write => {
      const handle = renamed.get(entry.handle) ?? entry.handle;
      return { kind: "archive", entry: { ...entry, handle, session: id } };
    }),
  ];
}

async function commit(
  { store, bus }: Pick<SteerContext, "store" | "bus">,
  writes: readonly Write[],
): Promise<void> {
  let numbers: readonly number[];
  try {
    numbers = (await store.commit(writes)).events;
  } catch (cause) {
    throw notForked(cause);
  }
  for (const write of writes)
    if (write.kind === "event")
      bus.emit({
        ...(numbers[0] === undefined ? {} : { seq: numbers[0] }),
        tenant: write.tenant,
        event: write.event,
      });
}

function notForked(cause?: unknown): PlimsollError {
  const message = "The store failed, so nothing was forked. Try again.";
  return new PlimsollError("STORE_FAILED", message, { status: 503, cause });
}
