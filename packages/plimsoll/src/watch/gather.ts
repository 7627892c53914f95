/**
 * Draws what changed: the first change of a burst at once, later ones together when the time since the last drawing has passed. A
 * burst of a key is over when nothing has changed for as long. Pure: clock and timers are told.
 */

export interface Timing {
  /** In milliseconds, from whenever. */
  readonly now: () => number;
  /** Answers how to call it off. */
  readonly later: (work: () => void, ms: number) => () => void;
}

export interface Gathering {
  /** The key has changed. */
  add(key: string): void;
  /** Draws at once, whatever the time. */
  flush(key: string): void;
  /** What waits is not drawn any more. */
  close(): void;
}

interface Waiting {
  hasChanged: boolean;
  /** Last. */
  changedAt: number;
  cancel: () => void;
}

export function gather(
  draw: (key: string) => void,
  { now, later }: Timing,
  everyMs: number = 500,
): Gathering {
  // Only keys that were drawn less than `everyMs` ago are in it.
  const drawn = new Map<string, Waiting>();

  const drawNow = (key: string, changedAt: number = now()): void => {
    drawn.get(key)?.cancel();
    const cancel = later(() => timeIsUp(key), everyMs);
    drawn.set(key, { hasChanged: false, changedAt, cancel });
    draw(key);
  };
  const timeIsUp = (key: string): void => {
    const waiting = drawn.get(key);
    if (waiting?.hasChanged === true) drawNow(key, waiting.changedAt);
    else drawn.delete(key);
  };

  return {
    add: (key) => {
      const waiting = drawn.get(key);
      const isFirst =
        waiting === undefined || (!waiting.hasChanged && now() - waiting.changedAt >= everyMs);
      if (isFirst) drawNow(key);
      else Object.assign(waiting, { hasChanged: true, changedAt: now() });
    },
    flush: (key) => drawNow(key),
    close: () => {
      for (const { cancel } of drawn.values()) cancel();
      drawn.clear();
    },
  };
}
