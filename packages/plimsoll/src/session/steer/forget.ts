/** Deletes sessions: by hand, and by the setting `retention`. */

import type { Config } from "../../config/schema.ts";
import type { ForgetAnswer, HoldingSum } from "../../message/api.ts";
import { PlimsollError } from "../../message/error.ts";
import type { EmittedEvent, PlimsollEvent, SessionForgottenEvent } from "../../message/event.ts";
import type { Forgotten, Holding } from "../../store/forget/forgetting.ts";
import type { Store } from "../../store/store.ts";
import type { SessionCache } from "../identify/find-session.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { StoreHealth } from "../log/store-health.ts";
import { unknownSession } from "../log/unknown-place.ts";
import { dueSessions, hasPin, type KeptSession, rulesOf } from "./retention.ts";

export interface ForgetWorld {
  readonly store: Store;
  readonly sessions: Pick<SessionCache, "abandon" | "isInUse">;
  readonly bus: EventBus;
  readonly health: StoreHealth;
  readonly now: () => number;
  /** The current configuration. */
  readonly config: Config;
}

export interface ForgetOptions {
  /** Also deletes every backup and every file that was put aside. */
  readonly isEverything?: boolean;
}

export interface RetainOptions {
  /** True if hardly anybody is waiting yet. Then the database may have any size when an interrupted deletion is finished. */
  readonly isStarting?: boolean;
}

export interface Forgetting {
  /** How much the store contains of all these sessions together. */
  holdings(sessions: readonly string[]): Promise<HoldingSum>;
  /**
   * Deletes sessions, with all that belongs to them, from every file in the data folder. A turn that is running ends as usual, but
   * nothing of it is recorded. Contract: rejects with SESSION_UNKNOWN if there are no such sessions, and with STORE_FAILED if the
   * store failed. In both cases, nothing was deleted.
   */
  forget(sessions: readonly string[], options?: ForgetOptions): Promise<ForgetAnswer>;
  /** Finishes interrupted deletions, and deletes the sessions that the setting `retention` no longer keeps. */
  retain(options?: RetainOptions): Promise<void>;
}

/** `mostBytes`: the size of a database that is written anew while other requests wait. Undefined: nobody else is waiting. */
export function createForgetting(world: ForgetWorld, mostBytes: number | undefined): Forgetting {
  const bound = mostBytes === undefined ? {} : { mostBytes };
  const noteUnfinished = unfinishedNoter(world.health);
  let sparedBefore: string | undefined;

  const remove = async (
    by: SessionForgottenEvent["by"],
    sessions: readonly string[],
    options: ForgetOptions = {},
  ): Promise<Forgotten> => {
    const at = world.now();
    const forgotten = await world.store
      .forget({ sessions, at, ...options, ...bound })
      .catch((error: unknown) => {
        throw undeleted(error);
      });
    world.sessions.abandon(forgotten.gone.map(({ session }) => session));
    // By hand, the answer says it.
    if (by === "retention") noteUnfinished(forgotten);
    await announceAll(
      world,
      forgotten.gone.map((gone) => eventOf(gone, by, at)),
    );
    return forgotten;
  };

  return {
    holdings: async (sessions) => sumOf(await world.store.holdings(sessions)),
    forget: async (sessions, options = {}) => {
      const { isInUse, abandon } = world.sessions;
      const { gone, goneAside, resumed, unfinished } = await remove("hand", sessions, options);
      // In its first turn, a session is only in memory.
      const isStored = new Set(gone.map(({ session }) => session));
      const unstored = sessions.filter((id) => !isStored.has(id) && isInUse(id));
      abandon(unstored);
      const count = gone.length + goneAside.length + resumed.length + unstored.length;
      if (count === 0 && sessions.length > 0 && options.isEverything !== true)
        throw unknown(sessions);
      return { ...sumOf(gone), sessions: count, unfinished };
    },
    retain: async ({ isStarting = false } = {}) => {
      const leftovers = { sessions: [], at: world.now(), ...(isStarting ? {} : bound) };
      noteUnfinished(await world.store.forget(leftovers));
      const { due, spared } = await dueNow(world);
      // A session may have been used again while the others were being looked at.
      const idle = due.filter((id) => !world.sessions.isInUse(id));
      if (idle.length > 0) await remove("retention", idle);
      if (spared !== undefined && spared.session !== sparedBefore)
        await announceAll(world, [{ tenant: spared.tenant, event: sparedEvent(world, spared) }]);
      sparedBefore = spared?.session;
    },
  };
}

