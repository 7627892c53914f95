/** Turns that are under way: when the product closes, they are ended and stored as far as they came. */

export interface OpenTurns {
  add(turn: Unended): void;
  delete(turn: Unended): void;
  /** For a request on its way to become a turn: whoever closes waits for that, too. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** A turn that has begun and not ended. */
export interface Unended {
  /** Somebody is about to end it, and gets a while for that. Any other is ended as soon as the product closes. */
  readonly isAwaited: boolean;
  /** Ends it, and stores what there is of it. Contract: never rejects, and does it once. */
  abort(): Promise<unknown>;
}

/** Resolves when all are stored. Those that somebody is about to end are ended for them after this long. */
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
      // There is nothing to store of it yet.
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
