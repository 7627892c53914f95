/**
 * What becomes of a session, or of a whole database, that the disk has spoilt. Nothing that does not match its hash is
 * used: a spoilt session is put aside, and the next request of its client, which carries the whole history, begins a new
 * one. A database with pages that cannot be read is made anew of the sessions that are whole.
 */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { Rebuilt, Store, Write } from "../../store/store.ts";
import type { EventBus } from "./event-bus.ts";
import type { StoreHealth } from "./store-health.ts";

export interface Mender {
  /** The store, watched: whatever it finds spoilt is remembered. */
  readonly store: Store;
  /** Whether something of this session was found spoilt and it was not put aside yet. */
  isSpoilt(session: string): boolean;
  /** A log met rows in the store that are not in it. Another process has written them, or an index is spoilt: it is looked at. */
  noteConflict(): void;
  /** After a failure: true when it was damage, and has been dealt with. Contract: never rejects. */
  mend(error: unknown): Promise<boolean>;
  /** Looks at the whole database, and makes a new one where that is needed. Contract: never rejects. */
  check(): Promise<void>;
  /** When nothing is being mended. */
  idle(): Promise<void>;
}

export interface MendWorld {
  readonly store: Store;
  readonly bus: EventBus;
  readonly health: StoreHealth;
  readonly now: () => number;
  /** Nobody else works with the file while it is replaced; undefined where somebody does. */
  readonly lockFile: () => { release(): void } | undefined;
  /** The sessions in memory are no longer what the store has. */
  readonly forget: (sessions: readonly string[]) => void;
}

/** A check reads the whole file. */
const checkEveryMs = 600_000;
/** The same database is not made anew again and again: a disk that spoils it so fast needs a person. */
const rebuildsMax = 3;

const spoiltForOthers =
  "The database is spoilt, and a service works with it: restart the service, which mends it.";

export function createMender(world: MendWorld): Mender {
  const spoilt = new Set<string>();
  const triedAside = new Set<string>();
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** When an error was met: before how many rebuilds. */
  const metAt = new WeakMap<object, number>();
  const { oneByOne, idle } = createQueue();
  let rebuilds = 0;

  const rebuild = async (reason: string): Promise<boolean> => {
    if (rebuilds >= rebuildsMax) return false;
    const lock = world.lockFile();
    if (lock === undefined) {
      world.health.report("spoilt", `${spoiltForOthers} ${reason}`);
      return false;
    }
    rebuilds++;
    const rebuilt = await world.store.rebuild().finally(() => lock.release());
    spoilt.clear();
    world.forget(rebuilt.lost);
    world.health.clear("spoilt");
    world.health.notice("The database was spoilt and made anew: GET /api/errors says more.");
    await announce(world, "", rebuiltText(rebuilt, reason));
    return true;
  };

  const putAside = async (session: string, reason: string): Promise<boolean> => {
    world.forget([session]);
    // It is there again: an index that was spoilt may lead to it all the same.
    if (triedAside.has(session) && (await world.store.check()).length > 0) return rebuild(reason);
    triedAside.add(session);
    try {
      const file = await world.store.putAside(session);
      spoilt.delete(session);
      world.health.notice(`${session} was spoilt and put aside: GET /api/errors says more.`);
      await announce(world, session, asideText(session, file, reason));
      return true;
    } catch (error) {
      if (codeOf(error) !== "STORE_CORRUPT") throw error;
      return rebuild(errorMessage(error));
    }
  };

  const mend: Mender["mend"] = (error) =>
    oneByOne(async () => {
      if (codeOf(error) !== "STORE_CORRUPT") return false;
      const session = sessionIn(error);
      // It may have been mended while this one waited.
      const isMended =
        session === undefined
          ? (metAt.get(error as object) ?? rebuilds) < rebuilds
          : !spoilt.has(session);
      if (isMended) return true;
      return session === undefined
        ? rebuild(errorMessage(error))
        : putAside(session, errorMessage(error));
    }).catch(async (failure: unknown) => {
      const sentence = `The store is spoilt and could not be mended: ${errorMessage(failure)}`;
      world.health.report("spoilt", sentence);
      await announce(world, "", sentence);
      return false;
    });

  const check = async (): Promise<void> => {
    // What cannot be looked at now is not spoilt for that.
    const problems = await world.store
      .check()
      .catch((error: unknown) => (codeOf(error) === "STORE_CORRUPT" ? [errorMessage(error)] : []));
    const [first] = problems;
    if (first !== undefined) await mend(new PlimsollError("STORE_CORRUPT", first));
  };

  const note = (error: unknown): void => {
    if (codeOf(error) !== "STORE_CORRUPT") return;
    const session = sessionIn(error);
    metAt.set(error as object, rebuilds);
    if (session === undefined) void mend(error);
    else spoilt.add(session);
  };

  return {
    store: watched(world.store, note),
    isSpoilt: (session) => spoilt.has(session),
    noteConflict: () => {
      if (world.now() - checkedAt < checkEveryMs) return;
      checkedAt = world.now();
      void check();
    },
    mend,
    check,
    idle,
  };
}

interface Queue {
  oneByOne<T>(work: () => Promise<T>): Promise<T>;
  idle(): Promise<void>;
}

function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return {
    oneByOne: (work) => {
      const mine = last.then(work);
      last = mine.catch(() => undefined);
      return mine;
    },
    idle: async () => {
      await last;
    },
  };
}

/** Every call that fails is shown to `note`, and fails all the same. */
function watched(store: Store, note: (error: unknown) => void): Store {
  const seen = new Map<PropertyKey, unknown>();
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const known = seen.get(name);
      if (known !== undefined) return known;
      const call = async (...given: unknown[]): Promise<unknown> => {
        try {
          return await (member as (...all: unknown[]) => unknown).apply(target, given);
        } catch (error) {
          note(error);
          throw error;
        }
      };
      seen.set(name, call);
      return call;
    },
  });
}

/** For whoever watches, and for the list of errors. The store may not take it: then it is only said. */
async function announce(world: MendWorld, session: string, message: string): Promise<void> {
  const at = world.now();
  const event = { type: "store-spoilt", session, at, message } as const;
  world.bus.emit({ tenant: "", event });
  const writes: readonly Write[] = [
    { kind: "error", tenant: "", error: { session, code: "STORE_CORRUPT", message, at } },
  ];
  await world.store.commit(writes).catch(() => undefined);
}

function asideText(session: string, file: string, reason: string): string {
  return `${session} was put aside in ${file}, and its conversation goes on in a new session: ${reason} Check the disk.`;
}

function rebuiltText({ aside, kept, lost }: Rebuilt, reason: string): string {
  const gone = lost.length === 0 ? "none was lost" : `${lost.length} were not whole`;
  return `The database was put aside as ${aside}, and ${kept} sessions went into a new one (${gone}): ${reason} Check the disk.`;
}

function codeOf(error: unknown): string | undefined {
  return PlimsollError.is(error) ? error.code : undefined;
}

function sessionIn(error: unknown): string | undefined {
  const session = PlimsollError.is(error) ? error.fields["session"] : undefined;
  return typeof session === "string" ? session : undefined;
}
