/**
 * Which session, and which branch of it, does a request continue? Pure decisions over what is known.
 * A wrong guess groups turns badly but can never change a request: edits hold only for messages whose
 * whole history is identical.
 */

import type { Relation } from "../message/event.ts";
import type { Role } from "../message/message.ts";
import type { NodeRecord } from "../store/store.ts";
import { type BranchState, findCommon, type Link, pathTo, type SessionLog } from "./log.ts";

/** What the client said about the conversation, outside of its messages. */
export interface SessionHints {
  /** Its own name for the session, as `client:name`. */
  readonly clientKey?: string;
  /** Our name for it, from an earlier answer. */
  readonly sessionId?: string;
  /** Which of several agents under that name; undefined is the main one. */
  readonly agent?: string;
  /** The client says that it has just compacted the conversation by itself. */
  readonly isCompacted: boolean;
}

export interface RequestShape {
  readonly links: readonly Link[];
  readonly roles: readonly Role[];
  readonly identities: readonly string[];
  /** The last message that stands for others which the provider or the client has taken out; -1 when there is none. */
  readonly compactedFrom: number;
}

export interface Placement {
  readonly relation: Relation;
  /** Absent: a new branch. */
  readonly branch?: BranchState;
  /** Leading messages that are already in the log, and the last of them. */
  readonly common: number;
  readonly parent: number | null;
}

export function placeInSession(
  log: SessionLog,
  request: RequestShape,
  hints: SessionHints,
): Placement {
  const { common, seq } = findCommon(log, request.links);
  const place = { common, parent: seq };
  if (log.branches.size === 0) return { ...place, relation: "new" };
  const nearest = nearestBranch(log, seq, hints.agent);
  if (nearest === undefined) return { ...place, relation: "fork" };
  const { branch } = nearest;
  if (common === 0) return { ...place, ...placeWithoutCommon(log, branch, request, hints) };
  const added = request.roles.length - common;
  const isAnswerOnly = nearest.ahead.every((node) => node.source === "answer");
  if (nearest.ahead.length === 0 || isAnswerOnly) {
    return { ...place, ...placeAtTip(nearest, request, { added, common }) };
  }
  if (request.compactedFrom >= common) return { ...place, relation: "compacted", branch };
  const isLonger = request.roles.length > requestLength(log, branch);
  if (added > 0 && isLonger && branch.inFlight === 0)
    return { ...place, relation: "edited", branch };
  return { ...place, relation: "rewind" };
}

interface Nearest {
  readonly branch: BranchState;
  /** What the branch has beyond the last message that it shares with the request. */
  readonly ahead: readonly NodeRecord[];
}

/** The branch of this agent that shares most with the request; of equals the newest. */
function nearestBranch(
  log: SessionLog,
  seq: number | null,
  agent: string | undefined,
): Nearest | undefined {
  const own = [...log.branches.values()].filter(({ record }) => record.agent === agent);
  return branchThatEnds(log, seq, own) ?? branchThatSharesMost(log, seq, own);
}

/** As nearly always: the last known message is where a branch stands, but for its answer. */
function branchThatEnds(
  log: SessionLog,
  seq: number | null,
  own: readonly BranchState[],
): Nearest | undefined {
  for (const branch of own.toReversed()) {
    const tip = log.nodes.get(branch.record.tipSeq ?? -1);
    if (tip === undefined || seq === null) continue;
    if (tip.seq === seq) return { branch, ahead: [] };
    if (tip.source === "answer" && tip.parent === seq) return { branch, ahead: [tip] };
  }
  return undefined;
}

function branchThatSharesMost(
  log: SessionLog,
  seq: number | null,
  own: readonly BranchState[],
): Nearest | undefined {
  const known = new Set(pathTo(log, seq).map((node) => node.seq));
  let best: (Nearest & { readonly shared: number }) | undefined;
  for (const branch of own) {
    const path = pathTo(log, branch.record.tipSeq);
    const shared = path.findLastIndex((node) => known.has(node.seq)) + 1;
    if (best === undefined || shared >= best.shared)
      best = { branch, shared, ahead: path.slice(shared) };
  }
  return best;
}

