/**
 * One request through the system. Start reading here.
 *
 *   wire: slices ─► learn: hashes, tokens ─► log: append new ─► measure ─► fit: guard, edits ─► upstream ─► log: append answer
 *
 * A turn that makes no edit is one durable transaction: its new messages and its answer together, before the
 * client sees the end of the answer. A turn that makes one has one more, before its request is sent.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { PlimsollError } from "../../message/error.ts";
import type { Relation } from "../../message/event.ts";
import { sha256 } from "../../store/body.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import type { Overflow } from "../../wire/overflow.ts";
import { type Draft, withOffer } from "../draft/draft.ts";
import { guardOf } from "../draft/projection.ts";
import { compactAsAsked } from "../fit/compact-on-request.ts";
import { withFewerTools } from "../fit/defer-tools.ts";
import { type Fitted, type ShortenedOutput, shortenedOutput } from "../fit/last-resort.ts";
import { loadTools } from "../fit/load-tools.ts";
import { fitAgain } from "../fit/refit-after-overflow.ts";
import { linksIn, newLead, ownLink } from "../identify/named-links.ts";
import { continueBlindly, placeInSession, shapeOf } from "../identify/place-request.ts";
import { bringsAnswers, recallAnswers } from "../identify/recall-answers.ts";
import { type WholeConversation, wholeConversation } from "../identify/server-side-history.ts";
import { keepSpellings } from "../identify/spellings.ts";
import { announceSession, appendMessages, type Placed, startNewBranch } from "../log/append.ts";
import { leftBehind } from "../log/echoes.ts";
import { whileEditing } from "../log/edits.ts";
import { newId } from "../log/ids.ts";
import { extendLinks, moveTip, pathBehind, remember, rootLink } from "../log/log.ts";
import { reportDegraded } from "../log/report.ts";
import type { Saved } from "../log/save.ts";
import { askedTools } from "../tools/own-tools-offer.ts";
import { bodyToSend } from "./body-to-send.ts";
import type { Incoming, OpenTurn, TurnContext } from "./context.ts";
import { draftOf } from "./draft-from-request.ts";
import { endTurn, type TurnResult } from "./end-turn.ts";
import { announceStart, firstFit, isSpoilt } from "./first-fit.ts";
import { type InnerRounds, openRounds } from "./inner-rounds.ts";
import type { Unended } from "./open-turns.ts";

export type { TurnResult } from "./end-turn.ts";

export interface Turn {
  readonly id: string;
  readonly session: string;
  readonly branch: string;
  readonly relation: Relation;
  /** As it was last sent: a turn that the provider found too long is sent again. */
  readonly fitted: Fitted;
  /** How long the answer may be, where there is no room for what the client asked for. */
  readonly shortened: ShortenedOutput | undefined;
  /**
   * The provider said that it is too long. True: there is something smaller to send now, in `fitted`. False: the
   * provider's word stands.
   */
  overflowed(overflow: Overflow): Promise<boolean>;
  /** Tools of ours went out with it: what the upstream answers must be shown to these first. */
  readonly rounds: InnerRounds | undefined;
  /** Stores the turn. Contract: never rejects; only the first call counts, and whoever closes may have been first. */
  end(result: TurnResult): Promise<Saved>;
}

export interface ReceivedTurn extends Turn {
  /** The bytes to send now; undefined when they are the client's own. */
  readonly body: Uint8Array | undefined;
}

const largeBytes = 1024 * 1024;

/** A spoilt session is put aside, and then the database may turn out to be spoilt, too. */
const mendsMax = 3;

/**
 * A request as a client sent it: everything, every time. So it can be begun anew where the store turns out to be spoilt,
 * in a session of its own history.
 */
export function receiveTurn(context: TurnContext, incoming: Incoming): Promise<ReceivedTurn> {
  return context.openTurns.during(() => receiveAnew(context, incoming));
}

async function receiveAnew(context: TurnContext, incoming: Incoming): Promise<ReceivedTurn> {
  let isAnew = false;
  for (let mends = 0; ; mends++) {
    try {
      return await receiveOnce(context, { ...incoming, isAnew });
    } catch (error) {
      if (mends >= mendsMax || !isSpoilt(error) || !(await context.mender.mend(error))) throw error;
      // Its session is gone. Nobody else's is looked for in its place.
      isAnew ||= PlimsollError.is(error) && error.fields["session"] !== undefined;
    }
  }
}

/** Something else of it was found spoilt since it was read. */
function spoiltSession(session: string): PlimsollError {
  const message = `${session} was found spoilt.`;
  return new PlimsollError("STORE_CORRUPT", message, { fields: { session } });
}

