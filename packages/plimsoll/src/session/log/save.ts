/**
 * Stores logs. One transaction contains everything of a session that is not stored yet. It is retried until the store accepts it.
 */

import { pauseAfter } from "../../bounds/growing-pause.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { EmittedEvent } from "../../message/event.ts";
import type { Store, Write } from "../../store/store.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import type { EventBus } from "./event-bus.ts";
import type { BranchState, SessionLog } from "./log.ts";
import type { StoreHealth } from "./store-health.ts";

/** unsaved: the writes are still in memory, a store-error event was emitted, and Plimsoll tries again later. */
export type Saved = "stored" | "unsaved";

export interface LogSaver {
  /** Contract: never rejects. */
  save(log: SessionLog): Promise<Saved>;
  /**
   * Stores these writes together with all earlier unsaved ones. Calls `onStored` once they are stored. This is before "stored" is
   * returned, or later if the store hung but accepted the writes after all. Writes that failed are dropped.
   */
  saveNow(log: SessionLog, writes: readonly Write[], onStored?: () => void): Promise<Saved>;
  /** Tries once more to store everything. Writes that fail from now on are not tried again. */
  close(): Promise<void>;
}

export interface SaverWorld {
  readonly store: Store;
  readonly bus: EventBus;
  readonly now: () => number;
  /** Gets the result of every commit, because problems of the store show only when the store is used. */
  readonly health: StoreHealth;
  /** Removes a log from memory that no longer matches the store. The session is then read from the store again. */
  readonly forget: (log: SessionLog) => void;
  /** Called when a log is given up, usually because another process has written the same rows. */
  readonly onConflict?: () => void;
  /** Memories that all sessions share. The next commit of any session stores them. */
  readonly targetMemories?: UnsavedMemories;
}

export interface NamedMemory {
  readonly name: string;
  /** The memory to store, or null to delete the stored one. */
  readonly memory: object | null;
}

export interface UnsavedMemories {
  takeUnsaved(): readonly NamedMemory[];
  /** Takes back memories that could not be stored. */
  keepUnsaved(memories: readonly NamedMemory[]): void;
}

/** The store keeps memories that belong to no session under this name. */
const noSession = "";

/**
 * Maximum number of unsaved writes. Above this number, the session is given up, because otherwise an unavailable store would fill
 * the memory.
 */
const maxUnsavedWrites = 20_000;
/** Maximum wait for a commit, in milliseconds. A disk that hangs must not delay an answer forever. */
const commitTimeoutMs = 10_000;
/** Maximum wait for a commit while another one hangs, in milliseconds. */
const hangingTimeoutMs = 250;
const retryPause = { baseMs: 1000, maxMs: 30_000 };

export function createLogSaver(world: SaverWorld): LogSaver {
  const failed = new Set<SessionLog>();
  let retryTimer: NodeJS.Timeout | undefined;
  let retries = 0;
  let hanging = 0;
  let isClosed = false;

  const retryLater = (): void => {
    if (isClosed || retryTimer !== undefined) return;
    retryTimer = setTimeout(
      () => {
        retryTimer = undefined;
        retries += 1;
        for (const log of failed) void save(log);
      },
      pauseAfter(retryPause, retries),
    );
    retryTimer.unref();
  };

  const save = async (
    log: SessionLog,
    onSettled: (saved: Saved) => void = () => undefined,
  ): Promise<Saved> => {
    const commit = log.commits.run(async () => {
      const saved = await flush(log, world);
      onSettled(saved);
      return saved;
    });
    const timeoutMs = hanging > 0 ? hangingTimeoutMs : commitTimeoutMs;
    const saved = await withTimeout(commit, timeoutMs, (): Saved => {
      hanging++;
      void commit.finally(() => hanging--);
      const sentence = `The store has not answered for ${timeoutMs / 1000} s.`;
      world.health.report("commit", sentence);
      announceFailure(log, world, sentence);
      return "unsaved";
    });
    if (saved === "stored") {
      failed.delete(log);
      retries = 0;
    } else if (!log.isAbandoned) {
      failed.add(log);
      retryLater();
    }
    return saved;
  };

  return {
    save: (log) => save(log),
    saveNow: (log, writes, onStored = () => undefined) => {
      const pending = writes.map((write) => Promise.resolve(write));
      log.unsaved.push(...pending);
      return save(log, (saved) => {
        if (saved === "stored") onStored();
        else log.unsaved = log.unsaved.filter((write) => !pending.includes(write));
      });
    },
    close: async () => {
      isClosed = true;
      clearTimeout(retryTimer);
      await Promise.all([...failed].map((log) => save(log)));
    },
  };
}

