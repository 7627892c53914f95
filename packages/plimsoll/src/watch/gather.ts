/**
 * Limits how often changes are drawn. The first change of a burst is drawn at once. Later changes are drawn together, once enough
 * time has passed since the last drawing. Each key has its own bursts. A burst ends when the key has not changed for that time.
 * Pure: clock and timers are passed in.
 */

export interface Timing {
  /** The current time in milliseconds, counted from any starting point. */
  readonly now: () => number;
  /** Runs `work` after a delay. Returns a function that cancels it. */
  readonly later: (work: () => void, ms: number) => () => void;
}

export interface Gathering {
  /** Reports that the key has changed. */
  add(key: string): void;
  /** Draws the key at once, even if it was drawn a moment ago. */
  flush(key: string): void;
  /** Cancels all pending drawings. */
  close(): void;
}

interface Waiting {
  hasChanged: boolean;
  /** The time of the last change. */
  changedAt: number;
  cancel: () => void;
}

export function gather(
  draw: (key: string) => void,
  { now, later }: Timing,
  everyMs: number = 500,
): Gathering {
  // Contains only keys that were drawn less than `everyMs` ago.
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
