/**
 * The sessions in memory, found by id, by the client's name or by their answers. If there are too many, the least recently used
 * are dropped.
 */

import type { BranchState, SessionLog } from "../log/log.ts";

export interface SessionShelf {
  put(log: SessionLog): void;
  get(id: string): SessionLog | undefined;
  byClientKey(tenant: string, wire: string, clientKey: string): string | undefined;
  /** Ids of sessions that recorded an answer with one of these hashes (`Link.talk`). The ids are in the order of the hashes. */
  byAnswers(query: ShelfQuery): ReadonlySet<string>;
  /** Call this when messages were added, so that the next request finds the session. */
  noteAnswers(log: SessionLog): void;
  remove(log: SessionLog): void;
  /** Whether this session has running turns or unsaved data. Does not count as a use of the session. */
  isInUse(id: string): boolean;
  /** About how many bytes of memory all sessions together take. */
  readonly bytes: number;
}

export interface ShelfQuery {
  readonly tenant: string;
  readonly talks: readonly string[];
  readonly max: number;
}

export interface ShelfLimits {
  readonly maxSessions: number;
  /** Maximum number of bytes of memory that all sessions together take. */
  readonly maxBytes: number;
  readonly maxKeys: number;
}

interface SessionEntry {
  readonly log: SessionLog;
  readonly keys: Set<string>;
  /** The index contains the answers up to and including this message number. */
  noted: number;
  readonly size: SizeOfLog;
  bytes: number;
}

/**
 * About how many bytes a message and its indexes take, and an edit without its text. Measured on recorded conversations. The text of
 * a message is in the store, and not in memory.
 */
const bytesPer = { message: 1500, edit: 500 };

/** The size of a session in memory. A log only grows, so each turn adds what is new. */
class SizeOfLog {
  readonly #log: SessionLog;
  #edits = 0;
  #lookups = 0;
  #texts = 0;

  constructor(log: SessionLog) {
    this.#log = log;
  }

