/**
 * The memory of branches and sessions: the facts that later turns need, apart from messages and edits. A memory is a plain value
 * that is stored with every turn. After a restart, after an eviction from RAM, or in another process, the conversation continues
 * from the stored memory. The steps of a turn report events as notes. Only the two reducers below make a new memory from a note.
 *
 * Data that can be computed again, for example a folded view or packed bodies, does not belong in a memory.
 */

import type { ByComponent, Calibration } from "../../budget/calibrate.ts";
import { type TagRun, withRun } from "../../message/tag.ts";
import type { Priority } from "../../message/unit.ts";

export interface BranchMemory extends ProviderMemory, CompactionMemory, ToolMemory, ClientMemory {
  /** Number of turns that have ended. */
  readonly turns: number;
}

/** What a branch remembers about the reports and caches of its providers. */
export interface ProviderMemory {
  /**
   * The last request that a provider has counted. The next projection starts from it. Absent before the first report of usage.
   */
  readonly basis?: Basis;
  /**
   * The providers' caches of this conversation. The cache of the provider that was asked last comes last. Absent if no provider
   * has reported anything.
   */
  readonly caches?: readonly KnownCache[];
  /** Number of messages in the last request that a provider answered. */
  readonly sentLength?: number;
  /** The size of the window, as every screen shows it (session/measure/window-size.ts). Absent in memories of earlier versions. */
  readonly size?: RememberedSize;
}

export interface RememberedSize {
  readonly tokens: number;
  /** The last message and the last edit of the branch when it had this size. */
  readonly tip: number | null;
  readonly edit: number;
}

/** What a branch remembers about past compactions and about compactions that are due. */
export interface CompactionMemory {
  /**
   * Whether the next turn must compact even if Plimsoll's count says that it fits, because the provider stopped for lack of room
   * or refused a request.
   */
  readonly mustCompact?: boolean;
  /** The reason why the next turn starts afresh. Absent if it does not. */
  readonly mustRecover?: string;
  /** The task in the caller's own words, for the handover of a fresh start. */
  readonly task?: string;
  /** The last compaction: how many turns ago it was, and its level. A higher level removes more (see make-smaller.ts). */
  readonly compacted?: { readonly turns: number; readonly level: number };
  /**
   * Size of the request when a compaction last found nothing to remove. Plimsoll tries again only after the request has grown.
   */
  readonly exhaustedTokens?: number;
  /** The cost of compactions that were made to save money, minus their savings so far, in US dollars. */
  readonly debtUsd?: number;
  /** Number of turns since the last compaction, and the size of the request right after that compaction. */
  readonly pace?: { readonly turns: number; readonly tokens: number };
  /** A model's summary for the next compaction. It covers everything up to the message with this chain. */
  readonly summary?: { readonly chain: string; readonly text: string };
  /** The view of the last turn, and for how many turns messages were only appended to this view. */
  readonly checked?: { readonly view: ViewMark; readonly turns: number };
  /** The file with the part of the last answer that arrived, and how much it is. The next request says so. */
  readonly partial?: SavedPart;
  /** Number of active edits when Plimsoll last warned people and the model that the window is filling up. */
  readonly warnedEdits?: number;
  /** The budget that was too small for system prompt and tools. Undefined until Plimsoll has announced this. */
  readonly raisedBudget?: number;
}

export interface SavedPart {
  readonly path: string;
  /** `about 60 %, from four earlier answers` */
  readonly basis: string;
}

export interface ToolMemory {
  /** The catalogue of tools for which Plimsoll could not defer tools without breaking a rule of the provider. */
  readonly undeferrable?: string;
  /**
   * The message with which the user began the turn for which Plimsoll last chose the tools. Absent if it chooses them only once.
   */
  readonly toolsChosenFor?: string;
  /** Tools that searches have found in one turn. Later searches of the same turn do not remove these tools. */
  readonly found?: { readonly turn: string; readonly names: readonly string[] };
  /**
   * The names of Plimsoll's tools if they differ from the default names, because the client's tools already use those. Set once
   * the names are announced.
   */
  readonly renamed?: string;
}

