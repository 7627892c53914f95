/** The state of a library session in memory. */

import type { Limit } from "../../budget/limit.ts";
import type { Measurement } from "../../budget/measure.ts";
import type { Outcome } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { ToolCallPart } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { Wire, WireName } from "../../wire/format/wire.ts";
import type { Draft } from "../draft/draft.ts";
import type { PendingMessage } from "../draft/encode.ts";
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
  readonly pending: PendingMessage[];
  open: OpenRequest | undefined;
  /** The draft of the last prepared turn. */
  draft: Draft | undefined;
  sent: (() => Fitted) | undefined;
  /** Set while the tool budget is used up, which is from the first denied result until the model's next answer. */
  denial: Denial | undefined;
}

/** The whole conversation, in the session's wire. */
export interface ConversationState {
  wire: Wire | undefined;
  readonly sentMessages: JsonObject[];
  /** One link for each message. `sumsBefore` has, for each message, the sum of all messages before it. */
  readonly links: Link[];
  readonly messages: LogMessage[];
  readonly sumsBefore: Sum[];
  totals: Totals;
  tip: Tip | undefined;
  ruler: Ruler | undefined;
  hasMarks: boolean;
}

/** Values that stay the same from turn to turn and are made only once. */
export interface MadeState {
  tools: Remembered<readonly ToolDefinition[]> | undefined;
  head: Remembered<Preamble> | undefined;
  offer: Remembered<OwnOffer | undefined> | undefined;
}

/** A value, and the key for which it was made. */
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
  /** The wire of the request. It changes if the request goes to another provider. */
  readonly wire: Wire;
  /** Turns to the next provider. Returns false if none can take the request. */
  readonly moveOn: () => Promise<boolean>;
  readonly prepared: () => PreparedTurn;
  /** Starts the tool budget, and restarts it if the request has changed. */
  readonly begin: () => Promise<void>;
}

/** `Request` is the type that the provider's client library uses for requests. It is not checked. */
export interface PreparedTurn<Request = JsonObject> {
  readonly id: string;
  /** How the turn was made to fit. If the kind is `refused`, nothing could make the turn fit, and the caller must not send it. */
  readonly outcome: {
    readonly kind: Outcome;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
  /** Who is to answer, as `provider/model`: the target that the caller named, or one of its fallbacks (`targets`). */
  readonly target: string;
  /** The format of the request, and of the answer to give to `commit`. */
  readonly wire: WireName;
  /** If another provider is to answer: fields and content that only the first one could use. */
  readonly leftOut: readonly string[];
  /** Targets of other providers that could not take the request, each with its reason. */
  readonly notUsed: readonly string[];
  /** The request in the target's wire format. Pass it unchanged to the provider's client library. */
  readonly request: Request;
  readonly measurement: Measurement;
  /** The limit that the guard used for this turn. */
  readonly limit: Limit;
  /** Returns the tool calls in an answer to this turn, whatever its wire is. */
  toolCalls(answer: unknown): readonly ToolCallPart[];
}
