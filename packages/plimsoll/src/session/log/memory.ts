/**
 * What a conversation remembers from turn to turn beside its messages and edits. A branch and a session have a memory each:
 * plain values that are stored with every turn, so that a restart, an eviction from memory or another process goes on from
 * them. Stages say what happened, in a note; the two reducers below are all that makes a new memory from it.
 *
 * What can be worked out again (a folded view, packed bodies) is no memory.
 */

import type { ByComponent, Calibration } from "../../budget/calibrate.ts";

export interface BranchMemory extends ProviderMemory, CompactionMemory, ToolMemory, ClientMemory {
  /** All turns that have ended. */
  readonly turns: number;
}

/** Of what providers have said and kept. */
export interface ProviderMemory {
  /** What the next projection starts from, once usage was reported. */
  readonly basis?: Basis;
  /** What providers have of this conversation in their caches, the one that was asked last at the end. Absent: none has reported anything. */
  readonly caches?: readonly KnownCache[];
  /** How many messages the last request had that a provider answered. */
  readonly sentLength?: number;
}

/** Of compactions, those that came and those that must come. */
export interface CompactionMemory {
  /** The provider stopped for lack of room, or refused: the next turn compacts, whatever the count says. */
  readonly mustCompact?: boolean;
  /** Why the next turn starts afresh. */
  readonly mustRecover?: string;
  /** Of the caller's own, for a handover. */
  readonly task?: string;
  /** The last compaction: how many turns ago, and how deep. */
  readonly compacted?: { readonly turns: number; readonly level: number };
  /** A compaction that found nothing to take out is not tried again at once. */
  readonly exhaustedTokens?: number;
  /** What a compaction for money's sake has cost and not yet saved, in US dollars. */
  readonly debtUsd?: number;
  /** Turns since the last compaction, and how large the request was then. */
  readonly pace?: { readonly turns: number; readonly tokens: number };
  /** A summary by a model, for the next compaction; it covers everything up to the message with this chain. */
  readonly summary?: { readonly chain: string; readonly text: string };
  /** The view that the validator has seen, and for how many turns it has only grown since. */
  readonly checked?: { readonly view: ViewMark; readonly turns: number };
  /** How many edits held when the model was last told that the window fills. */
  readonly warnedEdits?: number;
}

export interface ToolMemory {
  /** The catalogue of tools that could not be held back without breaking a rule. */
  readonly undeferrable?: string;
  /** What the searches of one turn have found: later ones of the same turn leave it alone. */
  readonly found?: { readonly turn: string; readonly names: readonly string[] };
  /** Names that our tools go by, where a client has taken the usual ones and that was announced. */
  readonly renamed?: string;
}

/** Of the last request. */
export interface ClientMemory {
  /** The client has replaced its newest messages: from which message on, and how many. */
  readonly rewritten?: Rewritten;
  /** The tenant that asked last, where it is not the session's own: it has every word of the branch. */
  readonly guest?: string;
  /** Its client sends other leading system messages than those that the log has. */
  readonly hasOtherLead?: boolean;
}

export interface SessionMemory {
  /** By target. */
  readonly calibrations: Readonly<Record<string, Calibration>>;
  /** By target: what a provider that gave no figure was found to refuse. */
  readonly windows: Readonly<Record<string, number>>;
  /** By target: the most that its provider took of this session. */
  readonly taken: Readonly<Record<string, TakenTokens>>;
  /** When the chain failed or a provider rejected, lately. */
  readonly overflows: readonly number[];
}

/** The last request whose usage was reported: what it came to, and what we had counted for it. */
export interface Basis {
  readonly inputTokens: number;
  readonly estimated: ByComponent;
  readonly target: string;
}

/** A view by its edits, but for what the model has looked up: how many, and the last of them. */
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
  /** With the answer that was given. */
  readonly used: number;
  /** With the answer that the request asked for: not every server keeps room for that. */
  readonly total: number;
}

export type BranchNote =
  /** A request joined the branch. */
  | ({ readonly kind: "received" } & ClientMemory)
  | { readonly kind: "fitting" }
  /** The view that a turn begins with. */
  | { readonly kind: "view"; readonly view: ViewMark }
  /** The validator has found a view valid that edits have just made. */
  | { readonly kind: "view-valid"; readonly view: ViewMark }
  | { readonly kind: "view-invalid" }
  | { readonly kind: "must-compact" }
  /** What was wanted of a compaction was tried: a wish that Plimsoll cannot meet must not come again with every turn. */
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
  /** The provider has counted a request; undefined: its count cannot be meant. */
  | { readonly kind: "counted"; readonly basis: Basis | undefined }
  | { readonly kind: "owes"; readonly debtUsd: number }
  | EndedNote;

/** A turn has ended. */
export interface EndedNote {
  readonly kind: "ended";
  readonly target: string;
  readonly at: number;
  readonly tokens: number;
  /** It was compacted. */
  readonly isSmaller: boolean;
  /** What the provider has cached now; undefined: it does not say. */
  readonly cachedTokens?: number | undefined;
  /** Of the request, where the provider answered it. */
  readonly sentLength?: number;
}

export const blankBranch: BranchMemory = { turns: 0 };

/** Models that one conversation goes to and fro between. */
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

/** For how many turns a view has only grown. */
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

/** A provider that reports nothing has read it all the same: what it has lives on. */
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
  /** A refusal without a figure. */
  | { readonly kind: "window-guessed"; readonly target: string; readonly tokens: number }
  /** The provider has said how large its window is: what it took before says no more. */
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

/** What a provider took, its window holds: a guess that it holds less, after a refusal without figures, is refuted. */
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

/** The names of targets come from clients: the oldest give way. */
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