/** What a branch remembers about its client's last request. */
export interface ClientMemory {
  /**
   * If the client replaced its newest messages: the index of the first replaced message, and how many were replaced, not counting
   * answers.
   */
  readonly rewritten?: Rewritten;
  /**
   * The tenant that sent the last request, if it is not the session's own tenant. This tenant has proved that it knows every word
   * of the branch.
   */
  readonly guest?: string;
  /** Whether the client sends leading system messages that differ from those in the log. */
  readonly hasOtherLead?: boolean;
}

export interface SessionMemory {
  /** Corrections of token counts, by target. */
  readonly calibrations: Readonly<Record<string, Calibration>>;
  /** By target: the window that Plimsoll assumes after the provider refused a request without naming a figure. */
  readonly windows: Readonly<Record<string, number>>;
  /** By target: the size of the largest request that its provider has accepted from this session. */
  readonly taken: Readonly<Record<string, TakenTokens>>;
  /** Times of recent overflows: the chain could not make a request fit, or a provider refused a request as too long. */
  readonly overflows: readonly number[];
  /** What callers said about messages. Absent if they said nothing. */
  readonly tags?: readonly TagRun[];
  /** The priority with which the library opened the session. */
  readonly priority?: Priority;
  /** The task with which the library opened the session. A branch may name another. */
  readonly task?: string;
}

/** The last request for which a provider reported usage: the reported tokens, and Plimsoll's own count. */
export interface Basis {
  readonly inputTokens: number;
  readonly estimated: ByComponent;
  readonly target: string;
}

/** Identifies a view by its edits, not counting lookups: how many there are, and the number of the last one. */
export interface ViewMark {
  readonly edits: number;
  readonly last: number;
}

export interface KnownCache {
  readonly target: string;
  readonly at: number;
  readonly tokens: number;
}

export interface Rewritten {
  readonly from: number;
  readonly count: number;
}

export interface TakenTokens {
  readonly input: number;
  /** Tokens of the input plus tokens of the answer that the model gave. */
  readonly used: number;
  /** Tokens of the input plus the answer length that the request asked for. Not every server reserves room for such an answer. */
  readonly total: number;
}

export type BranchNote =
  /** The branch has received a request. */
  | ({ readonly kind: "received" } & ClientMemory)
  | { readonly kind: "fitting" }
  /** A turn begins with this view. */
  | { readonly kind: "view"; readonly view: ViewMark }
  /** New edits have led to this view, and the validator has found it valid. */
  | { readonly kind: "view-valid"; readonly view: ViewMark }
  | { readonly kind: "view-invalid" }
  | { readonly kind: "must-compact" }
  | ({ readonly kind: "partial-saved" } & SavedPart)
  | { readonly kind: "partial-told" }
  /**
   * Plimsoll has tried a compaction that was due. Even if it failed, it is no longer due, so that Plimsoll does not try every
   * turn.
   */
  | { readonly kind: "wishes-taken" }
  | { readonly kind: "compacted"; readonly level: number; readonly view: ViewMark }
  | { readonly kind: "exhausted"; readonly tokens: number }
  | { readonly kind: "warned"; readonly edits: number }
  | { readonly kind: "budget-raised"; readonly budget: number }
  | { readonly kind: "tools-undeferrable"; readonly catalogue: string }
  | { readonly kind: "tools-chosen"; readonly for: string }
  | { readonly kind: "tools-found"; readonly turn: string; readonly names: readonly string[] }
  | { readonly kind: "tools-renamed"; readonly names: string }
  | { readonly kind: "summary-ready"; readonly chain: string; readonly text: string }
  | { readonly kind: "wants-recovery"; readonly reason: string; readonly task?: string }
  /** The client names the task on which it works. */
  | { readonly kind: "works-on"; readonly task: string }
  | { readonly kind: "recovered" }
  /** The provider has counted a request. `basis` is undefined if that count is implausible. */
  | { readonly kind: "counted"; readonly basis: Basis | undefined }
  | { readonly kind: "owes"; readonly debtUsd: number }
  | { readonly kind: "sized"; readonly size: RememberedSize }
  | EndedNote;

