/** Every event that Plimsoll emits. Published as `plimsoll/events`: types only, for dashboards and tools. */

import type { Usage } from "./message.ts";
import type { Receipt } from "./receipt.ts";
import type { Priority } from "./unit.ts";

export type { Receipt } from "./receipt.ts";

/** Tokens by component, and how far the figures can be trusted. */
export interface MeasurementSummary {
  readonly system: number;
  readonly skills: number;
  readonly tools: number;
  readonly conversation: number;
  readonly total: number;
  /** exact: the provider's own tokenizer; estimate: corrected by reported usage; bound: on the safe side of the truth, by a tested margin. */
  readonly certainty: "exact" | "estimate" | "bound";
}

export type Outcome = "passthrough" | "edited" | "compacted" | "recovered" | "final" | "refused";
/** How a request relates to what was known of its conversation. */
export type Relation =
  | "new"
  | "extends"
  | "retry"
  | "rewind"
  | "edited"
  | "compacted"
  | "fork"
  /** The provider holds what came before, and we do not know it. */
  | "continues";
export type TurnStatus = "complete" | "incomplete" | "failed" | "aborted";

interface Base {
  readonly session: string;
  /** Milliseconds since 1970. For reading only: order is by `seq`. */
  readonly at: number;
}

export interface SessionStartEvent extends Base {
  readonly type: "session-start";
  readonly agent?: string;
  readonly wire: string;
}

export interface BranchStartEvent extends Base {
  readonly type: "branch-start";
  readonly branch: string;
  readonly relation: Relation;
}

export interface TurnStartEvent extends Base {
  readonly type: "turn-start";
  readonly turn: string;
  readonly branch: string;
  readonly model: string;
  readonly newMessages: number;
  readonly measurement: MeasurementSummary;
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that: how full it is, is the share of the room beside it. */
  readonly headTokens?: number;
  /** As the client asked for. */
  readonly priority?: Priority;
}

export interface TurnEndEvent extends Base {
  readonly type: "turn-end";
  readonly turn: string;
  readonly branch: string;
  /** As it is configured. Absent in the oldest events. */
  readonly provider?: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  /** Of what was sent. */
  readonly measurement: MeasurementSummary;
  /** What the client's own request would have taken. */
  readonly tokensBefore: number;
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that: how full it is, is the share of the room beside it. */
  readonly headTokens?: number;
  /** Absent in the oldest events. */
  readonly window?: number;
  /** Nobody has said how large the window is: it is the usual one. */
  readonly isWindowGuess?: true;
  /** As the client asked for. */
  readonly priority?: Priority;
  /** Of all rounds together. */
  readonly usage?: Usage;
  /** Of all rounds, in US dollars, by what was reported; absent where prices or usage are unknown. */
  readonly usd?: number;
  /** What was not sent, at the price of the cache: an estimate. */
  readonly savedUsd?: number;
  /** Rounds with the upstream that the client does not know of. */
  readonly innerRounds?: number;
  /** Why the model stopped, in the provider's own word. */
  readonly stopReason?: string;
  readonly error?: string;
}

/** The model called a tool of ours, and was answered. */
export interface OwnCallEvent extends Base {
  readonly type: "own-call";
  readonly turn: string;
  readonly tool: string;
  /** Of the answer. */
  readonly tokens: number;
  readonly isError: boolean;
  /** How long it took, up to `at`; absent where the turn's beginning is all that is known. */
  readonly milliseconds?: number;
}

/** A tool of the client's has a name of ours: ours go by these. */
export interface OwnToolsRenamedEvent extends Base {
  readonly type: "own-tools-renamed";
  readonly turn: string;
  readonly names: readonly string[];
}

/** The conversation has grown past the warning; once per crossing. */
export interface ContextWarningEvent extends Base {
  readonly type: "context-warning";
  readonly turn: string;
  /** Share of the limit. */
  readonly filled: number;
  readonly limit: number;
}

/** Where a compaction is. The first is entered when one begins; success, or recovery and handover, end it. */
export type CompactionPhase =
  | "detection"
  | "summarize-old"
  | "prioritize-recent"
  | "content-chunking"
  | "discard-low-rel"
  | "hybrid"
  | "success"
  | "recovery"
  | "handover";

/** A compaction runs: one of these for each phase that it enters. Only live: they are not stored, and have no number. */
export interface ContextBreakingUpdateEvent extends Base {
  readonly type: "context-breaking-update";
  readonly turn: string;
  readonly branch: string;
  readonly phase: CompactionPhase;
  /** How full the window is by now, 0 to 100; −1 in recovery. */
  readonly progress: number;
  /** For people. */
  readonly message: string;
  readonly tokens: number;
  readonly limit: number;
  /** The strategy that is tried. */
  readonly strategy?: string;
  /** The highest area of `priority_areas` that the conversation mentions; absent where there is none. */
  readonly priority?: { readonly level: Priority; readonly area: string };
}

