/**
 * The answers of /api, for programs that watch and steer sessions. Events are in event.ts. Published as `plimsoll/api`: types
 * only, for dashboards and tools.
 */

import type { Edit } from "./edit.ts";
import type { AgentStateChangedEvent, MeasurementSummary, Outcome, TurnStatus } from "./event.ts";
import type { Role, Usage } from "./message.ts";
import type { Priority, UnitType } from "./unit.ts";

/** One page of a list. `next` is present if there are more items; pass it as `after` to get the next page. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly next?: string | number;
}

/** One turn in the history of a session. */
export interface TurnPoint {
  readonly id: string;
  readonly branch: string;
  readonly at: number;
  readonly endedAt: number;
  readonly provider?: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  readonly error?: string;
  /** Tokens of the request that Plimsoll sent, by component. */
  readonly measurement: MeasurementSummary;
  /** Tokens of the request as the client sent it. */
  readonly tokensBefore?: number;
  readonly limit: number;
  /**
   * Tokens that no compaction can remove. Present only if the limit was raised to make room for them. The fill level is then
   * computed without them, as (tokens − headTokens) / (limit − headTokens).
   */
  readonly headTokens?: number;
  /** The limit that the window alone would give. Present only if a lower limit of the user applies. */
  readonly windowLimit?: number;
  readonly window: number;
  /** Set if the window size is a guess, because neither the configuration nor the catalogue nor the provider states it. */
  readonly isWindowGuess?: true;
  readonly priority?: Priority;
  readonly usage?: Usage;
  /** Cost of the turn in US dollars. Absent if usage or prices are unknown. */
  readonly usd?: number;
  readonly savedUsd?: number;
}

/** One row of `GET /api/sessions`. */
export interface SessionRow {
  readonly id: string;
  readonly tenant: string;
  readonly wire: string;
  readonly agent?: string;
  /** The client's own name for the conversation. */
  readonly clientKey?: string;
  /** The user's first words, on one line of at most 80 characters. */
  readonly title?: string;
  /** Name of the client, such as "Claude Code". */
  readonly client?: string;
  /** The folder in which the agent works. */
  readonly folder?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly branches: number;
  readonly messages: number;
  readonly turns: number;
  /** Tokens in the window now. The picture of the window, `/view` and `plimsoll inspect` give the same figure. */
  readonly tokens?: number;
  readonly lastTurn?: TurnPoint;
}

/** One row of `GET /api/agents`: all sessions with the same agent name. Clients send that name in `x-plimsoll-agent`. */
export interface AgentRow {
  /** Name of the agent. If the client gave none, the name of the client. Empty if that is not known either. */
  readonly agent: string;
  readonly sessions: number;
  readonly turns: number;
  readonly updatedAt: number;
  /** Id of the agent's newest session. `lastTurn` shows how full the window of that session is. */
  readonly newest: string;
  /** Tokens in the window of that session. */
  readonly tokens?: number;
  readonly lastTurn?: TurnPoint;
  /** The limit for this agent, as set in `context_config.per_agent`. */
  readonly limit?: number;
  /** Busy while one of its turns runs, in error after a turn failed, otherwise idle. */
  readonly state: AgentStateChangedEvent["state"];
}

export type TaskStatus =
  | "pending"
  | "in_progress"
  | "partial"
  | "blocked_awaiting_feedback"
  | "done"
  | "verified"
  | "failed";

