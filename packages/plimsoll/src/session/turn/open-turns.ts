/** Keeps track of turns under way. When Plimsoll shuts down, it ends these turns and stores what exists of them. */

export interface OpenTurns {
  add(turn: Unended): void;
  delete(turn: Unended): void;
  /** Runs work for a request that is about to become a turn. A shutdown waits for this work too. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** A turn that has begun but not ended. */
export interface Unended {
  /** True: a shutdown gives the caller some time to end the turn. False: a shutdown ends the turn at once. */
  readonly isAwaited: boolean;
  /** Ends the turn and stores the part of it that exists. Contract: never rejects, and acts only once. */
  abort(): Promise<unknown>;
}

/** `close` resolves when all turns are stored. After the timeout, it also ends the turns that it was still waiting for. */
export type ClosableTurns = OpenTurns & { close(timeoutMs: number): Promise<void> };

export function createOpenTurns(): ClosableTurns {
  const open = new Set<Unended>();
  const aborting: Promise<unknown>[] = [];
  let isClosing = false;
  let onLast: () => void = () => undefined;

  const abortUnawaited = (turn: Unended): void => {
    if (!turn.isAwaited) aborting.push(turn.abort());
  };
  const add = (turn: Unended): void => {
    open.add(turn);
    if (isClosing) abortUnawaited(turn);
  };
  const remove = (turn: Unended): void => {
    open.delete(turn);
    if (open.size === 0) onLast();
  };
  const empty = (timeoutMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      onLast = () => {
        clearTimeout(timer);
        resolve();
      };
      if (open.size === 0) onLast();
    });

  return {
    add,
    delete: remove,
    during: async (work) => {
      // Aborting does nothing here, because there is nothing to store yet.
      const coming: Unended = { isAwaited: true, abort: async () => undefined };
      add(coming);
      try {
        return await work();
      } finally {
        remove(coming);
      }
    },
    close: async (timeoutMs) => {
      isClosing = true;
      for (const turn of [...open]) abortUnawaited(turn);
      await empty(timeoutMs);
      await Promise.all([...aborting, ...[...open].map((turn) => turn.abort())]);
    },
  };
}
