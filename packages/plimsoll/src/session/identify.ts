/**
 * Which session, and which branch of it, does a request continue? Pure decisions over what is known.
 *
 * A client says so by a name of its own, or shows that it was there: its request contains an answer that Plimsoll recorded.
 * A shared beginning proves nothing, for many conversations begin alike. Where nothing is proven a request is a new session:
 * a conversation that is split costs a little, one that is joined to another's shows somebody words that are not theirs.
 */

import type { Relation } from "../message/event.ts";
import { answerKeyOf } from "../store/chain.ts";
import type { NodeRecord } from "../store/store.ts";
import {
  type BranchState,
  extendLinks,
  findCommon,
  type Link,
  type LogMessage,
  linksIn,
  pathTo,
  rootLink,
  type SessionLog,
} from "./log.ts";

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
  readonly messages: readonly LogMessage[];
  /** The last message that stands for others which the provider or the client has taken out; -1 when there is none. */
  readonly compactedFrom: number;
}

export function shapeOf(messages: readonly LogMessage[], links: readonly Link[]): RequestShape {
  const compactedFrom = messages.findLastIndex(({ isCompaction }) => isCompaction === true);
  return { messages, links, compactedFrom };
}

export interface Placement {
  readonly relation: Relation;
  /** Absent: a new branch. */
  readonly branch?: BranchState;
  /** Of a new branch: the one that the client left behind. */
  readonly left?: BranchState;
  /** Leading messages that are already in the log, and the last of them. */
  readonly common: number;
  readonly parent: number | null;
}

/** Contract: the links of the request are named as the log names them (`linksIn`). */
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
  const { messages } = request;
  const isAnswerOnly = nearest.ahead.every((node) => node.source === "answer");
  if (nearest.ahead.length === 0 || isAnswerOnly) {
    return { ...place, ...placeAtTip(nearest, request, common) };
  }
  if (request.compactedFrom >= common) return { ...place, relation: "compacted", branch };
  const isLonger = messages.length > requestLength(log, branch);
  if (messages.length > common && isLonger && branch.inFlight === 0)
    return { ...place, relation: "edited", branch };
  return { ...place, relation: "rewind", left: branch };
}

interface Nearest {
  readonly branch: BranchState;
  /** What the branch has beyond the last message that it shares with the request. */
  readonly ahead: readonly NodeRecord[];
}

/** A session that was forked more often than this is compared with its newest branches only. */
const maxCompared = 64;

/** The branch of this agent that shares most with the request; of equals the newest. */
function nearestBranch(
  log: SessionLog,
  seq: number | null,
  agent: string | undefined,
): Nearest | undefined {
  const own = [...log.branches.values()].filter(({ record }) => record.agent === agent);
  return branchThatEnds(log, seq, own) ?? branchThatSharesMost(log, seq, own.slice(-maxCompared));
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
  { messages }: RequestShape,
  common: number,
): Pick<Placement, "relation" | "branch" | "left"> {
  if (messages.length === common) return { relation: "retry", branch };
  const hasAnswerOfItsOwn = messages[common]?.role === "assistant";
  if (ahead.length === 0) {
    // A second request on top of a turn that still runs is a sibling of it, not its continuation.
    const isSibling = branch.inFlight > 0 && !hasAnswerOfItsOwn;
    return isSibling ? { relation: "fork" } : { relation: "extends", branch };
  }
  if (hasAnswerOfItsOwn) return { relation: "edited", branch };
  const hasAnswer = ahead.some((node) => node.isComplete);
  return hasAnswer ? { relation: "rewind", left: branch } : { relation: "extends", branch };
}

/** No message in common: the client compacted or changed its first message, or this is another agent. */
function placeWithoutCommon(
  log: SessionLog,
  branch: BranchState,
  { messages }: RequestShape,
  hints: SessionHints,
): Pick<Placement, "relation" | "branch"> {
  if (hints.isCompacted) return { relation: "compacted", branch };
  const answers = pathTo(log, branch.record.tipSeq)
    .filter((node) => node.source === "answer")
    .map((node) => node.identity);
  const isKin = answers.length === 0 || messages.some(({ identity }) => answers.includes(identity));
  const isLonger = messages.length > requestLength(log, branch);
  return isLonger && isKin && branch.inFlight === 0
    ? { relation: "edited", branch }
    : { relation: "fork" };
}

/** Messages of the branch without its last answer: what its last request had. */
function requestLength(log: SessionLog, branch: BranchState): number {
  const path = pathTo(log, branch.record.tipSeq);
  return path.at(-1)?.source === "answer" ? path.length - 1 : path.length;
}

/** A request that goes on after an answer has it among its last ones. */
const maxKeys = 128;

/** What the answers in a request would be recorded under, the last of them first. */
export function answerKeysOf(wire: string, { messages, links }: RequestShape): readonly string[] {
  const hasOld = messages.some(({ oldIdentity }) => oldIdentity !== undefined);
  const keys = keysAlong(wire, messages, links);
  if (!hasOld) return keys.slice(0, maxKeys);
  const old = messages.map(({ oldIdentity, ...message }) => ({
    ...message,
    identity: oldIdentity ?? message.identity,
  }));
  return [...keys, ...keysAlong(wire, old, extendLinks(wire, [], old))].slice(0, maxKeys);
}

