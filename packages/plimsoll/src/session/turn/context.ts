/** What a request is, and what it needs of the world on its way. */

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
import type { OfferReader } from "../tools/own-tools-offer.ts";
import type { OpenTurns } from "./open-turns.ts";

/** What a turn needs of the world. */
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
  /** One piece of work after the other under each name: two requests never look for one session at once. */
  readonly exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** Turns that have begun and not ended: whoever closes waits for them. */
  readonly openTurns: OpenTurns;
  readonly offers: OfferReader;
  readonly own: OwnAnswers;
  readonly mender: Pick<Mender, "isSpoilt" | "mend">;
}

export interface Incoming {
  readonly tenant: string;
  readonly provider: string;
  readonly wire: Wire;
  readonly body: Uint8Array;
  readonly hints: SessionHints;
  readonly priority?: 1 | 2 | 3;
  /** Recorded and measured, but sent as it came. */
  readonly isBypassed?: boolean;
  /** It begins a session of its own, unless its client has a name for another. */
  readonly isFreshSearch?: boolean;
  /** How to have its provider count something, as long as the request is under way. */
  readonly countTokens?: CountTokens;
  /** Its tenant is a credential on this machine, which its client may have refreshed. */
  readonly isRefreshable?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Values that came with it and must not be kept, should an upstream quote them. */
  readonly credentials?: () => readonly string[];
}

export interface OpenTurn {
  readonly draft: Draft;
  readonly placed: Placed;
  readonly isBypassed?: boolean;
  /** The caller may never come back with an answer: then the turn ends when the product closes. */
  readonly isLeftOpen?: boolean;
}
