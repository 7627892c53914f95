/** Every event that Plimsoll emits. Published as `plimsoll/events`: types only, for dashboards and tools. */

import type { Usage } from "./message.ts";
import type { Receipt } from "./receipt.ts";
import type { Priority } from "./unit.ts";

export type { Receipt } from "./receipt.ts";

/** Tokens by component, and how reliable the figures are. */
export interface MeasurementSummary {
  readonly system: number;
  readonly skills: number;
  readonly tools: number;
  readonly conversation: number;
  readonly total: number;
  /**
   * "exact": counted with the provider's own tokenizer. "estimate": corrected by reported usage. "bound": deliberately high, by a
   * tested margin.
   */
  readonly certainty: "exact" | "estimate" | "bound";
}

export type Outcome = "passthrough" | "edited" | "compacted" | "recovered" | "final" | "refused";
/** How a request relates to the conversation that Plimsoll already knows. */
export type Relation =
  | "new"
  | "extends"
  | "retry"
  | "rewind"
  | "edited"
  | "compacted"
  | "fork"
  /** The provider keeps the earlier messages, and Plimsoll does not know them. */
  | "continues";
export type TurnStatus = "complete" | "incomplete" | "failed" | "aborted";

interface Base {
  readonly session: string;
  /** Milliseconds since 1970. For display only; `seq` gives the order. */
  readonly at: number;
}

export interface SessionStartEvent extends Base {
  readonly type: "session-start";
  readonly agent?: string;
  /** Name of the program that sent the request, and the folder in which its agent works. Absent if they are not known. */
  readonly client?: string;
  readonly folder?: string;
  readonly wire: string;
}

export interface BranchStartEvent extends Base {
  readonly type: "branch-start";
  readonly branch: string;
  readonly relation: Relation;
}

export interface TurnStartEvent extends Base {
  readonly type: "turn-start";
  readonly agent?: string;
  readonly turn: string;
  readonly branch: string;
  readonly model: string;
  readonly newMessages: number;
  readonly measurement: MeasurementSummary;
  readonly limit: number;
  /**
   * Tokens that no compaction can remove. Present only if the limit was raised to make room for them. The fill level is then
   * computed without them, as (tokens − headTokens) / (limit − headTokens).
   */
  readonly headTokens?: number;
  /** The priority that the client asked for. */
  readonly priority?: Priority;
}

export interface TurnEndEvent extends Base {
  readonly type: "turn-end";
  readonly agent?: string;
  readonly turn: string;
  readonly branch: string;
  /** Name of the provider in the configuration. Absent in the oldest events. */
  readonly provider?: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  /** Tokens of the request that Plimsoll sent. */
  readonly measurement: MeasurementSummary;
  /** Tokens of the request as the client sent it. */
  readonly tokensBefore: number;
  /** The title of the session. Only in the first turn of a conversation, because it does not change. */
  readonly title?: string;
  /** Tokens in the window after the turn: the request and its answer. Absent in events of earlier versions. */
  readonly windowTokens?: number;
  readonly limit: number;
  /**
   * Tokens that no compaction can remove. Present only if the limit was raised to make room for them. The fill level is then
   * computed without them, as (tokens − headTokens) / (limit − headTokens).
   */
  readonly headTokens?: number;
  /** The limit that the window alone would give. Present only if a lower limit of the user applies. */
  readonly windowLimit?: number;
  /** Size of the window in tokens. Absent in the oldest events. */
  readonly window?: number;
  /** Set if the window size is a guess, because neither the configuration nor the catalogue nor the provider states it. */
  readonly isWindowGuess?: true;
  /** The priority that the client asked for. */
  readonly priority?: Priority;
  /** The id of the `plimsoll run` that started the client. */
  readonly run?: string;
  /** Usage of all rounds together. */
  readonly usage?: Usage;
  /** Cost of all rounds by reported usage, in US dollars. Absent if prices or usage are unknown. */
  readonly usd?: number;
  /** Estimated saving: the tokens that were not sent, at the price of cached tokens. */
  readonly savedUsd?: number;
  /** Number of inner rounds, which the client does not see. */
  readonly innerRounds?: number;
  /** Why the model stopped, in the provider's own term. */
  readonly stopReason?: string;
  readonly error?: string;
}

/** The model called one of Plimsoll's own tools and got an answer. */
export interface OwnCallEvent extends Base {
  readonly type: "own-call";
  readonly turn: string;
  readonly tool: string;
  /** Tokens of the answer. */
  readonly tokens: number;
  readonly isError: boolean;
  /** Duration of the call, which ended at `at`. Absent if only the start of the turn is known. */
  readonly milliseconds?: number;
}

/** A client's tool has the same name as one of Plimsoll's own tools, so Plimsoll's tools use these names instead. */
export interface OwnToolsRenamedEvent extends Base {
  readonly type: "own-tools-renamed";
  readonly turn: string;
  readonly names: readonly string[];
}