async function flush(log: SessionLog, world: SaverWorld): Promise<Saved> {
  if (log.isAbandoned) return "unsaved";
  const batch = log.unsaved.splice(0);
  const moved = [...log.branches.values()].filter(({ isChanged }) => isChanged);
  const { isMemoryChanged } = log;
  if (batch.length === 0 && moved.length === 0 && !isMemoryChanged) return "stored";
  // The frame and the batch are made at the same moment, so that no branch in the frame points to a message outside the batch.
  const targets = world.targetMemories?.takeUnsaved() ?? [];
  const frame = frameOf(log, moved, targets);
  for (const branch of moved) branch.isChanged = false;
  log.isMemoryChanged = false;
  log.isSaving = true;
  try {
    const writes = await Promise.all(batch);
    // The session may have been deleted while its messages were being packed.
    if (log.isAbandoned)
      throw new Error("Plimsoll has abandoned this log, because it no longer matches the store.");
    const receipt = await world.store.commit([...frame, ...writes]);
    world.health.clear("commit");
    for (const emitted of eventsOf(writes, receipt.events)) world.bus.emit(emitted);
    return "stored";
  } catch (error) {
    world.targetMemories?.keepUnsaved(targets);
    if (!log.isAbandoned) takeBack(log, world, { batch, moved, isMemoryChanged, error });
    return "unsaved";
  } finally {
    log.isSaving = false;
  }
}

interface FailedCommit {
  readonly batch: readonly Promise<Write>[];
  readonly moved: readonly BranchState[];
  readonly isMemoryChanged: boolean;
  readonly error: unknown;
}

/** Makes everything unsaved again that could not be stored, and announces the failure. */
function takeBack(
  log: SessionLog,
  world: SaverWorld,
  { batch, moved, isMemoryChanged, error }: FailedCommit,
): void {
  for (const branch of moved) branch.isChanged = true;
  log.isMemoryChanged ||= isMemoryChanged;
  log.unsaved = [...batch, ...log.unsaved];
  if (!isConflict(error)) world.health.report("commit", errorMessage(error));
  if (isHopeless(log, error)) abandon(log, world);
  announceFailure(log, world, errorMessage(error));
}

/** Whether a retry would be useless: another process has written first, or there are too many unsaved writes. */
function isHopeless(log: SessionLog, error: unknown): boolean {
  return isConflict(error) || log.unsaved.length > maxUnsavedWrites;
}

/** Whether the store works but contains something else than this process expects. */
function isConflict(error: unknown): boolean {
  return PlimsollError.is(error) && error.code === "STORE_CONFLICT";
}

/** Gives up a log. Every request contains its whole history, so the next request builds the session again. */
function abandon(log: SessionLog, world: SaverWorld): void {
  log.isAbandoned = true;
  log.unsaved = [];
  world.forget(log);
  world.onConflict?.();
}

function announceFailure(log: SessionLog, { bus, now }: SaverWorld, message: string): void {
  const { tenant, id: session } = log.record;
  bus.emit({ tenant, event: { type: "store-error", session, at: now(), message } });
}

/** The writes for the session and its branches as they are now. Later writes of the transaction refer to them. */
function frameOf(
  log: SessionLog,
  moved: readonly BranchState[],
  targets: readonly NamedMemory[],
): readonly Write[] {
  const session = log.record.id;
  const ofSession = log.isMemoryChanged ? [{ name: "", memory: log.memory }] : [];
  const ofBranches = moved.map(({ record, memory }) => ({ name: record.id, memory }));
  return [
    { kind: "session", session: log.record },
    ...moved.map(({ record }): Write => ({ kind: "branch", session, branch: record })),
    ...[...ofSession, ...ofBranches].map((named): Write => ({ kind: "memory", session, ...named })),
    ...targets.map((named): Write => ({ kind: "memory", session: noSession, ...named })),
  ];
}

function eventsOf(writes: readonly Write[], numbers: readonly number[]): readonly EmittedEvent[] {
  const events = writes.filter((write) => write.kind === "event");
  return events.map(({ tenant, event }, index) => {
    const seq = numbers[index];
    return seq === undefined ? { tenant, event } : { seq, tenant, event };
  });
}