/** A turn has ended. */
export interface EndedNote {
  readonly kind: "ended";
  readonly target: string;
  readonly at: number;
  readonly tokens: number;
  /** Whether the request was compacted in this turn. */
  readonly isSmaller: boolean;
  /** Tokens that the provider has in its cache now. Undefined if the provider does not report this. */
  readonly cachedTokens?: number | undefined;
  /** Number of messages in the request. Absent if the provider did not answer. */
  readonly sentLength?: number;
}

export const blankBranch: BranchMemory = { turns: 0 };

/** Maximum number of targets whose caches a branch remembers. A conversation may alternate between models. */
const cachesMax = 4;

export function afterNote(memory: BranchMemory, note: BranchNote): BranchMemory {
  switch (note.kind) {
    case "received": {
      const { kind: _, ...client } = note;
      return { ...without(memory, "rewritten", "guest", "hasOtherLead"), ...client };
    }
    case "fitting": {
      const { compacted } = memory;
      if (compacted === undefined) return memory;
      return { ...memory, compacted: { ...compacted, turns: compacted.turns + 1 } };
    }
    case "view":
      return { ...memory, checked: { view: note.view, turns: turnsOf(memory, note.view) } };
    case "view-valid":
      return { ...memory, checked: { view: note.view, turns: 0 } };
    case "view-invalid":
      return without(memory, "checked");
    case "must-compact":
      return { ...memory, mustCompact: true };
    case "partial-saved":
      return { ...memory, partial: { path: note.path, basis: note.basis } };
    case "partial-told":
      return without(memory, "partial");
    case "wishes-taken":
      return without(memory, "mustCompact", "mustRecover");
    case "compacted": {
      const { level, view } = note;
      const rest = without(memory, "exhaustedTokens", "summary");
      return { ...rest, checked: { view, turns: 0 }, compacted: { turns: 0, level } };
    }
    case "exhausted":
      return { ...memory, exhaustedTokens: note.tokens };
    case "warned":
      return { ...memory, warnedEdits: note.edits };
    case "budget-raised":
      return { ...memory, raisedBudget: note.budget };
    case "tools-undeferrable":
      return { ...memory, undeferrable: note.catalogue };
    case "tools-chosen":
      return { ...memory, toolsChosenFor: note.for };
    case "tools-found":
      return { ...memory, found: { turn: note.turn, names: note.names } };
    case "tools-renamed":
      return { ...memory, renamed: note.names };
    case "summary-ready":
      return { ...memory, summary: { chain: note.chain, text: note.text } };
    case "wants-recovery": {
      const { reason, task = memory.task } = note;
      return { ...memory, mustRecover: reason, ...(task === undefined ? {} : { task }) };
    }
    case "works-on":
      return memory.task === note.task ? memory : { ...memory, task: note.task };
    case "recovered":
      return without(memory, "mustRecover");
    case "counted":
      return note.basis === undefined ? without(memory, "basis") : { ...memory, basis: note.basis };
    case "owes":
      return { ...memory, debtUsd: note.debtUsd };
    case "sized":
      return { ...memory, size: note.size };
    case "ended":
      return afterTurn(memory, note);
  }
}

/** For how many turns messages were only appended to this view. */
function turnsOf({ checked }: BranchMemory, view: ViewMark): number {
  return checked !== undefined && isSameMark(checked.view, view) ? checked.turns + 1 : 0;
}

export function isSameMark(one: ViewMark, other: ViewMark): boolean {
  return one.edits === other.edits && one.last === other.last;
}

function afterTurn(memory: BranchMemory, note: EndedNote): BranchMemory {
  const { tokens, isSmaller, sentLength = memory.sentLength } = note;
  const { pace } = memory;
  const caches = cachesAfter(memory.caches, note);
  return {
    ...memory,
    turns: memory.turns + 1,
    pace:
      pace === undefined || isSmaller ? { turns: 0, tokens } : { ...pace, turns: pace.turns + 1 },
    ...(caches === undefined ? {} : { caches }),
    ...(sentLength === undefined ? {} : { sentLength }),
  };
}