function sumOf(holdings: readonly Holding[]): HoldingSum {
  const sum = (weigh: (holding: Holding) => number): number =>
    holdings.reduce((total, holding) => total + weigh(holding), 0);
  return {
    sessions: holdings.length,
    messages: sum(({ messages }) => messages),
    archiveEntries: sum(({ archiveEntries }) => archiveEntries),
    bytes: sum(({ bytes }) => bytes),
  };
}

function undeleted(error: unknown): unknown {
  if (!PlimsollError.is(error)) return error;
  const message = `${error.message} Nothing was deleted.`;
  return new PlimsollError(error.code, message, { status: 503, cause: error });
}

function unknown([first = "", ...others]: readonly string[]): PlimsollError {
  const what = others.length === 0 ? `no session ${first}` : "none of these sessions";
  return unknownSession(what);
}

/** Says once what is left to do: in the log, and without the names of files in the health check, which everybody may read. */
function unfinishedNoter(health: StoreHealth): (forgotten: Forgotten) => void {
  let said = "";
  return ({ unfinished }) => {
    const sentence = unfinished.join(" ");
    if (sentence !== "" && sentence !== said) {
      health.notice(
        "A deletion is not finished: bytes of it are still in a file. The log of the service says in which.",
      );
      process.emitWarning(sentence);
    }
    said = sentence;
  };
}

interface Announced {
  readonly tenant: string;
  readonly event: PlimsollEvent;
}

function eventOf(
  { session, tenant, messages, archiveEntries, bytes }: Holding,
  by: SessionForgottenEvent["by"],
  at: number,
): Announced {
  const event = {
    type: "session-forgotten",
    session,
    at,
    by,
    messages,
    archiveEntries,
    bytes,
  } as const;
  return { tenant, event };
}

/** Stores the events and emits them. If they cannot be stored, they are only emitted. */
async function announceAll(
  { store, bus }: ForgetWorld,
  announced: readonly Announced[],
): Promise<void> {
  if (announced.length === 0) return;
  const stored = await store
    .commit(announced.map(({ tenant, event }) => ({ kind: "event", tenant, event })))
    .catch(() => ({ events: [] }));
  for (const [index, one] of announced.entries()) {
    const seq = stored.events[index];
    const emitted: EmittedEvent = seq === undefined ? one : { seq, ...one };
    bus.emit(emitted);
  }
}

/** Sessions that were used within this time are in use, whether or not a turn is running. */
const inUseMs = 3_600_000;
const sessionsPerPage = 200;
/** Maximum number of sessions to look at in one run. */
const sessionsMost = 100_000;

interface DueNow {
  readonly due: readonly string[];
  readonly spared?: Holding;
}

async function dueNow(world: ForgetWorld): Promise<DueNow> {
  const rules = rulesOf(world.config);
  if (rules === undefined) return { due: [] };
  const now = world.now();
  const all = await readAll(world.store);
  const kept = all.map(({ session: id, ...one }): KeptSession => ({ id, ...one }));
  const size = await world.store.size();
  const isUsed = ({ id, updatedAt }: KeptSession): boolean =>
    now - updatedAt < inUseMs || world.sessions.isInUse(id);
  const exempt = new Set(kept.filter(isUsed).map(({ id }) => id));
  const checked = new Set<string>();
  // Each pass checks sessions that were not checked before, so the number of passes is bounded.
  for (;;) {
    const { due, spared } = dueSessions(kept, rules, { now, size, exempt });
    const wanted = spared === undefined ? due : [...due, spared];
    const unchecked = wanted.filter((id) => !checked.has(id));
    const holding = all.find(({ session }) => session === spared);
    if (unchecked.length === 0) return holding === undefined ? { due } : { due, spared: holding };
    for (const id of unchecked) {
      checked.add(id);
      if (await isPinned(world.store, id)) exempt.add(id);
    }
  }
}

/** A damaged session counts as pinned, because a person must look at it. */
async function isPinned(store: Store, session: string): Promise<boolean> {
  try {
    return hasPin(await store.edits(session));
  } catch {
    return true;
  }
}

async function readAll(store: Store): Promise<readonly Holding[]> {
  const all: Holding[] = [];
  let before: { readonly updatedAt: number; readonly id: string } | undefined;
  while (all.length < sessionsMost) {
    const query = before === undefined ? {} : { before };
    const page = await store.sessions({ ...query, limit: sessionsPerPage });
    all.push(...(await store.holdings(page.map(({ id }) => id))));
    before = page.at(-1);
    if (page.length < sessionsPerPage) break;
  }
  return all;
}

function sparedEvent({ now }: ForgetWorld, { session }: Holding): PlimsollEvent {
  const message = `By the setting \`retention\`, even the newest session (${session}) would be deleted. Plimsoll always keeps the newest one. Raise \`max_age\` or \`max_size\`.`;
  return { type: "retention-spared", session, at: now(), message };
}
