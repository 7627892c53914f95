/**
 * One request through the system. Start reading here.
 *
 *   read: bytes ─► messages   place: session, branch, log   draft: request that would be sent   fit: guard, edits
 *   ─► upstream ─► overflowed? fit again   answered? lookups, another round   ─► end: the answer joins the log
 *
 * A turn without edits is one durable transaction: its new messages and its answer are stored together, before the client
 * sees the end of the answer. A turn that makes an edit has one more transaction, before its request is sent.
 */

import { projectionOf } from "../../budget/projection.ts";
import type { NextTarget } from "../../config/next-providers.ts";
import { PlimsollError } from "../../message/error.ts";
import type { Overflow } from "../../wire/overflow.ts";
import type { Draft } from "../draft/draft.ts";
import type { CompactedAsAsked } from "../fit/compact-on-request.ts";
import {
  type Fitted,
  outcomeOf,
  type ShortenedOutput,
  shortenedOutput,
} from "../fit/last-resort.ts";
import type { FoundTools, ToolSearch } from "../fit/load-tools.ts";
import type { Placed } from "../log/append.ts";
import { reportFailover } from "../log/report.ts";
import type { Saved } from "../log/save.ts";
import type { Incoming, OpenTurn } from "./context.ts";
import type { TurnResult } from "./end-turn.ts";
import { announceStart, firstFit, isSpoilt } from "./first-fit.ts";
import type { InnerRounds } from "./inner-rounds.ts";
import type { NextRequest } from "./next-provider.ts";
import type { Unended } from "./open-turns.ts";
import type { ReadRequest } from "./read-request.ts";
import type { TurnServices } from "./services.ts";

export type { TurnResult } from "./end-turn.ts";

/** A request that is in the log and fits. Every such turn must end, with an answer or with an error. */
export class Turn {
  readonly draft: Draft;
  readonly placed: Placed;
  /** The inner rounds, if Plimsoll's tools are in the request. Each answer of the upstream must then go through them first. */
  readonly rounds: InnerRounds | undefined;
  readonly #services: TurnServices;
  readonly #isBypassed: boolean;
  readonly #unended: Unended;
  #fitted: Fitted;
  #attempt = 1;
  /** Whether the provider's last "too long" was reported, and its error is what the client gets. */
  #isOverflowReported = false;
  #ended: Promise<Saved> | undefined;

  /** Opens a turn from a draft. The library uses this too, with a draft that it makes from the session in memory. */
  static async open(services: TurnServices, begun: OpenTurn): Promise<Turn> {
    return new Turn(services, begun, await firstFit(services, begun));
  }

  protected constructor(services: TurnServices, begun: OpenTurn, fitted: Fitted) {
    this.draft = begun.draft;
    this.placed = begun.placed;
    this.#services = services;
    this.#isBypassed = begun.isBypassed === true;
    this.#fitted = fitted;
    announceStart(services, begun, fitted);
    this.rounds = services.openRounds(this.draft, {
      fitted: () => this.#fitted,
      compact: () => this.#compact(),
      findTools: (search) => this.#findTools(search),
    });
    const isAwaited = begun.isLeftOpen !== true;
    this.#unended = { isAwaited, abort: () => this.end({ status: "aborted" }) };
    services.openTurns.add(this.#unended);
  }

  get id(): string {
    return this.draft.turn.id;
  }

  get session(): string {
    return this.placed.log.record.id;
  }

  get branch(): string {
    return this.placed.branch.record.id;
  }

  get relation(): Placed["relation"] {
    return this.placed.relation;
  }

  /** The request to send. It changes if the provider finds it too long, or if an inner round compacts it or finds tools. */
  get fitted(): Fitted {
    return this.#fitted;
  }

  /** The reduced answer length, if there is no room for the length that the client asked for. */
  get shortened(): ShortenedOutput | undefined {
    return shortenedOutput(this.draft, this.#fitted, this.rounds?.tokens);
  }

  /** The provider said "too long". True: `fitted` is now smaller and can be sent. False: the provider's error is final. */
  async overflowed(overflow: Overflow): Promise<boolean> {
    const smaller = await this.#services.fitter.afterOverflow(this.draft, {
      fitted: this.#fitted,
      overflow,
      attempt: this.#attempt,
      isBypassed: this.#isBypassed,
      lookedUpTokens: this.rounds?.tokens,
    });
    this.#attempt++;
    this.#isOverflowReported = smaller === undefined;
    this.#fitted = smaller ?? this.#fitted;
    return smaller !== undefined;
  }

  /** The targets of other providers, in the order in which they may be asked when the own provider is full. */
  get nextTargets(): readonly NextTarget[] {
    return this.#isBypassed ? [] : this.#services.nextTargets(this.draft);
  }

  /** The request of this turn for a target of another provider. */
  nextRequest(next: NextTarget): Promise<NextRequest> {
    return this.#services.nextRequest(this.draft, next);
  }

