/** Draws what changed: the first change of a key at once, later ones together when its time has passed. */

export interface Gathering {
  /** The key has changed. */
  add(key: string): void;
  /** Draws at once, whatever the time. */
  flush(key: string): void;
  /** What waits is not drawn any more. */
  close(): void;
}

export interface GatherOptions {
  readonly everyMs?: number;
  /** Answers how to call it off. */
  readonly later?: (work: () => void, ms: number) => () => void;
}

interface Waiting {
  hasChanged: boolean;
  cancel: () => void;
}

export function afterMs(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

export function gather(
  draw: (key: string) => void,
  { everyMs = 500, later = afterMs }: GatherOptions = {},
): Gathering {
  // Only keys that were drawn less than `everyMs` ago are in it.
  const drawn = new Map<string, Waiting>();

  const drawNow = (key: string): void => {
    drawn.get(key)?.cancel();
    drawn.set(key, { hasChanged: false, cancel: later(() => timeIsUp(key), everyMs) });
    draw(key);
  };
  const timeIsUp = (key: string): void => {
    if (drawn.get(key)?.hasChanged === true) drawNow(key);
    else drawn.delete(key);
  };

  return {
    add: (key) => {
      const waiting = drawn.get(key);
      if (waiting === undefined) drawNow(key);
      else waiting.hasChanged = true;
    },
    flush: drawNow,
    close: () => {
      for (const { cancel } of drawn.values()) cancel();
      drawn.clear();
    },
  };
}
