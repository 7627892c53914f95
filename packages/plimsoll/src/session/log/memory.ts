/**
 * What a conversation remembers from turn to turn, apart from its messages and edits. Each branch and each session has its own
 * memory. A memory is a plain value that is stored with every turn, so that a restart, an eviction from memory or another
 * process continues from it. Stages report what happened in a note. Only the two reducers below turn notes into a new memory.
 *
 * Anything that can be computed again (a folded view, packed bodies) does not belong here.
 */

import type { ByComponent, Calibration } from "../../budget/calibrate.ts";

export interface BranchMemory extends ProviderMemory, CompactionMemory, ToolMemory, ClientMemory {
  /** Number of turns that have ended. */
  readonly turns: number;
}

/** What providers have reported and cached. */
export interface ProviderMemory {
  /** The starting point of the next projection, once a provider has reported usage. */
  readonly basis?: Basis;
  /**
   * The providers' caches of this conversation. The provider that was asked last comes last. Absent: none has reported
   * anything.
   */
  readonly caches?: readonly KnownCache[];
  /** Number of messages in the last request that a provider answered. */
  readonly sentLength?: number;
}

/** Past compactions, and those that are due. */
export interface CompactionMemory {
  /** The provider stopped for lack of room, or refused. The next turn compacts, even if the count says that it fits. */
  readonly mustCompact?: boolean;
  /** The reason why the next turn starts afresh. */
  readonly mustRecover?: string;
  /** The task in the caller's own words, for a handover. */
  readonly task?: string;
  /** The last compaction: the number of turns since then, and its level (see make-smaller.ts; a higher one takes more out). */
  readonly compacted?: { readonly turns: number; readonly level: number };
  /** Size of the request when a compaction found nothing to take out. Plimsoll does not try again until it has grown. */
  readonly exhaustedTokens?: number;
  /** In US dollars: the cost of compactions that were made to save money, less their savings so far. */
  readonly debtUsd?: number;
  /** Number of turns since the last compaction, and the size of the request right after that compaction. */
  readonly pace?: { readonly turns: number; readonly tokens: number };
  /** A model's summary for the next compaction. It covers everything up to the message with this chain. */
  readonly summary?: { readonly chain: string; readonly text: string };
  /** The view of the last turn, and the number of turns in which messages were only appended to it. */
  readonly checked?: { readonly view: ViewMark; readonly turns: number };
  /** Number of active edits when Plimsoll last warned the model that the window is filling up. */
  readonly warnedEdits?: number;
}

export interface ToolMemory {
  /** The catalogue of tools that Plimsoll could not defer without breaking a rule. */
  readonly undeferrable?: string;
  /** Tools that the searches of one turn have found. Later searches of the same turn do not push them out. */
  readonly found?: { readonly turn: string; readonly names: readonly string[] };
  /** The names of Plimsoll's tools, if the client's tools already use the default names. Set once this was announced. */
  readonly renamed?: string;
}

/** Facts about the last request. */
export interface ClientMemory {
  /** Set if the client replaced its newest messages: the index of the first one, and their number without answers. */
  readonly rewritten?: Rewritten;
  /** The tenant that asked last, if it is not the session's own. It has shown that it knows every word of the branch. */
  readonly guest?: string;
  /** The client sends other leading system messages than those in the log. */
  readonly hasOtherLead?: boolean;
}

export interface SessionMemory {
  /** Corrections of token counts, by target. */
  readonly calibrations: Readonly<Record<string, Calibration>>;
  /** By target: the window that Plimsoll assumes after the provider refused a request without naming a figure. */
  readonly windows: Readonly<Record<string, number>>;
  /** By target: the size of the largest request that its provider has accepted from this session. */
  readonly taken: Readonly<Record<string, TakenTokens>>;
  /** Times of recent failures of the chain, and of recent rejections by a provider. */
  readonly overflows: readonly number[];
}

/** The last request whose usage was reported: the reported tokens, and Plimsoll's own count. */
export interface Basis {
  readonly inputTokens: number;
  readonly estimated: ByComponent;
  readonly target: string;
}

/** Identifies a view by its edits, without lookups: the count of these edits, and the number of the last edit. */
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
  /** Tokens of the input plus the answer that was given. */
  readonly used: number;
  /** Tokens of the input plus the answer length that the request asked for. Not every server reserves room for that length. */
  readonly total: number;
}

export type BranchNote =
  /** A request joined the branch. */
  | ({ readonly kind: "received" } & ClientMemory)
  | { readonly kind: "fitting" }
  /** The view at the beginning of a turn. */
  | { readonly kind: "view"; readonly view: ViewMark }
  /** Edits have just made a view, and the validator has found it valid. */
  | { readonly kind: "view-valid"; readonly view: ViewMark }
  | { readonly kind: "view-invalid" }
  | { readonly kind: "must-compact" }
  /** A compaction that was due has been tried. It is no longer due, even if it failed, so that it is not tried every turn. */
  | { readonly kind: "wishes-taken" }
  | { readonly kind: "compacted"; readonly level: number; readonly view: ViewMark }
  | { readonly kind: "exhausted"; readonly tokens: number }
  | { readonly kind: "warned"; readonly edits: number }
  | { readonly kind: "tools-undeferrable"; readonly catalogue: string }
  | { readonly kind: "tools-found"; readonly turn: string; readonly names: readonly string[] }
  | { readonly kind: "tools-renamed"; readonly names: string }
  | { readonly kind: "summary-ready"; readonly chain: string; readonly text: string }
  | { readonly kind: "wants-recovery"; readonly reason: string; readonly task?: string }
  | { readonly kind: "recovered" }
  /** The provider has counted a request. Undefined: its count is implausible. */
  | { readonly kind: "counted"; readonly basis: Basis | undefined }
  | { readonly kind: "owes"; readonly debtUsd: number }
  | EndedNote;

/** A turn has ended. */
export interface EndedNote {
  readonly kind: "ended";
  readonly target: string;
  readonly at: number;
  readonly tokens: number;
  /** The request was compacted. */
  readonly isSmaller: boolean;
  /** Tokens that the provider has cached now. Undefined: it does not say. */
  readonly cachedTokens?: number | undefined;
  /** Number of messages in the request, if the provider answered it. */
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
    case "tools-undeferrable":
      return { ...memory, undeferrable: note.catalogue };
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
    case "recovered":
      return without(memory, "mustRecover");
    case "counted":
      return note.basis === undefined ? without(memory, "basis") : { ...memory, basis: note.basis };
    case "owes":
      return { ...memory, debtUsd: note.debtUsd };
    case "ended":
      return afterTurn(memory, note);
  }
}

/** Number of turns in which messages were only appended to a view. */
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

/** Reading a cache keeps it alive, even if the provider does not report it. */
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
  /** The provider refused a request without naming a figure. */
  | { readonly kind: "window-guessed"; readonly target: string; readonly tokens: number }
  /** The provider has named the size of its window, so the sizes that it accepted before no longer matter. */
  | { readonly kind: "window-named"; readonly target: string }
  | { readonly kind: "took"; readonly target: string; readonly taken: TakenTokens }
  | { readonly kind: "overflowed"; readonly at: number }
  | { readonly kind: "fresh-start" };

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
  }
}

/** A window is at least as large as the largest request that its provider accepted. A lower guess is corrected. */
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

/** Clients choose the names of targets, so the list is bounded. The oldest entries are dropped. */
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