/**
 * An answer is one message, or several in a row of which clients send back some: each of them is looked for behind
 * the message before it, and behind the request that all of them answered.
 */
function keysAlong(
  wire: string,
  messages: readonly LogMessage[],
  links: readonly Link[],
): readonly string[] {
  const keys: string[] = [];
  for (let index = messages.length - 1; index >= 0 && keys.length < maxKeys; index--) {
    const [message, link] = [messages[index], links[index]];
    if (message?.role !== "assistant" || link === undefined) continue;
    keys.push(link.talk);
    const first = startOfRun(messages, index);
    if (first === index) continue;
    const before = links[first - 1]?.talk ?? rootLink(wire).talk;
    keys.push(answerKeyOf(before, message.identity));
  }
  return keys;
}

/** The first of the assistant's messages in a row that one of them is in. */
function startOfRun(messages: readonly LogMessage[], index: number): number {
  let first = index;
  while (messages[first - 1]?.role === "assistant") first--;
  return first;
}

/** Without a name from the client: what a request shows of a session. */
export type Continuation =
  | { readonly kind: "stranger" }
  /**
   * It knows every word of a branch, and goes on behind its end. `isAlone`: there is nothing else in the branch either
   * that it could be shown.
   */
  | {
      readonly kind: "goes-on";
      readonly common: number;
      readonly isAlone: boolean;
      readonly key: string;
    }
  /** It knows the beginning of a branch, with several answers that nobody else was given. */
  | { readonly kind: "went-back"; readonly common: number; readonly key: string };

/**
 * So many answers of one conversation are not given to another by chance. One may be: a greeting is answered with the same
 * greeting.
 */
const answersThatProve = 2;

export function continuationOf(
  log: SessionLog,
  request: RequestShape,
  agent: string | undefined,
): Continuation {
  const shape = { ...request, links: linksIn(log, request.messages, request.links) };
  const { common, seq } = findCommon(log, shape.links);
  if (seq === null) return { kind: "stranger" };
  const path = pathTo(log, seq);
  const end = endedBranch(log, shape, { common, path, agent });
  const answers = [...path, ...(end?.ahead ?? [])].filter(({ source }) => source === "answer");
  const key = answers.at(-1)?.answerKey ?? "";
  if (end !== undefined) return { kind: "goes-on", common, key, isAlone: isAlone(log, end.branch) };
  const turns = new Set(answers.map(({ turn }) => turn));
  return turns.size >= answersThatProve ? { kind: "went-back", common, key } : { kind: "stranger" };
}

interface KnownPart {
  readonly common: number;
  readonly path: readonly NodeRecord[];
  readonly agent: string | undefined;
}

/** The branch that stands where the request goes on, if it shows an answer of it or repeats it word for word. */
function endedBranch(
  log: SessionLog,
  { messages }: RequestShape,
  { common, path, agent }: KnownPart,
): Nearest | undefined {
  const last = path.at(-1);
  const hasAnswer = path.some(({ source }) => source === "answer");
  const mayGoOn = (branch: BranchState, ahead: readonly NodeRecord[]): boolean => {
    if (ahead.length > 0) return repeatsOne(messages.slice(common), ahead);
    if (last?.source === "answer") return true;
    return branch.inFlight === 0 && (hasAnswer || messages.length === common);
  };
  for (const branch of [...log.branches.values()].toReversed().slice(0, maxCompared)) {
    if (branch.record.agent !== agent) continue;
    const ahead = answersAhead(log, branch, last?.seq ?? null);
    if (ahead !== undefined && mayGoOn(branch, ahead)) return { branch, ahead };
  }
  return undefined;
}

/** What the branch has behind a message, if that is nothing but its last answer. */
function answersAhead(
  log: SessionLog,
  { record }: BranchState,
  seq: number | null,
): readonly NodeRecord[] | undefined {
  const ahead: NodeRecord[] = [];
  for (let node = log.nodes.get(record.tipSeq ?? -1); node?.seq !== seq; ) {
    if (node?.source !== "answer") return undefined;
    ahead.unshift(node);
    if (node.parent === null) return undefined;
    node = log.nodes.get(node.parent);
  }
  return ahead;
}

/** A client may leave something of an answer out (its reasoning): what it does send back is word for word. */
function repeatsOne(messages: readonly LogMessage[], answer: readonly NodeRecord[]): boolean {
  const end = messages.findIndex(({ role }) => role !== "assistant");
  const run = end < 0 ? messages : messages.slice(0, end);
  return answer.some(({ identity }) =>
    run.some((message) => message.identity === identity || message.oldIdentity === identity),
  );
}

/** Whether a branch has only its path: nothing that its client left behind, no other answer. */
function isAlone(log: SessionLog, { record }: BranchState): boolean {
  if (record.left !== undefined) return false;
  const path = pathTo(log, record.tipSeq).filter(({ branch }) => branch === record.id);
  return path.length === (log.countOn.get(record.id) ?? 0);
}
