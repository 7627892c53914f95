/** What /api answers to those who watch and steer, beside events. Published as `plimsoll/api`: types only, for dashboards and tools. */

import type { Edit } from "./edit.ts";
import type { MeasurementSummary, Outcome, TurnStatus } from "./event.ts";
import type { Role, Usage } from "./message.ts";
import type { Priority, UnitType } from "./unit.ts";

/** Lists of every kind. `next` is there when there is more: it is the `after` of the next page. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly next?: string | number;
}

/** One turn as a point of the history. */
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
  /** Of what was sent, by component. */
  readonly measurement: MeasurementSummary;
  /** What the client's own request would have taken. */
  readonly tokensBefore?: number;
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that: how full it is, is the share of the room beside it. */
  readonly headTokens?: number;
  readonly window: number;
  /** Nobody has said how large the window is: it is the usual one. */
  readonly isWindowGuess?: true;
  readonly priority?: Priority;
  readonly usage?: Usage;
  /** In US dollars; absent where usage or prices are unknown. */
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
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly branches: number;
  readonly messages: number;
  readonly turns: number;
  readonly lastTurn?: TurnPoint;
}

/** One row of `GET /api/agents`: sessions of one name, as clients give it in `x-plimsoll-agent`. */
export interface AgentRow {
  /** Empty: those that gave none. */
  readonly agent: string;
  readonly sessions: number;
  readonly turns: number;
  readonly updatedAt: number;
  /** Its newest session, and how full that is. */
  readonly newest: string;
  readonly lastTurn?: TurnPoint;
  /** From `context_config.per_agent`. */
  readonly limit?: number;
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

/** A stretch of the window of one kind. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly tokens: number;
}

/** A block of the picture: the head's parts, then messages and exchanges in the order in which the model sees them. */
export interface WindowUnit {
  /** The same in every picture of a session as long as the unit begins with the same message. */
  readonly id: string;
  /** In order; together they are the unit. */
  readonly segments: readonly Segment[];
  readonly tokens: number;
  /** Numbers of messages in the log; absent for the head and for texts of ours. */
  readonly first?: number;
  readonly last?: number;
  readonly type?: UnitType;
  readonly priority?: Priority;
  readonly isPinned?: true;
  /** Numbers of the edits that made it what it is. */
  readonly edits?: readonly number[];
  /** What it was before them. */
  readonly originalTokens?: number;
  /** What stands for what is not shown. */
  readonly handle?: string;
  /** Its first words. */
  readonly begins: string;
}

/** `GET /api/sessions/{id}/window`: what fills the window, in order. */
export interface WindowPicture {
  readonly session: string;
  readonly branch: string;
  readonly model: string;
  readonly window: number;
  /** Nobody has said how large the window is: it is the usual one. */
  readonly isWindowGuess?: true;
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that: how full it is, is the share of the room beside it. */
  readonly headTokens?: number;
  /** Of all units together. */
  readonly tokens: number;
  readonly certainty: MeasurementSummary["certainty"];
  /** The provider read so much of the beginning from its cache in the last turn; absent where it did not say. */
  readonly cachedTokens?: number;
  /** As the last turn was asked for. */
  readonly priority?: Priority;
  /** What the edits that hold take out. */
  readonly takenOutTokens: number;
  readonly units: readonly WindowUnit[];
}

/** A part of a message as text; images and opaque parts are described. */
export interface ShownPart {
  readonly kind:
    | "text"
    | "tool-call"
    | "tool-result"
    | "reasoning"
    | "image"
    | "document"
    | "opaque";
  /** Of a tool. */
  readonly name?: string;
  readonly text: string;
  /** Characters of the whole, where the text was cut. */
  readonly of?: number;
}

export interface ShownMessage {
  readonly role: Role;
  readonly parts: readonly ShownPart[];
}

/** `GET /api/sessions/{id}/messages?first=&last=`: what was said, what the model sees of it, and why. */
export interface MessageDetails {
  readonly items: readonly (ShownMessage & {
    readonly seq: number;
    readonly at: number;
    readonly tokens: number;
    /** What the model sees in its place; absent: the same. */
    readonly seen?: ShownMessage | "taken out";
  })[];
  readonly edits: readonly Edit[];
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

/** A run of equal messages is one row. */
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
  /** 1 to 10. */
  readonly auto_hide_seconds: number;
  readonly highlight_p1: boolean;
}

/** Limits beside the window (`context_config` in the configuration). */
export interface LimitSettings {
  readonly min_limit: number;
  readonly default_limit: number;
  readonly warning_threshold: number;
  readonly per_agent: Readonly<Record<string, number>>;
  readonly per_llm: readonly {
    readonly type: string;
    readonly limit: number;
    readonly follow_default: boolean;
  }[];
}

/** `GET /api/config`; `PUT /api/config` takes `{ revision, progress?, limits? }` and answers the same. Only the owner's token. */
export interface ConfigAnswer {
  /** Changes with the file: what was read with one is not written over another. */
  readonly revision: string;
  /** Where it is, or will be, kept. */
  readonly file: string;
  /** Why it cannot be written from here. */
  readonly readOnly?: string;
  readonly progress: ProgressSettings;
  readonly limits: LimitSettings;
}
