/** Every event that Plimsoll emits. Published as `plimsoll/events`: types only, for dashboards and tools. */

import type { Usage } from "./message.ts";

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
export type Relation = "new" | "extends" | "retry" | "rewind" | "edited" | "compacted" | "fork";
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
}

export interface TurnEndEvent extends Base {
  readonly type: "turn-end";
  readonly turn: string;
  readonly branch: string;
  readonly model: string;
  readonly outcome: Outcome;
  readonly status: TurnStatus;
  readonly measurement: MeasurementSummary;
  readonly limit: number;
  readonly usage?: Usage;
  readonly error?: string;
}

/** Storage failed: the turn went on, and what could not be written is kept in memory and tried again. */
export interface StoreErrorEvent extends Base {
  readonly type: "store-error";
  readonly message: string;
}

export type PlimsollEvent =
  | SessionStartEvent
  | BranchStartEvent
  | TurnStartEvent
  | TurnEndEvent
  | StoreErrorEvent;

export type PlimsollEventType = PlimsollEvent["type"];

/** An event as subscribers get it. Only stored events have a number; they can be asked for again. */
export interface EmittedEvent {
  readonly seq?: number;
  readonly tenant: string;
  readonly event: PlimsollEvent;
}
