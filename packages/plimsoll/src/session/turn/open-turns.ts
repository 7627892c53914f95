/** Turns that are under way: when the product closes, they are ended and stored as far as they came. */

import type { OpenTurns, Unended } from "./context.ts";

export type ClosableTurns = OpenTurns & { close(timeoutMs: number): Promise<void> };

export function createOpenTurns(): ClosableTurns {
  const open = new Set<Unended>();
  let onLast: () => void = () => undefined;
  return {
    add: (turn) => void open.add(turn),
    delete: (turn) => {
      open.delete(turn);
      if (open.size === 0) onLast();
    },
    close: async (timeoutMs) => {
      await Promise.all([...open].map(({ abort }) => abort?.()));
      if (open.size === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        onLast = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
