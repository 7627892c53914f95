/** What a session of the library has in memory. */

import type { Limit } from "../../budget/limit.ts";
import type { Measurement } from "../../budget/measure.ts";
import type { Outcome } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { Wire } from "../../wire/format/wire.ts";
import type { Draft } from "../draft/draft.ts";
import type { Fitted } from "../fit/last-resort.ts";
import type { Tip } from "../log/append.ts";
import type { Link, LogMessage, SessionLog } from "../log/log.ts";
import type { Sum } from "../log/path.ts";
import type { Ruler } from "../measure/message-facts.ts";
import type { Preamble, Totals } from "../measure/preamble.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import type { Turn } from "../turn/turn.ts";
import type { Denial } from "./tool-budget.ts";

export interface SessionState extends ConversationState, MadeState {
  log: SessionLog;
  readonly agent?: string;
  readonly priority?: 1 | 2 | 3;
  readonly pending: (JsonObject | Message)[];
  open: OpenRequest | undefined;
  /** Of the last turn that was prepared. */
  draft: Draft | undefined;
  sent: (() => Fitted) | undefined;
  /** The tool budget was used up, and nothing has been answered since. */
  denial: Denial | undefined;
}

/** Everything that was said, in the session's wire. */
export interface ConversationState {
  wire: Wire | undefined;
  readonly sentMessages: JsonObject[];
  /** Of each message that was said; the sums are of all before it. */
  readonly links: Link[];
  readonly messages: LogMessage[];
  readonly sumsBefore: Sum[];
  totals: Totals;
  tip: Tip | undefined;
  ruler: Ruler | undefined;
  hasMarks: boolean;
}

/** What is the same from turn to turn, and made once. */
export interface MadeState {
  tools: Remembered<readonly ToolDefinition[]> | undefined;
  head: Remembered<Preamble> | undefined;
  offer: Remembered<OwnOffer | undefined> | undefined;
}

/** What is the same from turn to turn is made once. */
export interface Remembered<T> {
  readonly key: readonly unknown[];
  readonly value: T;
}

export function isFor<T>(
  remembered: Remembered<T> | undefined,
  key: readonly unknown[],
): remembered is Remembered<T> {
  return remembered?.key.every((part, index) => part === key[index]) === true;
}

interface OpenRequest {
  readonly turn: Turn;
  readonly wire: Wire;
  readonly prepared: () => PreparedTurn;
  /** The tool budget begins, also anew when what is sent has changed. */
  readonly begin: () => Promise<void>;
}

/** `Request` is the type that the provider's client gives to its request; it is not checked. */
export interface PreparedTurn<Request = JsonObject> {
  readonly id: string;
  /** What was done to make it fit. `refused`: nothing more can be done, do not send it. */
  readonly outcome: {
    readonly kind: Outcome;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
  /** In the target's wire format: hand it to the provider's client as it is. */
  readonly request: Request;
  readonly measurement: Measurement;
  /** As the guard used it for this turn. */
  readonly limit: Limit;
  /** The calls in an answer to this turn, whatever wire it came over. */
  toolCalls(answer: unknown): readonly ToolCallPart[];
}
