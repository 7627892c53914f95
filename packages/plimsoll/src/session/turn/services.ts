/**
 * The steps of a turn, as functions. Each function already has the services that it needs, so a turn does not have to provide
 * them.
 */

import type { NextTarget } from "../../config/next-providers.ts";
import type { Draft } from "../draft/draft.ts";
import { withTools } from "../fit/defer-tools.ts";
import { createFitter, type Fitter } from "../fit/fitter.ts";
import { prepareSummary, type SummaryOccasion } from "../fit/prepare-summary.ts";
import type { EventBus } from "../log/event-bus.ts";
import type { Mender } from "../log/mend.ts";
import { reportDegraded } from "../log/report.ts";
import type { Saved } from "../log/save.ts";
import { type AskedTools, askedTools } from "../tools/own-tools-offer.ts";
import { bodyToSend, type SendingTurn } from "./body-to-send.ts";
import { configured } from "./configured-request.ts";
import type { Incoming, OpenTurn, TurnContext } from "./context.ts";
import { draftOf } from "./draft-from-request.ts";
import { endTurn, type TurnResult } from "./end-turn.ts";
import { type InnerRounds, openRounds, type RoundActs } from "./inner-rounds.ts";
import { type NextRequest, nextRequest, nextTargets } from "./next-provider.ts";
import type { OpenTurns } from "./open-turns.ts";
import { type PlacedRequest, placeInLog } from "./place-in-log.ts";
import { isGuessed, type ReadRequest, readRequest } from "./read-request.ts";
import type { SentTurn } from "./record-inner-rounds.ts";

export interface TurnServices {
  /** Splits the body into messages, with a hash and a size for each. Messages that were read before are not read again. */
  read(incoming: Incoming): Promise<ReadRequest>;
  /** Finds the session and branch, and adds new messages to the log. */
  place(read: ReadRequest): Promise<PlacedRequest>;
  /** Makes a draft: the request that would be sent, with the changes that are possible. */
  draft(read: ReadRequest, placed: PlacedRequest): Promise<OpenTurn>;
  readonly fitter: Fitter;
  /** Opens the inner rounds. Returns undefined if the request contains none of Plimsoll's tools. */
  openRounds(draft: Draft, acts: RoundActs): InnerRounds | undefined;
  bodyToSend(turn: SendingTurn, draft: Draft, read: ReadRequest): Uint8Array | undefined;
  /** Stores the request, the answer, the edits and the events in one transaction. */
  end(sent: SentTurn, result: TurnResult): Promise<Saved>;
  /** Asks a model for the story so far, in the background. */
  prepareSummary(draft: Draft, occasion: SummaryOccasion): void;
  /** The targets of other providers, in the order in which they may be asked when the own provider is full. */
  nextTargets(draft: Draft): readonly NextTarget[];
  nextRequest(draft: Draft, next: NextTarget): Promise<NextRequest>;
  mend: Mender["mend"];
  readonly openTurns: OpenTurns;
  readonly bus: EventBus;
  /** Aborted when Plimsoll shuts down. */
  readonly closing: AbortSignal;
}

export function createTurnServices(context: TurnContext): TurnServices {
  const { openTurns, bus, closing, pricesOf, mender } = context;
  return {
    read: (incoming) => readRequest(context, configured(context.config, incoming)),
    place: (read) => placeInLog(context, read),
    draft: (read, placed) => openingOf(context, read, placed),
    fitter: createFitter(context),
    openRounds: (draft, acts) => openRounds(context, draft, acts),
    bodyToSend: (turn, draft, { request, slices, incoming: { body } }) =>
      bodyToSend(turn, draft, { request, body, slices, pricesOf }),
    end: (sent, result) => endTurn(context, sent, result),
    prepareSummary: (draft, occasion) => prepareSummary(context, draft, occasion),
    nextTargets: (draft) => nextTargets(context, draft),
    nextRequest: (draft, next) => nextRequest(context, draft, next),
    mend: mender.mend,
    openTurns,
    bus,
    closing,
  };
}

/**
 * Makes the draft of a request. If only the provider knows the whole conversation, the request is recorded and sent as it came.
 */
async function openingOf(
  context: TurnContext,
  read: ReadRequest,
  request: PlacedRequest,
): Promise<OpenTurn> {
  const { incoming, messages } = read;
  const isBypassed = incoming.isBypassed === true || request.whole.isUnknown;
  const offer = isBypassed ? undefined : await context.offers.read(toolsAskedIn(read));
  const bare = draftOf(context, { ...read, ...request, isBypassed });
  const draft = await withTools(context, bare, { offer, request: read.request });
  if (isGuessed(messages))
    reportDegraded(draft, "view", "the tokens could not be counted and are an estimate");
  return { draft, placed: request.placed, isBypassed };
}

function toolsAskedIn({
  incoming,
  request,
  slices,
  head,
  targets: [target],
}: ReadRequest): AskedTools {
  return askedTools(incoming.body, request, { slices, head, target });
}
