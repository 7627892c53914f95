/**
 * What all sessions together remember of a target: how its provider counts, how large it said its window is, and that its
 * server does not hold tools back. Stored beside the sessions, so that a restart begins with it.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Calibration } from "../../budget/calibrate.ts";
import type { NamedMemory, UnsavedMemories } from "../log/save.ts";

export interface TargetMemory {
  readonly calibration?: Calibration;
  /** What the provider said of its window, and how long that is believed. */
  readonly window?: { readonly tokens: number; readonly until: number };
  /** Until then the server is not asked to hold tools back. */
  readonly distrustedUntil?: number;
}

export interface TargetMemories extends UnsavedMemories {
  of(name: string): TargetMemory;
  note(name: string, known: TargetMemory): void;
}

/** One per model that was ever asked for; the name comes from clients, so the number is bounded: the oldest is forgotten. */
const namesMax = 1000;

/** `stored` is what an earlier process has kept. */
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
      // The last one that was noted is the last one to be forgotten.
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