/**
 * Updates the known caches after a turn. A turn renews its target's cache, even if the provider reports nothing about the cache.
 */
function cachesAfter(
  caches: BranchMemory["caches"],
  { target, at, cachedTokens }: EndedNote,
): BranchMemory["caches"] {
  const known = caches?.find((cache) => cache.target === target);
  const tokens = cachedTokens ?? known?.tokens;
  if (tokens === undefined) return caches;
  const others = (caches ?? []).filter((cache) => cache.target !== target);
  return [...others.slice(1 - cachesMax), { target, at, tokens }];
}

export type SessionNote =
  | { readonly kind: "calibrated"; readonly target: string; readonly calibration: Calibration }
  /** The provider refused a request and named no figure, so Plimsoll guesses the window. */
  | { readonly kind: "window-guessed"; readonly target: string; readonly tokens: number }
  /** The provider has named the size of its window. The sizes of requests that it accepted earlier no longer matter. */
  | { readonly kind: "window-named"; readonly target: string }
  | { readonly kind: "took"; readonly target: string; readonly taken: TakenTokens }
  | { readonly kind: "overflowed"; readonly at: number }
  | { readonly kind: "fresh-start" }
  | { readonly kind: "tagged"; readonly run: TagRun }
  | { readonly kind: "opened"; readonly priority?: Priority; readonly task?: string };

export const blankSession: SessionMemory = {
  calibrations: {},
  windows: {},
  taken: {},
  overflows: [],
};

const targetsMax = 50;
const overflowsMax = 16;

export function afterSessionNote(memory: SessionMemory, note: SessionNote): SessionMemory {
  switch (note.kind) {
    case "calibrated":
      return {
        ...memory,
        calibrations: withEntry(memory.calibrations, note.target, note.calibration),
      };
    case "window-guessed":
      return { ...memory, windows: withEntry(memory.windows, note.target, note.tokens) };
    case "window-named":
      return { ...memory, taken: without(memory.taken, note.target) };
    case "took":
      return afterTaken(memory, note.target, note.taken);
    case "overflowed":
      return { ...memory, overflows: [...memory.overflows, note.at].slice(-overflowsMax) };
    case "fresh-start":
      return memory.overflows.length === 0 ? memory : { ...memory, overflows: [] };
    case "tagged":
      return { ...memory, tags: withRun(memory.tags ?? [], note.run) };
    case "opened": {
      const { kind: _kind, ...opened } = note;
      return { ...memory, ...opened };
    }
  }
}

/** Corrects a guessed window that is smaller than the largest request that the provider has accepted. */
function afterTaken(
  { windows, taken, ...memory }: SessionMemory,
  target: string,
  now: TakenTokens,
): SessionMemory {
  const before = taken[target] ?? { input: 0, used: 0, total: 0 };
  const most = {
    input: Math.max(before.input, now.input),
    used: Math.max(before.used, now.used),
    total: Math.max(before.total, now.total),
  };
  const guess = windows[target];
  const isRefuted = guess !== undefined && most.used > guess;
  return {
    ...memory,
    taken: withEntry(taken, target, most),
    windows: isRefuted ? { ...windows, [target]: most.used } : windows,
  };
}

/** Adds an entry and drops the oldest ones, because clients choose the names of targets, so there could be any number of them. */
function withEntry<T>(
  entries: Readonly<Record<string, T>>,
  name: string,
  value: T,
): Readonly<Record<string, T>> {
  const { [name]: _, ...others } = entries;
  const kept = Object.entries(others).slice(1 - targetsMax);
  return Object.fromEntries([...kept, [name, value]]);
}

function without<T extends object, K extends keyof T>(
  value: T,
  ...names: readonly K[]
): Omit<T, K> {
  const { ...rest } = value;
  for (const name of names) delete (rest as Partial<T>)[name];
  return rest;
}
