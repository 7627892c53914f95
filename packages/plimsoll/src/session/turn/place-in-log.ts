/** Finds the session and branch of a request and appends its new messages to the log. */

import { PlimsollError } from "../../message/error.ts";
import type { NodeRecord, Store } from "../../store/store.ts";
import type { SessionCache } from "../identify/find-session.ts";
import { linksIn, newLead, ownLink } from "../identify/named-links.ts";
import {
  continueBlindly,
  type Placement,
  placeInSession,
  shapeOf,
} from "../identify/place-request.ts";
import type { References } from "../identify/provider-ids.ts";
import { bringsAnswers, recallAnswers } from "../identify/recall-answers.ts";
import { type WholeConversation, wholeConversation } from "../identify/server-side-history.ts";
import { keepSpellings } from "../identify/spellings.ts";
import {
  type Appending,
  announceSession,
  appendInSteps,
  type MessageToAppend,
  type Placed,
  placingIn,
  startNewBranch,
  type Tip,
} from "../log/append.ts";
import { leftBehind } from "../log/echoes.ts";
import { newId } from "../log/ids.ts";
import {
  type BranchState,
  type Link,
  moveTip,
  pathBehind,
  remember,
  rootLink,
  type SessionLog,
  whileInUse,
} from "../log/log.ts";
import type { Mender } from "../log/mend.ts";
import type { Calibrations } from "../measure/calibrations.ts";
import type { Incoming } from "./context.ts";
import type { ReadRequest } from "./read-request.ts";