/** The request knows everything of the branch, but perhaps not its last answer. */
function placeAtTip(
  { branch, ahead }: Nearest,
  request: RequestShape,
  { added, common }: { readonly added: number; readonly common: number },
): Pick<Placement, "relation" | "branch"> {
  if (added === 0) return { relation: "retry", branch };
  const hasAnswerOfItsOwn = request.roles[common] === "assistant";
  if (ahead.length === 0) {
    // A second request on top of a turn that still runs is a sibling of it, not its continuation.
    const isSibling = branch.inFlight > 0 && !hasAnswerOfItsOwn;
    return isSibling ? { relation: "fork" } : { relation: "extends", branch };
  }
  if (hasAnswerOfItsOwn) return { relation: "edited", branch };
  const hasAnswer = ahead.some((node) => node.isComplete);
  return hasAnswer ? { relation: "rewind" } : { relation: "extends", branch };
}

/** No message in common: the client compacted or changed its first message, or this is another agent. */
function placeWithoutCommon(
  log: SessionLog,
  branch: BranchState,
  request: RequestShape,
  hints: SessionHints,
): Pick<Placement, "relation" | "branch"> {
  if (hints.isCompacted) return { relation: "compacted", branch };
  const answers = pathTo(log, branch.record.tipSeq)
    .filter((node) => node.source === "answer")
    .map((node) => node.identity);
  const isKin =
    answers.length === 0 || request.identities.some((identity) => answers.includes(identity));
  const isLonger = request.roles.length > requestLength(log, branch);
  return isLonger && isKin && branch.inFlight === 0
    ? { relation: "edited", branch }
    : { relation: "fork" };
}

/** Messages of the branch without its last answer: what its last request had. */
function requestLength(log: SessionLog, branch: BranchState): number {
  const path = pathTo(log, branch.record.tipSeq);
  return path.at(-1)?.source === "answer" ? path.length - 1 : path.length;
}

/**
 * Without a name from the client: does the request continue this session? A shared beginning is not
 * enough, for many conversations begin alike; a shared answer or result is, and so is picking up
 * where the session stands.
 */
export function continuesSession(log: SessionLog, request: RequestShape): boolean {
  const { common, seq } = findCommon(log, request.links);
  if (common === 0) return isLooseMatch(log, request);
  if (request.roles.slice(0, common).includes("assistant")) return true;
  return standsAt(log, request, seq) || sharesReply(log, request, common);
}

/** Some branch of the session ends, but for its answer, with the last message that both know. */
function standsAt(log: SessionLog, request: RequestShape, seq: number | null): boolean {
  const common = pathTo(log, seq).length;
  return [...log.branches.values()].some(({ record, inFlight }) => {
    const [tip, before] = pathTo(log, record.tipSeq).slice(-2).reverse();
    if (inFlight > 0) return false;
    if (tip?.source !== "answer") return tip?.seq === seq;
    return before?.seq === seq && request.roles[common] === "assistant";
  });
}

function sharesReply(log: SessionLog, request: RequestShape, common: number): boolean {
  const later = new Set(
    request.identities.filter((_, index) => index >= common && isReply(request.roles[index])),
  );
  return [...log.nodes.values()].some((node) => isReply(node.role) && later.has(node.identity));
}

function isReply(role: Role | undefined): boolean {
  return role === "assistant" || role === "tool";
}

/** The leading system prompt differs in its digits only, as when it tells the date. */
function isLooseMatch(log: SessionLog, request: RequestShape): boolean {
  const known = new Set([...log.nodes.values()].map((node) => node.looseChain ?? node.chain));
  const common = request.links.filter(({ looseChain }) => known.has(looseChain)).length;
  const spoken = request.roles.slice(0, common).filter((role) => role !== "system").length;
  return spoken > 0 && request.roles.slice(common).includes("assistant");
}
