/** Deletes sessions from the store in memory. */

import { type ForgetOrder, type Forgotten, type Holding, keptIds } from "./forgetting.ts";

interface Sized {
  readonly body: { readonly bytes: Uint8Array };
}

interface StoredSession {
  readonly session: { readonly id: string; readonly tenant: string; readonly updatedAt: number };
  readonly nodes: ReadonlyMap<number, Sized>;
  readonly blocks: ReadonlyMap<string, { readonly bytes: Uint8Array }>;
  readonly clientSpellings: ReadonlyMap<number, Sized>;
  readonly turns: ReadonlyMap<string, object>;
  readonly edits: ReadonlyMap<number, object>;
}

/** The parts of the store in memory that contain something of a session. */
export interface ForgetfulMemory {
  readonly sessions: Map<string, StoredSession>;
  readonly memories: Map<string, ReadonlyMap<string, object>>;
  readonly archive: Map<string, { readonly session: string }>;
  readonly references: Map<string, { readonly session: string }>;
  readonly talks: Map<string, { readonly session: string; readonly seq: number }[]>;
  readonly errors: { readonly error: { readonly session: string } }[];
  readonly events: { readonly event: { readonly session: string } }[];
  readonly work: Map<string, { readonly item: { readonly session: string } }>;
  /** The ids of deleted sessions. */
  readonly forgotten: Set<string>;
}

export function holdingsInMemory(
  memory: ForgetfulMemory,
  sessions: readonly string[],
): readonly Holding[] {
  return sessions.toSorted().flatMap((id) => {
    const kept = memory.sessions.get(id);
    return kept === undefined ? [] : [holdingOf(memory, kept)];
  });
}

function holdingOf({ archive, memories }: ForgetfulMemory, kept: StoredSession): Holding {
  const { session, nodes, blocks, clientSpellings, turns, edits } = kept;
  const bodies = [...nodes.values(), ...clientSpellings.values()].map(({ body }) => body);
  const records = [
    ...turns.values(),
    ...edits.values(),
    ...(memories.get(session.id)?.values() ?? []),
  ];
  const bytes = [...bodies, ...blocks.values()].map((stored) => stored.bytes.length);
  const sizes = [...bytes, ...records.map((record) => JSON.stringify(record).length)];
  return {
    session: session.id,
    tenant: session.tenant,
    updatedAt: session.updatedAt,
    messages: nodes.size,
    archiveEntries: [...archive.values()].filter((entry) => entry.session === session.id).length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}

export function sizeOfMemory(memory: ForgetfulMemory): number {
  return holdingsInMemory(memory, [...memory.sessions.keys()]).reduce(
    (sum, { bytes }) => sum + bytes,
    0,
  );
}

export function forgetInMemory(memory: ForgetfulMemory, { sessions }: ForgetOrder): Forgotten {
  const gone = holdingsInMemory(memory, sessions);
  const isWanted = (session: string): boolean => sessions.includes(session);
  for (const id of sessions) {
    memory.sessions.delete(id);
    memory.memories.delete(id);
    memory.forgotten.add(id);
  }
  for (const id of memory.forgotten) {
    if (memory.forgotten.size <= keptIds) break;
    memory.forgotten.delete(id);
  }
  dropFrom(memory.archive, isWanted);
  dropFrom(memory.references, isWanted);
  for (const [id, { item }] of memory.work) if (isWanted(item.session)) memory.work.delete(id);
  for (const [talk, places] of memory.talks) {
    const others = places.filter(({ session }) => !isWanted(session));
    if (others.length === 0) memory.talks.delete(talk);
    else memory.talks.set(talk, others);
  }
  keepIn(memory.errors, ({ error }) => !isWanted(error.session));
  keepIn(memory.events, ({ event }) => !isWanted(event.session));
  return { gone, goneAside: [], resumed: [], unfinished: [] };
}

function dropFrom(
  entries: Map<string, { readonly session: string }>,
  isWanted: (session: string) => boolean,
): void {
  for (const [key, { session }] of entries) if (isWanted(session)) entries.delete(key);
}

function keepIn<T>(items: T[], isKept: (item: T) => boolean): void {
  const kept = items.filter(isKept);
  items.length = 0;
  for (const item of kept) items.push(item);
}