export interface CompactionEndEvent extends Base {
  readonly type: "compaction-end";
  readonly turn: string;
  readonly branch: string;
  readonly reason: string;
  /** Those whose proposals were taken, in order. */
  readonly strategies: readonly string[];
  readonly edits: readonly number[];
  readonly handles: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Messages that the model no longer sees. */
  readonly messagesTakenOut: number;
  /** What it costs at once, and saves over the turns that are expected: estimated, where prices are known. */
  readonly worth?: { readonly priceUsd: number; readonly savedUsd: number };
  readonly receipt: Receipt;
}

/** A model wrote a summary for the next compaction; the gate let it pass, mended it, or wrote its own. */
export interface SummaryPreparedEvent extends Base {
  readonly type: "summary-prepared";
  readonly turn: string;
  readonly verdict: "passes" | "patched" | "replaced";
  readonly reason?: string;
}

/** The conversation started afresh, with a handover in place of what came before. */
export interface RecoveryEvent extends Base {
  readonly type: "recovery";
  readonly turn: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** How far down: the last valid view, truncation, the client's original, the provider's own error. */
export type Rung = "view" | "truncation" | "original" | "overflow";

/** Something of ours failed, and the request went on by a lesser way. */
export interface DegradedEvent extends Base {
  readonly type: "degraded";
  readonly turn: string;
  readonly rung: Rung;
  readonly reason: string;
}

/** A provider said that the conversation is too long. */
export interface OverflowEvent extends Base {
  readonly type: "overflow";
  readonly turn: string;
  /** How often this turn had been sent. */
  readonly attempt: number;
  readonly limitTokens?: number;
  readonly needTokens?: number;
  readonly isRetried: boolean;
}

/** The guard ended the conversation's free course: no tools any more, or not even this turn. */
export interface GuardEnforcedEvent extends Base {
  readonly type: "guard-enforced";
  readonly turn: string;
  readonly action: "final" | "refused";
  readonly reason: "context";
  readonly tokens: number;
  readonly limit: number;
}

/** Somebody steered the view by hand. */
export interface ViewSteeredEvent extends Base {
  readonly type: "view-steered";
  readonly branch: string;
  readonly action: "undo" | "restore" | "checkpoint" | "pin" | "release";
  readonly edits: readonly number[];
}

/** Storage failed: the turn went on, and what could not be written is kept in memory and tried again. */
export interface StoreErrorEvent extends Base {
  readonly type: "store-error";
  readonly message: string;
}

/** The disk has spoilt a session, or the database: what became of it. `session` is empty where it was the database. */
export interface StoreSpoiltEvent extends Base {
  readonly type: "store-spoilt";
  readonly message: string;
}

/** Tools of the client's take too much of the window: some are held back from now on, and found by `tool_search`. */
export interface ToolsDeferredEvent extends Base {
  readonly type: "tools-deferred";
  readonly turn: string;
  readonly shown: number;
  readonly deferred: number;
  /** Of all tools, and of those that are told, ours among them. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The model searched for tools, and these are told from now on. */
export interface ToolsLoadedEvent extends Base {
  readonly type: "tools-loaded";
  readonly turn: string;
  readonly names: readonly string[];
  /** What the provider had read and must read again, for the tools stand before it; 0 where the provider loads them itself. */
  readonly rereadTokens: number;
  /** What that costs, in US dollars: an estimate, where prices are known. */
  readonly priceUsd?: number;
}

export type PlimsollEvent =
  | SessionStartEvent
  | BranchStartEvent
  | TurnStartEvent
  | TurnEndEvent
  | OwnCallEvent
  | OwnToolsRenamedEvent
  | ToolsDeferredEvent
  | ToolsLoadedEvent
  | ContextWarningEvent
  | ContextBreakingUpdateEvent
  | CompactionEndEvent
  | RecoveryEvent
  | SummaryPreparedEvent
  | DegradedEvent
  | OverflowEvent
  | GuardEnforcedEvent
  | ViewSteeredEvent
  | StoreErrorEvent
  | StoreSpoiltEvent;

export type PlimsollEventType = PlimsollEvent["type"];

/** An event as subscribers get it. Only stored events have a number; they can be asked for again. */
export interface EmittedEvent {
  readonly seq?: number;
  readonly tenant: string;
  readonly event: PlimsollEvent;
}