  /** Another provider answers this turn. From now on, the turn is about its target. */
  moveTo(next: Extract<NextRequest, { readonly kind: "ready" }>): void {
    const { target, measured, sized, leftOut } = next;
    const { refusal: _refusal, ...fitted } = this.#fitted;
    const tokens = measured.total;
    const counters = { ...fitted.projection.counters, current: 0, pending: tokens };
    const size = { ...fitted.projection, least: tokens, most: tokens, isGuess: true };
    reportFailover(this.draft, { from: fitted.target.key, to: target.key, leftOut });
    this.#fitted = {
      ...fitted,
      outcome: outcomeOf(sized),
      view: sized.view,
      patches: sized.patches,
      tools: sized.tools,
      isFinal: false,
      target,
      measured,
      measurement: measured,
      tokensAfter: tokens,
      projection: projectionOf(counters, size),
      limit: target.limit.limit,
    };
  }

  /**
   * Ends and stores the turn. Contract: never rejects. Only the first call has an effect, and a shutdown may have made that call
   * already.
   */
  end(result: TurnResult): Promise<Saved> {
    const { draft, placed } = this;
    const sent = {
      draft,
      placed,
      fitted: this.#fitted,
      rounds: this.rounds?.kept,
      isOverflowReported: this.#isOverflowReported,
    };
    if (this.#ended !== undefined) return this.#ended;
    this.#ended = this.#services
      .end(sent, result)
      .finally(() => this.#services.openTurns.delete(this.#unended));
    void this.#ended.then(() => this.#prepareSummary(result));
    return this.#ended;
  }

  /** The bytes that were sent last. Undefined in the library. */
  protected get sentBody(): Uint8Array | undefined {
    return undefined;
  }

  /** After the answer, so that the provider has the request in its cache and has not found it too long. */
  #prepareSummary({ status }: TurnResult): void {
    const fitted = this.#fitted;
    const { summaryDue: sized } = fitted;
    if (status !== "complete" || sized === undefined) return;
    this.#services.prepareSummary(this.draft, { fitted, sized, body: this.sentBody });
  }

  async #compact(): Promise<CompactedAsAsked["text"]> {
    const done = await this.#services.fitter.compactAsAsked(this.#draftNow(), this.#fitted);
    this.#fitted = done.fitted;
    return done.text;
  }

  async #findTools(search: Omit<ToolSearch, "before">): Promise<FoundTools["answer"]> {
    const before = this.#fitted;
    const found = await this.#services.fitter.findTools(this.#draftNow(), { ...search, before });
    this.#fitted = found.fitted;
    return found.answer;
  }

  /** The draft with the window that the provider named in this turn, if it named one. */
  #draftNow(): Draft {
    return this.#attempt === 1 ? this.draft : { ...this.draft, targets: [this.#fitted.target] };
  }
}

/** A turn of the proxy. */
export class ReceivedTurn extends Turn {
  readonly #bodyOf: () => Uint8Array | undefined;
  #sentBody: Uint8Array;

  /**
   * Starts a turn from a client's request. The request contains the whole history, so if the store
   * turns out to be damaged, Plimsoll can start again with a session made from that history.
   */
  static receive(services: TurnServices, incoming: Incoming): Promise<ReceivedTurn> {
    return services.openTurns.during(() => receiveWithRetry(services, incoming));
  }

  static async place(services: TurnServices, read: ReadRequest): Promise<ReceivedTurn> {
    const placed = await services.place(read);
    const begun = await services.draft(read, placed);
    return new ReceivedTurn(services, begun, await firstFit(services, begun), read);
  }

  private constructor(services: TurnServices, begun: OpenTurn, fitted: Fitted, read: ReadRequest) {
    super(services, begun, fitted);
    this.#sentBody = read.incoming.body;
    this.#bodyOf = () => {
      const edited = services.bodyToSend(this, this.draft, read);
      this.#sentBody = edited ?? read.incoming.body;
      return read.incoming.isChangedBySettings === true ? this.#sentBody : edited;
    };
  }

  /** The bytes to send now. Undefined if the client's own bytes are sent. */
  get body(): Uint8Array | undefined {
    return this.#bodyOf();
  }

  protected override get sentBody(): Uint8Array {
    return this.#sentBody;
  }
}

/** Maximum number of repairs. After a damaged session is set aside, the database may turn out to be damaged too. */
const mendsMax = 3;

async function receiveWithRetry(services: TurnServices, incoming: Incoming): Promise<ReceivedTurn> {
  let isFreshSearch = false;
  for (let mends = 0; ; mends++) {
    try {
      return await ReceivedTurn.place(
        services,
        await services.read({ ...incoming, isFreshSearch }),
      );
    } catch (error) {
      if (mends >= mendsMax || !isSpoilt(error) || !(await services.mend(error))) throw error;
      // The damaged session is gone. Plimsoll does not look for another session in its place.
      isFreshSearch ||= PlimsollError.is(error) && error.fields["session"] !== undefined;
    }
  }
}
