/**
 * Repairs a session, or a whole database, that the disk has damaged. Plimsoll never uses content that does not match its hash. A
 * damaged session is put aside. The client's next request contains the whole history and starts a new session. If pages of a
 * database cannot be read, Plimsoll builds a new database from the undamaged sessions.
 */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { Rebuilt, Store, Write } from "../../store/store.ts";
import type { EventBus } from "./event-bus.ts";
import type { StoreHealth } from "./store-health.ts";

export interface Mender {
  /** The store. It is wrapped so that the mender learns of all damage that the store finds. */
  readonly store: Store;
  /** Whether damage was found in this session and the session has not been put aside yet. */
  isSpoilt(session: string): boolean;
  /** Call this when the store has rows that a log does not know. Either another process wrote them, or an index is damaged. */
  noteConflict(): void;
  /**
   * Call this after a failure. Resolves to true if the cause was damage and Plimsoll has put the session aside or rebuilt the
   * database. Contract: never rejects.
   */
  mend(error: unknown): Promise<boolean>;
  /** Checks the whole database, and rebuilds it if needed. Contract: never rejects. */
  check(): Promise<void>;
  /** Resolves when no repair is running. */
  idle(): Promise<void>;
}

export interface MendWorld {
  readonly store: Store;
  readonly bus: EventBus;
  readonly health: StoreHealth;
  readonly now: () => number;
  /** Locks the database file while it is replaced. Returns undefined if another process is using the file. */
  readonly lockFile: () => { release(): void } | undefined;
  /** Removes from memory the sessions that no longer match the store. */
  readonly forget: (sessions: readonly string[]) => void;
}

/** Minimum time between two checks after conflicts, in milliseconds. A check reads the whole file. */
const checkEveryMs = 600_000;
/** Maximum number of rebuilds in one process. If a disk damages a database more often than this, a person must look at it. */
const rebuildsMax = 3;

const spoiltForOthers =
  "The database is spoilt, but a service is using it. Restart the service: it repairs the database.";

export function createMender(world: MendWorld): Mender {
  const spoilt = new Set<string>();
  const triedAside = new Set<string>();
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** By error: the number of rebuilds that had been made when the error occurred. */
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
    world.health.notice("The database was spoilt and has been rebuilt. See GET /api/errors.");
    await announce(world, "", rebuiltText(rebuilt, reason));
    return true;
  };

  const putAside = async (session: string, reason: string): Promise<boolean> => {
    world.forget([session]);
    // If the session was put aside before and has appeared again, a damaged index may still lead to it.
    if (triedAside.has(session) && (await world.store.check()).length > 0) return rebuild(reason);
    triedAside.add(session);
    try {
      const file = await world.store.putAside(session);
      spoilt.delete(session);
      world.health.notice(`${session} was spoilt and has been put aside. See GET /api/errors.`);
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
      // Another call may have repaired the damage while this call waited.
      const isMended =
        session === undefined
          ? (metAt.get(error as object) ?? rebuilds) < rebuilds
          : !spoilt.has(session);
      if (isMended) return true;
      return session === undefined
        ? rebuild(errorMessage(error))
        : putAside(session, errorMessage(error));
    }).catch(async (failure: unknown) => {
      const sentence = `The store is spoilt and could not be repaired: ${errorMessage(failure)}`;
      world.health.report("spoilt", sentence);
      await announce(world, "", sentence);
      return false;
    });

  const check = async (): Promise<void> => {
    // Only STORE_CORRUPT proves damage. Any other failure only means that the check could not be made now.
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

/** Wraps a store so that every error is passed to `note` and then thrown again. */
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

/** Emits an event and adds an entry to the table of errors. If the entry cannot be stored, only the event is emitted. */
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
  return `${session} was put aside in ${file}. Its conversation continues in a new session. Reason: ${reason} Check the disk.`;
}

function rebuiltText({ aside, kept, lost }: Rebuilt, reason: string): string {
  const gone = lost.length === 0 ? "none was lost" : `${lost.length} were damaged and left out`;
  return `The database was put aside as ${aside}. ${kept} sessions were copied into a new one (${gone}). Reason: ${reason} Check the disk.`;
}

function codeOf(error: unknown): string | undefined {
  return PlimsollError.is(error) ? error.code : undefined;
}

function sessionIn(error: unknown): string | undefined {
  const session = PlimsollError.is(error) ? error.fields["session"] : undefined;
  return typeof session === "string" ? session : undefined;
}
