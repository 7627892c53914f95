/** Types for the incoming request, and for the services and settings that a turn needs. */

/** The services and settings that a turn needs. */
import type { Strategy } from "../../message/strategy.ts";
import type { Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import type { Draft } from "../draft/draft.ts";
import type { FitWorld } from "../fit/last-resort.ts";
import type { SessionCache } from "../identify/find-session.ts";
import type { PrefixMemory } from "../identify/last-request.ts";
import type { SessionHints } from "../identify/place-request.ts";
import type { References } from "../identify/provider-ids.ts";
import type { Placed } from "../log/append.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { Mender } from "../log/mend.ts";
import type { OwnAnswers } from "../lookup/answer-own-call.ts";
import type { PreambleReader } from "../measure/preamble.ts";
import type { CountTokens, PreambleCounts } from "../measure/preamble-counts.ts";
import type { Targets } from "../measure/target.ts";
import type { AskAgain } from "../models/session-summariser.ts";
import type { OfferReader } from "../tools/own-tools-offer.ts";
import type { OpenTurns } from "./open-turns.ts";
import type { CutTurnEnd } from "./read-cut.ts";

export interface TurnContext extends FitWorld {
  readonly store: Store;
  readonly sessions: SessionCache;
  readonly heads: PreambleReader;
  readonly preambleCounts: PreambleCounts;
  readonly prefixes: PrefixMemory;
  readonly targets: Targets;
  readonly references: References;
  readonly bus: EventBus;
  readonly now: () => number;
  /** Runs tasks with the same name one after the other, so that two requests never search for the same session at once. */
  readonly exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** Turns that have begun but not ended. A shutdown waits for them. */
  readonly openTurns: OpenTurns;
  readonly offers: OfferReader;
  readonly own: OwnAnswers;
  /** Called after a turn is stored, if its answer stopped before it was complete. Contract: never throws. */
  readonly onCut: (cut: CutTurnEnd) => void;
  /** The strategies that make a conversation smaller before its last answer is asked for again. */
  readonly retryStrategies: readonly Strategy[];
  readonly mender: Pick<Mender, "isSpoilt" | "mend">;
}

export interface Incoming {
  readonly tenant: string;
  readonly provider: string;
  readonly wire: Wire;
  readonly body: Uint8Array;
  /** Set if the body is not the client's own, because the configuration changed it (configured-request.ts). */
  readonly isChangedBySettings?: true;
  /** The model, if the path of the request names it. */
  readonly model?: string;
  readonly hints: SessionHints;
  readonly priority?: 1 | 2 | 3;
  /** The id of the `plimsoll run` that started the client. */
  readonly run?: string;
  /** Whether Plimsoll sends the request as it came. The request is still recorded and measured. */
  readonly isBypassed?: boolean;
  /** Whether the request starts a new session, unless the client names another session. */
  readonly isFreshSearch?: boolean;
  /** Asks the provider to count tokens. Can be called only while the request is under way. */
  readonly countTokens?: CountTokens;
  /** Asks a model at the same upstream once more, with the headers of this request. Keeps them only as long as it can be called. */
  readonly askAgainAs?: (model: string) => AskAgain;
  /** Whether the tenant is derived from a credential on this machine. The client may refresh such a credential. */
  readonly isRefreshable?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Secrets of the request. If an upstream quotes them in an error, Plimsoll must not store them. */
  readonly credentials?: () => readonly string[];
}

export interface OpenTurn {
  readonly draft: Draft;
  readonly placed: Placed;
  readonly isBypassed?: boolean;
  /** True if the caller possibly never returns with an answer. Such a turn ends at the latest when Plimsoll shuts down. */
  readonly isLeftOpen?: boolean;
}