/** The conversation has grown past the warning threshold. Sent once each time it crosses the threshold. */
export interface ContextWarningEvent extends Base {
  readonly type: "context-warning";
  readonly turn: string;
  /** Share of the limit that is used. */
  readonly filled: number;
  readonly limit: number;
}

/**
 * System prompt and tools take more than half of a budget, even after some tools were deferred. Plimsoll uses a higher limit
 * instead. Sent once per session and budget.
 */
export interface BudgetRaisedEvent extends Base {
  readonly type: "budget-raised";
  readonly turn: string;
  /** The budget that the configuration sets, or the default budget. */
  readonly budget: number;
  /** The limit that applies instead. */
  readonly limit: number;
  /** Tokens of system prompt and tools. */
  readonly preambleTokens: number;
}

/** The phase of a compaction. The first phase is "detection". The last is "success", or "handover" if there was a "recovery". */
export type CompactionPhase =
  | "detection"
  | "summarize-old"
  | "prioritize-recent"
  | "content-chunking"
  | "discard-low-rel"
  | "hybrid"
  | "success"
  | "recovery"
  | "handover"
  /** The compaction has ended, and the request still does not fit, or nothing was removed. */
  | "failed";

/** A running compaction has entered a phase. These events are live only: they are not stored and have no number. */
export interface ContextBreakingUpdateEvent extends Base {
  readonly type: "context-breaking-update";
  readonly turn: string;
  readonly branch: string;
  readonly phase: CompactionPhase;
  /** Share of the limit in use, in percent from 0 to 100. −1 during recovery. */
  readonly progress: number;
  /** A sentence about the phase, for people. */
  readonly message: string;
  readonly tokens: number;
  readonly limit: number;
  /** The strategy that is being tried. */
  readonly strategy?: string;
  /**
   * The highest priority in the conversation, with the area of `priority_areas` if the conversation mentions one. Without `area`,
   * the caller gave the priority. Absent if there is neither.
   */
  readonly priority?: { readonly level: Priority; readonly area?: string };
}

export interface CompactionEndEvent extends Base {
  readonly type: "compaction-end";
  readonly turn: string;
  readonly branch: string;
  readonly reason: string;
  /** Names of the strategies whose proposals were accepted, in order. */
  readonly strategies: readonly string[];
  readonly edits: readonly number[];
  readonly handles: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of messages that the model no longer sees. */
  readonly messagesTakenOut: number;
  /** Estimated immediate cost, and estimated saving over the expected turns. Absent if prices are unknown. */
  readonly worth?: { readonly priceUsd: number; readonly savedUsd: number };
  readonly receipt: Receipt;
}

/**
 * A model wrote a summary for the next compaction. The check accepted it, repaired it, or replaced it with Plimsoll's own
 * summary.
 */
export interface SummaryPreparedEvent extends Base {
  readonly type: "summary-prepared";
  readonly turn: string;
  readonly verdict: "passes" | "patched" | "replaced";
  readonly reason?: string;
}