async function receiveOnce(context: TurnContext, incoming: Incoming): Promise<ReceivedTurn> {
  const { wire, body, tenant } = incoming;
  const memoryKey = memoryKeyOf(incoming);
  const recalled = context.prefixes.recall(memoryKey, body, wire.fields.messages);
  const request = wire.body.read(body, recalled.slices);
  // To find its messages took a while: others get their turn before they are read.
  if (body.length > largeBytes) await nextTurn();
  const hints = {
    ...(request.clientSession && { clientKey: request.clientSession }),
    ...incoming.hints,
  };
  const targets = targetsFor(context, incoming, request);
  const [target] = targets;
  const bytes = request.messages.map((slice) => body.subarray(slice.start, slice.end));
  const known = recalled.rulerKey === target.ruler.key ? recalled.messages : [];
  const messages = [
    ...known,
    ...(await context.facts.learn(wire, bytes.slice(known.length), target.ruler)),
  ];
  const links = extendLinks(wire.name, recalled.links.slice(0, known.length), messages);
  const { slices } = recalled;
  const asked = { target, request, body, slices, count: incoming.countTokens };
  const head = await context.heads.read(body, request, target);
  const headRatio = await context.headCounts.ratio(head, asked);
  const isGuessed = messages.some(({ isGuess }) => isGuess === true);
  if (!isGuessed)
    context.prefixes.remember(memoryKey, {
      body,
      slices,
      rulerKey: target.ruler.key,
      messages,
      links,
    });

  const whole = await wholeConversation(context, {
    tenant,
    wire: wire.name,
    request,
    messages,
    links,
  });
  const turn = { id: newId("turn"), at: context.now() };
  // Several credentials of one client may ask for one session.
  const isShared = incoming.isRefreshable === true && hints.clientKey !== undefined;
  const placed = await context.exclusively(
    `${isShared ? "" : tenant}\0${hints.clientKey ?? ""}`,
    () => appendRequest(context, { ...incoming, hints }, { turn, whole, bytes }),
  );
  context.calibrations.expect(placed.log, target, headRatio);
  const isOff = incoming.isOff === true || whole.isUnknown;
  const offered = askedTools(body, request, { slices, head, target });
  const offer = isOff ? undefined : await context.offers.read(offered);
  const bare = draftOf(context, {
    incoming: { ...incoming, hints },
    request,
    slices,
    turn,
    placed,
    whole,
    head,
    targets,
    bytes,
    isOff,
  });
  const hasOtherPlans = request.hasOtherPlans === true;
  const draft = hasOtherPlans
    ? await withFewerTools(context, bare, { offer, wanted: request.wantedTools ?? [] })
    : withOffer(bare, offer, guardOf(context, bare).limit);
  if (isGuessed) reportDegraded(draft, "view", "the tokens could not be counted, and are guessed");
  const opened = await openTurn(context, { draft, placed, isOff });
  return Object.defineProperty(opened, "body", {
    get: () =>
      bodyToSend(opened, draft, {
        request,
        body,
        slices,
        pricesOf: context.pricesOf,
      }),
  }) as ReceivedTurn;
}

function targetsFor(
  context: TurnContext,
  { provider, wire, headers, tenant }: Incoming,
  request: WireRequest,
): Draft["targets"] {
  const facts = wire.body.modelByHeaders(request.model, headers ?? {});
  const named = facts === undefined ? {} : { facts };
  return context.targets.candidates(provider, wire, { ...request, ...named, tenant });
}

/** Requests of one conversation should have the same key; a wrong one costs time, nothing else. */
function memoryKeyOf({ tenant, wire, hints, body }: Incoming): string {
  const name = hints.clientKey ?? hints.sessionId ?? sha256(body.subarray(0, 1024));
  return [tenant, wire.name, name, hints.agent ?? ""].join("\0");
}

interface Request {
  readonly turn: { readonly id: string; readonly at: number };
  readonly whole: WholeConversation;
  /** Of the messages in the request itself. */
  readonly bytes: readonly Uint8Array[];
}