  bytes(): number {
    const { nodes, inner, edits } = this.#log;
    for (const { action } of edits.slice(this.#edits))
      this.#texts += bytesPer.edit + ("text" in action ? action.text.length : 0);
    this.#edits = edits.length;
    if (inner.size > this.#lookups)
      for (const body of [...inner.values()].slice(this.#lookups)) this.#texts += body.length;
    this.#lookups = inner.size;
    return nodes.size * bytesPer.message + this.#texts;
  }
}

const keyOf = (...names: readonly string[]): string => names.join("\0");

/** Maximum number of sessions to remember for the same answer. An answer in more than one session proves nothing anyway. */
const maxPerKey = 4;

export function createSessionShelf(limits: ShelfLimits): SessionShelf {
  /** The least recently used session comes first, and is dropped first. */
  const entries = new Map<string, SessionEntry>();
  const index = createAnswerIndex();
  const idByClientKey = new Map<string, string>();
  let bytes = 0;

  const noteAnswers: SessionShelf["noteAnswers"] = (log) => {
    const entry = entries.get(log.record.id);
    if (entry?.log !== log) return;
    const now = entry.size.bytes();
    bytes += now - entry.bytes;
    entry.bytes = now;
    letGoSoon();
    // If the client has named the session, requests find it by that name and not by its answers.
    if (log.record.clientKey === undefined) index.note(entry);
  };

  const remove = (id: string, entry: SessionEntry): void => {
    entries.delete(id);
    const { tenant, wire, clientKey } = entry.log.record;
    if (clientKey !== undefined && idByClientKey.get(keyOf(tenant, wire, clientKey)) === id)
      idByClientKey.delete(keyOf(tenant, wire, clientKey));
    bytes -= entry.bytes;
    index.drop(entry);
  };

  const isFull = (): boolean =>
    entries.size > limits.maxSessions || index.size > limits.maxKeys || bytes > limits.maxBytes;
  /** Drops sessions a moment later, because a caller that has just received a session needs time to mark it as busy. */
  let isLettingGo = false;
  const letGoSoon = (): void => {
    if (isLettingGo || !isFull()) return;
    isLettingGo = true;
    setImmediate(letGo);
  };
  const letGo = (): void => {
    isLettingGo = false;
    for (const [id, entry] of entries) {
      if (!isFull()) return;
      if (!isBusy(entry.log)) remove(id, entry);
    }
  };

  return {
    noteAnswers,
    put: (log) => {
      const { id, tenant, wire, clientKey } = log.record;
      const before = entries.get(id);
      if (before !== undefined) remove(id, before);
      entries.set(id, { log, keys: new Set(), noted: 0, size: new SizeOfLog(log), bytes: 0 });
      if (clientKey !== undefined) idByClientKey.set(keyOf(tenant, wire, clientKey), id);
      noteAnswers(log);
      letGoSoon();
    },
    remove: (log) => {
      const entry = entries.get(log.record.id);
      if (entry?.log === log) remove(log.record.id, entry);
    },
    get: (id) => {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry.log;
    },
    isInUse: (id) => {
      const entry = entries.get(id);
      return entry !== undefined && isBusy(entry.log);
    },
    byClientKey: (tenant, wire, clientKey) => idByClientKey.get(keyOf(tenant, wire, clientKey)),
    byAnswers: index.find,
    get bytes() {
      return bytes;
    },
  };
}

interface AnswerIndex {
  readonly size: number;
  note(entry: SessionEntry): void;
  drop(entry: SessionEntry): void;
  find(query: ShelfQuery): ReadonlySet<string>;
}

/** Finds the sessions that recorded an answer. */
function createAnswerIndex(): AnswerIndex {
  const idsByKey = new Map<string, Set<string>>();
  let size = 0;

  const noteKey = (entry: SessionEntry, key: string): void => {
    const { id, tenant } = entry.log.record;
    const name = keyOf(tenant, key);
    if (entry.keys.has(name) || (idsByKey.get(name)?.size ?? 0) >= maxPerKey) return;
    entry.keys.add(name);
    size++;
    addId(idsByKey, name, id);
  };

  return {
    get size() {
      return size;
    },
    note: (entry) => {
      const { log } = entry;
      for (let seq = entry.noted + 1; seq < log.nextSeq; seq++) {
        const node = log.nodes.get(seq);
        if (node?.source === "answer" && node.talk !== undefined) noteKey(entry, node.talk);
      }
      entry.noted = log.nextSeq - 1;
    },
    drop: ({ log, keys }) => {
      size -= keys.size;
      for (const key of keys) dropId(idsByKey, key, log.record.id);
    },
    find: ({ tenant, talks, max }) => {
      const found = new Set<string>();
      for (const talk of talks) {
        for (const id of idsByKey.get(keyOf(tenant, talk)) ?? [])
          if (found.size < max) found.add(id);
        if (found.size >= max) break;
      }
      return found;
    },
  };
}

function addId(ids: Map<string, Set<string>>, key: string, id: string): void {
  ids.set(key, (ids.get(key) ?? new Set()).add(id));
}

function dropId(ids: Map<string, Set<string>>, key: string, id: string): void {
  const left = ids.get(key);
  left?.delete(id);
  if (left?.size === 0) ids.delete(key);
}

function isInUse({ inFlight, isChanged, summariesUnderWay }: BranchState): boolean {
  return inFlight > 0 || isChanged || summariesUnderWay > 0;
}

/** Whether this session has running turns or unsaved data, which would be lost if the session were dropped. */
function isBusy(log: SessionLog): boolean {
  const { unsaved, isSaving, isMemoryChanged, users, editing, branches } = log;
  return (
    unsaved.length > 0 ||
    isSaving ||
    isMemoryChanged ||
    users > 0 ||
    editing.count > 0 ||
    [...branches.values()].some(isInUse)
  );
}