/** The conversation started afresh. A handover replaces the earlier messages. */
export interface RecoveryEvent extends Base {
  readonly type: "recovery";
  readonly turn: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The fallbacks, from best to worst: the last valid view, truncation, the client's original, the provider's own error. */
export type Rung = "view" | "truncation" | "original" | "overflow";

/** Something inside Plimsoll failed, and the request went on with a fallback. */
export interface DegradedEvent extends Base {
  readonly type: "degraded";
  readonly turn: string;
  readonly rung: Rung;
  readonly reason: string;
}

/** Another provider answered, because the conversation's own provider was full or overloaded. */
export interface FailoverEvent extends Base {
  readonly type: "failover";
  readonly turn: string;
  /** The targets, as `provider/model`. */
  readonly from: string;
  readonly to: string;
  /** Fields and content of the request that only the first provider could use. */
  readonly leftOut: readonly string[];
}

/** A provider refused a conversation as too long. */
export interface OverflowEvent extends Base {
  readonly type: "overflow";
  readonly turn: string;
  /** Number of times that this turn had been sent when the provider refused it. */
  readonly attempt: number;
  readonly limitTokens?: number;
  readonly needTokens?: number;
  readonly isRetried: boolean;
}

/** The guard stepped in: either the model must give its final answer without tools, or the turn is refused. */
export interface GuardEnforcedEvent extends Base {
  readonly type: "guard-enforced";
  readonly turn: string;
  readonly action: "final" | "refused";
  readonly reason: "context";
  readonly tokens: number;
  readonly limit: number;
}

/** Somebody changed the view by hand. */
export interface ViewSteeredEvent extends Base {
  readonly type: "view-steered";
  readonly branch: string;
  readonly action: "undo" | "restore" | "checkpoint" | "pin" | "release";
  readonly edits: readonly number[];
  /** Tokens in the window now, and the limit. Absent in events of earlier versions, and before the first turn. */
  readonly tokens?: number;
  readonly limit?: number;
}

/** Storage failed. The turn went on; Plimsoll keeps the unwritten data in memory and tries again. */
export interface StoreErrorEvent extends Base {
  readonly type: "store-error";
  readonly message: string;
}

/**
 * A session or the whole database was damaged on disk. `message` says what Plimsoll did about it. `session` is empty if the
 * database was damaged.
 */
export interface StoreSpoiltEvent extends Base {
  readonly type: "store-spoilt";
  readonly message: string;
}

/** The client's tools take too much of the window. From now on some are deferred, and the model finds them with `tool_search`. */
export interface ToolsDeferredEvent extends Base {
  readonly type: "tools-deferred";
  readonly turn: string;
  readonly shown: number;
  readonly deferred: number;
  /** Tokens of all tools before the deferral, and of the remaining tools after it. Both include Plimsoll's own tools. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The model searched for tools. The tools it found are sent from now on. */
export interface ToolsLoadedEvent extends Base {
  readonly type: "tools-loaded";
  readonly turn: string;
  readonly names: readonly string[];
  /** Tokens that the provider must read again because the tools come before them. 0 if the provider loads the tools itself. */
  readonly rereadTokens: number;
  /** Estimated cost of reading them again, in US dollars. Absent if prices are unknown. */
  readonly priceUsd?: number;
}

/** A session was deleted, with all that belongs to it. */
export interface SessionForgottenEvent extends Base {
  readonly type: "session-forgotten";
  /** Whether a person deleted it, or the setting `retention`. */
  readonly by: "hand" | "retention";
  readonly messages: number;
  readonly archiveEntries: number;
  /** Bytes of the deleted content, as they were stored. */
  readonly bytes: number;
}

/** By the setting `retention`, even this session, the newest, would be deleted. Plimsoll keeps it. */
export interface RetentionSparedEvent extends Base {
  readonly type: "retention-spared";
  readonly message: string;
}

/**
 * The owner changed settings of the running service, for example in the dashboard. These events are live only. They belong to no
 * session, so `session` is empty.
 */
export interface SettingsChangedEvent extends Base {
  readonly type: "settings-changed";
}

/** The status of a task changed, or somebody reported on it. Includes new tasks. */
export interface TasksChangedEvent extends Base {
  readonly type: "tasks-changed";
  readonly taskId: string;
  readonly newStatus: string;
}

export interface TicketsChangedEvent extends Base {
  readonly type: "tickets-changed";
  readonly ticketId: string;
  readonly action: "create" | "update" | "delete" | "resolve";
}

/** An answer stopped before it was complete. The events of tasks and tickets follow from it. */
export interface AnswerCutEvent extends Base {
  readonly type: "answer-cut";
  readonly turn: string;
  readonly end: "full_length" | "window_full" | "silent" | "broken";
  /** Tokens that arrived. */
  readonly tokens: number;
  /** How much of the answer arrived, from 0 to 1. Absent if nothing tells it. */
  readonly share?: number;
  /** The share in words, and where it comes from. */
  readonly basis: string;
  /** followed-up: a task completes it. compressed: it can be asked again. escalated: a person decides. seen: its client asks again. */
  readonly outcome: "followed-up" | "compressed" | "escalated" | "seen";
  /** The file with the part that arrived, or why there is none. */
  readonly partial?: string;
  readonly problem?: string;
  readonly task?: string;
  readonly followUp?: string;
  readonly ticket?: string;
}

/** An agent began to work, became idle, or failed. Not stored: it follows from the turns. */
export interface AgentStateChangedEvent extends Base {
  readonly type: "agent-state-changed";
  readonly agentName: string;
  readonly state: "idle" | "busy" | "error";
}

export type PlimsollEvent =
  | AnswerCutEvent
  | TasksChangedEvent
  | TicketsChangedEvent
  | AgentStateChangedEvent
  | SettingsChangedEvent
  | SessionStartEvent
  | BranchStartEvent
  | TurnStartEvent
  | TurnEndEvent
  | OwnCallEvent
  | OwnToolsRenamedEvent
  | ToolsDeferredEvent
  | ToolsLoadedEvent
  | ContextWarningEvent
  | BudgetRaisedEvent
  | ContextBreakingUpdateEvent
  | CompactionEndEvent
  | RecoveryEvent
  | SummaryPreparedEvent
  | DegradedEvent
  | OverflowEvent
  | FailoverEvent
  | GuardEnforcedEvent
  | ViewSteeredEvent
  | StoreErrorEvent
  | StoreSpoiltEvent
  | SessionForgottenEvent
  | RetentionSparedEvent;

export type PlimsollEventType = PlimsollEvent["type"];

/** An event as subscribers get it. Only stored events have a number, and only those can be requested again. */
export interface EmittedEvent {
  readonly seq?: number;
  readonly tenant: string;
  readonly event: PlimsollEvent;
}