/** Finds the session and the branch, and adds what is new below what is known. */
async function appendRequest(
  context: TurnContext,
  incoming: Incoming,
  request: Request,
): Promise<Placed> {
  const { tenant, wire, hints } = incoming;
  const { whole, bytes, turn } = request;
  const { messages, links, heldCount } = whole;
  const shape = shapeOf(messages, links);
  const { log, isNew } =
    whole.log === undefined
      ? await context.sessions.find({
          tenant,
          wire: wire.name,
          request: shape,
          hints,
          isAnew: incoming.isAnew === true,
          isRefreshable: incoming.isRefreshable === true,
        })
      : { log: whole.log, isNew: false };
  if (context.mender.isSpoilt(log.record.id)) throw spoiltSession(log.record.id);
  if (isNew) announceSession(log, hints.agent, turn.at);
  if (bringsAnswers(log, whole)) await recallAnswers(context.store, log);
  const continued = whole.isUnknown ? continueBlindly(log, hints) : undefined;
  const named = linksIn(log, messages, links);
  const place = continued?.place ?? placeInSession(log, { ...shape, links: named }, hints);
  const branch =
    place.branch ??
    startNewBranch(log, {
      relation: place.relation,
      forkSeq: place.parent,
      left: place.left?.record.id,
      agent: hints.agent,
      at: turn.at,
    });
  const link = continued?.link ?? named[place.common - 1] ?? rootLink(wire.name);
  const known = { seq: place.parent, link };
  const added = messages.slice(place.common).map((message, index) => ({
    message,
    bytes: bytes[place.common + index - heldCount] ?? new Uint8Array(),
    link: continued === undefined ? ownLink({ links, named }, place.common + index) : undefined,
  }));
  const left =
    place.relation === "edited" ? pathBehind(log, branch.record.tipSeq, place.parent) : [];
  const tip = appendMessages(log, known, added, {
    turn: turn.id,
    branch: branch.record.id,
    source: "request",
    isComplete: true,
    at: turn.at,
    left: leftBehind(left),
  });
  moveTip(branch, tip.seq);
  branch.inFlight++;
  const count = left.filter(({ source }) => source !== "answer").length;
  keepSpellings(log, { messages, named, bytes, heldCount }, place.common);
  context.sessions.noteAnswers(log);
  const lead = newLead(messages, { links, named }, bytes);
  remember(branch, {
    kind: "received",
    hasOtherLead: lead !== undefined,
    ...(place.relation === "edited" ? { rewritten: { from: place.common, count } } : {}),
    ...(tenant === log.record.tenant ? {} : { guest: tenant }),
  });
  return {
    log,
    branch,
    relation: place.relation,
    tip,
    newMessages: added.length,
    links: named,
    ...(lead === undefined ? {} : { lead }),
  };
}

/** From here on the request is in the log, and must end: with an answer, or with what went wrong. */
export async function openTurn(context: TurnContext, begun: OpenTurn): Promise<Turn> {
  const { draft, placed } = begun;
  const { log, branch, relation } = placed;
  const session = log.record.id;
  let fitted = await firstFit(context, begun);
  let attempt = 1;
  /** What the provider has said of its window holds for the rest of the turn. */
  const drafted = (): Draft => (attempt === 1 ? draft : { ...draft, targets: [fitted.target] });
  let ended: Promise<Saved> | undefined;
  announceStart(context, begun, fitted);
  const end = (result: TurnResult): Promise<Saved> => {
    const sent = { draft, placed, fitted, rounds: rounds?.kept };
    ended ??= endTurn(context, sent, result).finally(() => context.openTurns.delete(unended));
    return ended;
  };
  const rounds = openRounds(context, draft, {
    fitted: () => fitted,
    compact: async () => {
      const before = fitted;
      const done = await whileEditing(log, () => compactAsAsked(context, drafted(), before));
      fitted = done.fitted;
      return done.text;
    },
    findTools: async (search) => {
      const before = fitted;
      const found = await whileEditing(log, () =>
        loadTools(context, drafted(), { ...search, before }),
      );
      fitted = found.fitted;
      return found.answer;
    },
  });
  const unended: Unended = {
    isAwaited: begun.isLeftOpen !== true,
    abort: () => end({ status: "aborted" }),
  };
  context.openTurns.add(unended);
  return {
    id: draft.turn.id,
    session,
    branch: branch.record.id,
    relation,
    get fitted() {
      return fitted;
    },
    get shortened() {
      return shortenedOutput(draft, fitted, rounds?.tokens);
    },
    overflowed: async (overflow) => {
      const smaller = await whileEditing(log, () =>
        fitAgain(context, draft, {
          ...{ fitted, overflow, attempt, isOff: begun.isOff === true },
          lookedUpTokens: rounds?.tokens,
        }),
      );
      attempt++;
      if (smaller !== undefined) fitted = smaller;
      return smaller !== undefined;
    },
    rounds,
    end,
  };
}