export interface PlacingWorld {
  readonly store: Pick<Store, "bodies" | "clientSpellings">;
  readonly sessions: SessionCache;
  readonly references: References;
  readonly calibrations: Calibrations;
  readonly mender: Pick<Mender, "isSpoilt">;
  readonly now: () => number;
  /** Runs tasks with the same name one after the other, so that two requests never search for the same session at once. */
  readonly exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

export interface PlacedRequest {
  readonly turn: { readonly id: string; readonly at: number };
  readonly whole: WholeConversation;
  readonly placed: Placed;
}

export async function placeInLog(world: PlacingWorld, read: ReadRequest): Promise<PlacedRequest> {
  const { incoming, targets, preambleRatio } = read;
  const { tenant, wire } = incoming;
  const whole = await wholeConversation(world, { ...read, tenant, wire: wire.name });
  const turn = { id: newId("turn"), at: world.now() };
  const placed = await world.exclusively(queueOf(incoming), () =>
    place(world, read, { turn, whole }),
  );
  world.calibrations.expect(placed.log, targets[0], preambleRatio);
  return { turn, whole, placed };
}

/**
 * Name of the queue in which a request waits. If one client uses several credentials for the same session, all its requests share
 * a queue.
 */
function queueOf({ tenant, hints: { clientKey }, isRefreshable }: Incoming): string {
  const isShared = isRefreshable === true && clientKey !== undefined;
  return `${isShared ? "" : tenant}\0${clientKey ?? ""}`;
}

type Placing = Omit<PlacedRequest, "placed">;

async function place(world: PlacingWorld, read: ReadRequest, placing: Placing): Promise<Placed> {
  const log = await sessionFor(world, read, placing);
  // While messages are added in steps, no other request may look for its place: the branch would seem to end too early.
  return world.exclusively(placingIn(log), () => placeIn(world, log, read, placing));
}

async function placeIn(
  world: PlacingWorld,
  log: SessionLog,
  read: ReadRequest,
  placing: Placing,
): Promise<Placed> {
  const position = positionIn(log, read, placing);
  const { branch, found, named } = position;
  const left = leftBy(position);
  const added = messagesBehind(read, placing, position);
  const tip = await append(position, added, {
    turn: placing.turn,
    left,
    priority: read.incoming.priority,
  });
  const { messages, links, serverSideCount } = placing.whole;
  keepSpellings(log, { messages, named, bytes: read.bytes, serverSideCount }, found.common);
  world.sessions.noteAnswers(log);
  const leadingMessages = newLead(messages, { links, named }, read.bytes);
  noteReceived(read, position, { left, hasOtherLead: leadingMessages !== undefined });
  return {
    log,
    branch,
    relation: found.relation,
    tip,
    newMessages: added.length,
    links: named,
    ...(leadingMessages === undefined ? {} : { leadingMessages }),
  };
}

/**
 * Appends the new messages, moves the tip of the branch to the last one, and notes that a turn is under way. Contract: nobody else
 * places a request in this log meanwhile.
 */
async function append(
  position: Position,
  added: readonly MessageToAppend[],
  {
    turn,
    left,
    priority,
  }: Pick<Placing, "turn"> & {
    readonly left: readonly NodeRecord[];
    readonly priority: Incoming["priority"] | undefined;
  },
): Promise<Tip> {
  const { log, branch } = position;
  const appending: Appending = {
    turn: turn.id,
    branch: branch.record.id,
    source: "request",
    isComplete: true,
    at: turn.at,
    left: leftBehind(left),
    priority,
  };
  const tip = await appendInSteps(log, knownTip(position), added, appending);
  moveTip(branch, tip.seq);
  branch.inFlight++;
  return tip;
}

/** The session that the request names or continues, or a new one. */
async function sessionFor(
  { sessions, mender, store }: PlacingWorld,
  { incoming }: ReadRequest,
  { whole, turn }: Placing,
): Promise<SessionLog> {
  const { tenant, wire, hints, isFreshSearch = false, isRefreshable = false } = incoming;
  const request = shapeOf(whole.messages, whole.links);
  const { log, isNew } =
    whole.log === undefined
      ? await sessions.find({
          tenant,
          wire: wire.name,
          request,
          hints,
          isFreshSearch,
          isRefreshable,
        })
      : { log: whole.log, isNew: false };
  if (mender.isSpoilt(log.record.id)) throw spoiltSession(log.record.id);
  if (isNew) announceSession(log, hints.agent, turn.at);
  if (bringsAnswers(log, whole)) await whileInUse(log, () => recallAnswers(store, log));
  return log;
}

/** The error for a session that was read without a fault, but in which damage was found since then. */
function spoiltSession(session: string): PlimsollError {
  const message = `Session ${session} is damaged.`;
  return new PlimsollError("STORE_CORRUPT", message, { fields: { session } });
}

interface Position {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly found: Placement;
  /** Links of all messages of the request, as they are in the log. */
  readonly named: readonly Link[];
  /** The link after which to append, if only the provider knows where the request continues. Otherwise absent. */
  readonly blindly?: Link;
}

function positionIn(log: SessionLog, { incoming }: ReadRequest, placing: Placing): Position {
  const { hints } = incoming;
  const { messages, links, isUnknown } = placing.whole;
  const blindly = isUnknown ? continueBlindly(log, hints) : undefined;
  const named = linksIn(log, messages, links);
  const shape = { ...shapeOf(messages, links), links: named };
  const found = blindly?.place ?? placeInSession(log, shape, hints);
  const branch =
    found.branch ??
    startNewBranch(log, {
      relation: found.relation,
      forkSeq: found.parent,
      left: found.left?.record.id,
      agent: hints.agent,
      at: placing.turn.at,
    });
  const position = { log, branch, found, named };
  return blindly === undefined ? position : { ...position, blindly: blindly.link };
}

/** The last message of the request that is already in the log. */
function knownTip({ log, found, named, blindly }: Position): Tip {
  const link = blindly ?? named[found.common - 1] ?? rootLink(log.record.wire);
  return { seq: found.parent, link };
}

function messagesBehind(
  { bytes }: ReadRequest,
  { whole: { messages, links, serverSideCount } }: Placing,
  { found: { common }, named, blindly }: Position,
): readonly MessageToAppend[] {
  return messages.slice(common).map((message, index) => ({
    message,
    bytes: bytes[common + index - serverSideCount] ?? new Uint8Array(),
    link: blindly === undefined ? ownLink({ links, named }, common + index) : undefined,
  }));
}

/** Messages that the client has replaced with other messages. */
function leftBy({ log, branch, found }: Position): readonly NodeRecord[] {
  if (found.relation !== "edited") return [];
  return pathBehind(log, branch.record.tipSeq, found.parent);
}

function noteReceived(
  { incoming: { tenant, hints } }: ReadRequest,
  { log, branch, found }: Position,
  { left, hasOtherLead }: { readonly left: readonly NodeRecord[]; readonly hasOtherLead: boolean },
): void {
  const count = left.filter(({ source }) => source !== "answer").length;
  const isEdited = found.relation === "edited";
  if (hints.task !== undefined) remember(branch, { kind: "works-on", task: hints.task });
  remember(branch, {
    kind: "received",
    hasOtherLead,
    ...(isEdited ? { rewritten: { from: found.common, count } } : {}),
    ...(tenant === log.record.tenant ? {} : { guest: tenant }),
  });
}