/** One item of `GET /api/tasks`. */
export interface Task {
  /** `T-` and a number. */
  readonly id: string;
  /** Grows by one with each change. */
  readonly revision: number;
  readonly title: string;
  readonly description: string;
  readonly status: TaskStatus;
  readonly priority: Priority;
  /** The task that this one continues or belongs to. */
  readonly parent?: string;
  /** How much is done, in percent. */
  readonly progress?: number;
  /** What the last report said. */
  readonly note?: string;
  /** The session in which the task came up. Empty if there is none. */
  readonly session: string;
  readonly agent?: string;
  readonly context?: TaskContext;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a follow-up task needs to go on with a cut answer. */
export interface TaskContext {
  /** The file with the part of the answer that arrived. */
  readonly partialCodePath?: string;
  /** How much of the answer arrived, from 0 to 1. */
  readonly completionPercent?: number;
  readonly originalPrompt?: string;
}

export type TicketType = "question" | "investigation" | "issue";
export type TicketStatus = "open" | "resolved";

export interface TicketAnswer {
  readonly text: string;
  /** Who answered: `user`, or the name of an agent. */
  readonly by: string;
  readonly at: number;
}

/** One item of `GET /api/tickets`. */
export interface Ticket {
  /** `TK-` and a number. */
  readonly id: string;
  /** Grows by one with each change. */
  readonly revision: number;
  readonly type: TicketType;
  readonly title: string;
  readonly description: string;
  /** The task to which the ticket belongs. */
  readonly task?: string;
  /** Who has to act: `user`, or the name of an agent. */
  readonly assignee: string;
  readonly status: TicketStatus;
  readonly answers: readonly TicketAnswer[];
  /** The session in which the ticket came up. Empty if there is none. */
  readonly session: string;
  /** True if somebody deleted the ticket. It is no longer listed. */
  readonly isDeleted?: true;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type SegmentKind =
  | "system"
  | "skills"
  | "tools"
  | "user"
  | "assistant"
  | "results"
  | "summary"
  | "handle";

/** A part of the window that contains one kind of content. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly tokens: number;
}

/**
 * One block of a `WindowPicture`. First come the parts of the preamble, then messages and exchanges in the order in which the
 * model sees them.
 */
export interface WindowUnit {
  /** Id of the unit. It stays the same as long as the unit begins with the same message. */
  readonly id: string;
  /** The segments of this unit, in order. Together they make up the whole unit. */
  readonly segments: readonly Segment[];
  readonly tokens: number;
  /** Log numbers of the first and last message of the unit. Absent for the preamble and for texts that Plimsoll wrote. */
  readonly first?: number;
  readonly last?: number;
  readonly type?: UnitType;
  readonly priority?: Priority;
  readonly isPinned?: true;
  /** Numbers of the edits that changed this unit. */
  readonly edits?: readonly number[];
  /** Tokens of the unit before these edits. */
  readonly originalTokens?: number;
  /** Handle of the part of the unit that the model no longer sees. */
  readonly handle?: string;
  /** The first words of the unit. */
  readonly begins: string;
}

/** `GET /api/sessions/{id}/window`: the content of the window, in order. */
export interface WindowPicture {
  readonly session: string;
  readonly branch: string;
  readonly model: string;
  readonly window: number;
  /** Set if the window size is a guess, because neither the configuration nor the catalogue nor the provider states it. */
  readonly isWindowGuess?: true;
  readonly limit: number;
  /**
   * Tokens that no compaction can remove. Present only if the limit was raised to make room for them. The fill level is then
   * computed without them, as (tokens − headTokens) / (limit − headTokens).
   */
  readonly headTokens?: number;
  /** The limit that the window alone would give. Present only if a lower limit of the user applies. */
  readonly windowLimit?: number;
  /** Tokens of all units together. */
  readonly tokens: number;
  readonly certainty: MeasurementSummary["certainty"];
  /**
   * Number of tokens at the beginning of the window that the provider read from its cache in the last turn. Absent if the
   * provider did not report it.
   */
  readonly cachedTokens?: number;
  /** The priority that the client asked for in the last turn. */
  readonly priority?: Priority;
  /** Number of tokens that the edits in force take out. */
  readonly takenOutTokens: number;
  readonly units: readonly WindowUnit[];
}

/** A part of a message as text. Images and opaque parts are described in words. */
export interface ShownPart {
  readonly kind:
    | "text"
    | "tool-call"
    | "tool-result"
    | "reasoning"
    | "image"
    | "document"
    | "opaque";
  /** Name of the tool, for calls and results. */
  readonly name?: string;
  readonly text: string;
  /** Length of the full text in characters, if `text` was cut. */
  readonly of?: number;
}

export interface ShownMessage {
  readonly role: Role;
  readonly parts: readonly ShownPart[];
}

/**
 * `GET /api/sessions/{id}/messages?first=&last=`: the original messages, the form in which the model sees each one, and the edits
 * that explain the difference.
 */
export interface MessageDetails {
  readonly items: readonly (ShownMessage & {
    readonly seq: number;
    readonly at: number;
    readonly tokens: number;
    /** The form in which the model sees this message. Absent if the model sees the original. */
    readonly seen?: ShownMessage | "taken out";
  })[];
  readonly edits: readonly Edit[];
}

/** One row of `GET /api/sessions/{id}/edits`. */
export interface EditRow extends Edit {
  /** Numbers of the first and the last message that the edit touches. Absent if it touches none. */
  readonly messages?: { readonly first: number; readonly last: number };
}

/** One row of `GET /api/sessions/{id}/archive`: the content behind one handle. */
export interface ArchiveRow {
  readonly handle: string;
  readonly bytes: number;
  /** How many messages the content consists of, and the numbers of the first and the last of them. */
  readonly messages: number;
  readonly first: number;
  readonly last: number;
  /** The first words of the first message. */
  readonly begins: string;
}

/** `GET /api/sessions/{id}/diff?from=&to=&form=text`: two views side by side. */
export interface TextDiff {
  readonly branch: string;
  readonly from: DiffPoint;
  readonly to: DiffPoint;
  readonly rows: readonly TextDiffRow[];
}

export interface DiffPoint {
  readonly seq: number;
  readonly tokens: number;
  readonly messages: number;
}

/** One row of a diff. Consecutive equal messages share one row. */
export type TextDiffRow =
  | {
      readonly kind: "same";
      readonly before: number;
      readonly after: number;
      readonly count: number;
    }
  | {
      readonly kind: "changed";
      readonly before: number;
      readonly after: number;
      readonly was: ShownMessage;
      readonly is: ShownMessage;
    }
  | { readonly kind: "removed"; readonly before: number; readonly was: ShownMessage }
  | { readonly kind: "added"; readonly after: number; readonly is: ShownMessage };

/** How a compaction is shown while it runs (`progress` in the configuration). */
export interface ProgressSettings {
  readonly show: boolean;
  readonly detail: "minimal" | "normal" | "detailed";
  /** Seconds until a finished compaction is hidden, from 1 to 10. */
  readonly auto_hide_seconds: number;
  readonly highlight_p1: boolean;
}

/** Limits that apply in addition to the window (`context_config` in the configuration). */
export interface LimitSettings {
  readonly min_limit: number;
  readonly default_limit: number;
  readonly warning_threshold: number;
  readonly per_agent: Readonly<Record<string, number>>;
  readonly per_llm: readonly {
    readonly type: string;
    readonly models?: readonly string[] | undefined;
    readonly limit: number;
    readonly follow_default: boolean;
  }[];
}

export interface BudgetSettings {
  readonly context_budget: number | "auto" | "window";
}

/**
 * The answer of `GET /api/config`. `PUT /api/config` accepts `{ revision, progress?, agent?, limits? }` and returns the same. Both need
 * the owner's token.
 */
export interface ConfigAnswer {
  /**
   * Changes whenever the file changes. A write with an old revision is refused, so nobody overwrites changes they have not seen.
   */
  readonly revision: string;
  /** The revision that the service uses. If it is not `revision`, the file has changed, and the service needs a restart. */
  readonly loadedRevision: string;
  /** Path of the configuration file, which may not exist yet. */
  readonly file: string;
  /** Why the configuration cannot be changed over HTTP. Absent if it can be. */
  readonly readOnly?: string;
  readonly progress: ProgressSettings;
  readonly agent: BudgetSettings;
  readonly limits: LimitSettings;
}

/** What the store has of some sessions, or what a deletion took away. */
export interface HoldingSum {
  readonly sessions: number;
  readonly messages: number;
  readonly archiveEntries: number;
  /** Bytes of the content, as they are stored. */
  readonly bytes: number;
}

/** The answer of `DELETE /api/sessions/{id}` and `POST /api/forget`. */
export interface ForgetAnswer extends HoldingSum {
  /** What is left to do, one sentence each. Empty if nothing of the sessions is left in any file. */
  readonly unfinished: readonly string[];
}
