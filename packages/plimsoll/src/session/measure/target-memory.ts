/**
 * The facts about a target that all sessions share: how its provider counts, the window that the provider has named, and whether
 * its server fails to defer tools. They are stored separately from the sessions, and survive a restart.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Calibration } from "../../budget/calibrate.ts";
import type { NamedMemory, UnsavedMemories } from "../log/save.ts";

export interface TargetMemory {
  readonly calibration?: Calibration;
  /** The window that the provider has named, and the time until which Plimsoll uses this figure. */
  readonly window?: { readonly tokens: number; readonly until: number };
  /** Until this time, Plimsoll does not ask the server to defer tools. */
  readonly distrustedUntil?: number;
}

export interface TargetMemories extends UnsavedMemories {
  of(name: string): TargetMemory;
  note(name: string, known: TargetMemory): void;
}

/** Maximum number of targets. Clients choose the names of models, so the number is bounded. The oldest is forgotten. */
const namesMax = 1000;

/** `stored` contains the facts that an earlier process stored. */
export function createTargetMemories(
  stored: ReadonlyMap<string, object> = new Map(),
): TargetMemories {
  const memories = new BoundedMap<string, TargetMemory>({ entries: namesMax });
  for (const [name, memory] of stored) memories.set(name, memory);
  const unsaved = new Set<string>();
  return {
    of: (name) => memories.peek(name) ?? {},
    note: (name, known) => {
      const before = memories.peek(name);
      // The target that was noted last is the last to be forgotten.
      memories.delete(name);
      for (const forgotten of memories.makeRoom(0)) unsaved.add(forgotten);
      memories.set(name, { ...before, ...known });
      unsaved.add(name);
    },
    takeUnsaved: () => {
      const taken = [...unsaved].map(
        (name): NamedMemory => ({ name, memory: memories.peek(name) ?? null }),
      );
      unsaved.clear();
      return taken;
    },
    keepUnsaved: (taken) => {
      for (const { name } of taken) unsaved.add(name);
    },
  };
}
