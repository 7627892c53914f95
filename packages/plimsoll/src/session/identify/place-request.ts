/**
 * Decides which session and which branch a request continues. Pure functions; find-session.ts and turn/place-in-log.ts call them.
 *
 * Session: a client can name its session by Plimsoll's session id, by its own name for the session, or by the provider's id of an
 * earlier answer. Without a name, the request must contain an answer that Plimsoll recorded and that no other session contains
 * (`continuationOf`). To go on at the end of a branch, a request needs one such answer, or two if the branch also has messages
 * off its path (`isAlone`). To go back in a branch, a request needs two such answers, and must not contain answers that are not
 * in the session. Any other request begins a new session, because many conversations begin alike, and a wrong match would show
 * people the words of others.
 *
 * Branch (`placeInSession`): Plimsoll compares the request with the branch of its agent that has most messages in common with it.
 * - "retry", "extends": the request repeats that branch, or goes on at its end. It stays on this branch.
 * - "compacted", "edited": the client has compacted or changed its history. The request stays on this branch. It is "edited"
 *   only if the request is longer than the last request, or contains the last answer.
 * - "rewind": otherwise the client has gone back. The request begins a new branch, which remembers the old branch.
 * - "fork": the agent is new, no message is in common, or a turn is still running at the end of the branch. The request begins a
 *   new branch.
 *
 * Invariant: a request joins a session only by a name or by recorded answers. Only the messages after the common beginning are
 * added to the log.
 */

import type { Relation } from "../../message/event.ts";
import type { NodeRecord } from "../../store/store.ts";
import { echoIn, hasSameWords } from "../log/echoes.ts";
import {
  type BranchState,
  findCommon,
  type Link,
  type LogMessage,
  linksOfPath,
  pathTo,
  rootLink,
  type SessionLog,
} from "../log/log.ts";

/** The client's hints about the conversation, outside of its messages. */
export interface SessionHints {
  /** The client's own name for the session, as `client:name`. */
  readonly clientKey?: string;
  /** Plimsoll's id of the session, from an earlier answer. */
  readonly sessionId?: string;
  /** The agent that sent the request, if several agents share the session. Undefined for the main agent. */
  readonly agent?: string;
  /** Name of the program that sent the request. */
  readonly client?: string;
  /** The task on which the agent works. */
  readonly task?: string;
  /** The folder in which the agent works. */
  readonly folder?: string;
  /** Whether the client says that it has just compacted the conversation itself. */
  readonly isCompacted: boolean;
}

export interface RequestShape {
  readonly links: readonly Link[];
  readonly messages: readonly LogMessage[];
  /** Index of the last message that the provider or the client put in place of older messages, or -1 if there is none. */
  readonly compactedFrom: number;
}

export function shapeOf(messages: readonly LogMessage[], links: readonly Link[]): RequestShape {
  const compactedFrom = messages.findLastIndex(({ isCompaction }) => isCompaction === true);
  return { messages, links, compactedFrom };
}

export interface Placement {
  readonly relation: Relation;
  /** The branch that the request continues. Undefined if the request begins a new branch. */
  readonly branch?: BranchState;
  /** The branch that the client left, if it went back and so began a new branch. */
  readonly left?: BranchState;
  /** Number of messages at the start of the request that the log already has. `parent` is the last of these messages. */
  readonly common: number;
  readonly parent: number | null;
}

/** Contract: the links of the request come from `linksIn`, so they name messages as the log does. */
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
    return { ...place, ...placeAtTip(log, nearest, request, common) };
  }
  if (request.compactedFrom >= common) return { ...place, relation: "compacted", branch };
  const isLonger =
    messages.length > requestLength(log, branch) || repeatsAnswer(log, nearest, messages, common);
  if (messages.length > common && isLonger && branch.inFlight === 0)
    return { ...place, relation: "edited", branch };
  return { ...place, relation: "rewind", left: branch };
}

export interface Nearest {
  readonly branch: BranchState;
  /** Messages of the branch after the last message that it has in common with the request. */
  readonly ahead: readonly NodeRecord[];
}

/** Maximum number of branches to compare. If a session has more, only the newest are compared. */
const maxCompared = 64;

/**
 * The branch of this agent that has most messages in common with the request. If several have equally many, the newest of them.
 */
export function nearestBranch(
  log: SessionLog,
  seq: number | null,
  agent: string | undefined,
): Nearest | undefined {
  const own = [...log.branches.values()].filter(({ record }) => record.agent === agent);
  return branchThatEnds(log, seq, own) ?? branchThatSharesMost(log, seq, own.slice(-maxCompared));
}

/**
 * Finds the branch in the usual case: the last known message of the request is the end of a branch, or comes just before the
 * branch's last answer.
 */
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

/** Whether the request differs from the branch but still contains its last answer. If so, the client has not gone back. */
function repeatsAnswer(
  log: SessionLog,
  { ahead }: Nearest,
  messages: readonly LogMessage[],
  common: number,
): boolean {
  const last = ahead.findLast(({ source }) => source === "answer");
  const answers = messages.slice(common).map((message) => echoIn(log, message)?.of ?? -1);
  return last !== undefined && answers.some((seq) => log.nodes.get(seq)?.turn === last.turn);
}

/** Places a request that contains every message of the branch, or every message except the last answer. */
function placeAtTip(
  log: SessionLog,
  nearest: Nearest,
  { messages }: RequestShape,
  common: number,
): Pick<Placement, "relation" | "branch" | "left"> {
  const { branch, ahead } = nearest;
  if (messages.length === common) return { relation: "retry", branch };
  const hasAnswerOfItsOwn = messages[common]?.role === "assistant";
  if (ahead.length === 0) {
    // While a turn is still running, a second request does not continue that turn, but begins a new branch next to it.
    const isSibling = branch.inFlight > 0 && !hasAnswerOfItsOwn;
    return isSibling ? { relation: "fork" } : { relation: "extends", branch };
  }
  if (hasAnswerOfItsOwn || repeatsAnswer(log, nearest, messages, common))
    return { relation: "edited", branch };
  const hasAnswer = ahead.some((node) => node.isComplete);
  return hasAnswer ? { relation: "rewind", left: branch } : { relation: "extends", branch };
}

/**
 * Places a request that has no message in common with the log. The client may have compacted, or spelled its first message
 * differently, or the request may come from another agent.
 */
function placeWithoutCommon(
  log: SessionLog,
  branch: BranchState,
  { messages, links }: RequestShape,
  hints: SessionHints,
): Pick<Placement, "relation" | "branch"> {
  if (hints.isCompacted)
    return { relation: "compacted", branch: longestBranch(log, hints.agent) ?? branch };
  const isKin =
    links.some(({ talk, isLeading }) => !isLeading && log.seqByTalk.has(talk)) ||
    messages.some((message) => echoIn(log, message) !== undefined);
  const isLonger = messages.length > requestLength(log, branch);
  return isLonger && isKin && branch.inFlight === 0
    ? { relation: "edited", branch }
    : { relation: "fork" };
}

/**
 * After a client has compacted its conversation, the request does not show which branch it continues. Plimsoll assumes the
 * longest branch.
 */
function longestBranch(log: SessionLog, agent: string | undefined): BranchState | undefined {
  const own = [...log.branches.values()].filter(({ record }) => record.agent === agent);
  const lengths = new Map(
    own.slice(-maxCompared).map((branch) => [branch, pathTo(log, branch.record.tipSeq).length]),
  );
  return [...lengths].toSorted(([, one], [, other]) => other - one)[0]?.[0];
}

/** Number of messages in the last request of a branch, which is the path of the branch without the last answer. */
function requestLength(log: SessionLog, branch: BranchState): number {
  const path = pathTo(log, branch.record.tipSeq);
  return path.findLastIndex(({ source }) => source !== "answer") + 1;
}

/** Places a request at the tip of its agent's branch. Used if the request continues a history that only the provider knows. */
export function continueBlindly(
  log: SessionLog,
  { agent }: SessionHints,
): { readonly place: Placement; readonly link: Link } | undefined {
  const branch = [...log.branches.values()].find(({ record }) => record.agent === agent);
  const tip = log.nodes.get(branch?.record.tipSeq ?? -1);
  if (branch === undefined || tip === undefined) return undefined;
  return {
    place: { relation: "continues", branch, common: 0, parent: tip.seq },
    link: linksOfPath(log.record.wire, pathTo(log, tip.seq)).at(-1) ?? rootLink(log.record.wire),
  };
}

/**
 * Maximum number of answers to compare, starting with the last. A request continues one of its last answers, so more are not
 * needed.
 */
const maxTalks = 128;

/** The hash `Link.talk` of the conversation up to each answer in a request, the last answer first. */
export function answeredTalks(
  { messages }: RequestShape,
  talks: readonly string[],
): readonly string[] {
  const found = new Set<string>();
  for (let index = messages.length - 1; index >= 0 && found.size < maxTalks; index--) {
    const talk = talks[index];
    if (messages[index]?.role === "assistant" && talk !== undefined) found.add(talk);
  }
  return [...found];
}

/** How a request relates to a session if the client gave no name for the session. */
export type Continuation =
  | { readonly kind: "stranger" }
  /** The request contains every word of a branch, except perhaps its reasoning, and continues after the end of the branch. */
  | { readonly kind: "goes-on"; readonly common: number; readonly proof: readonly string[] }
  /**
   * The request contains the beginning of a branch, with several answers. All other answers in the request are in the session,
   * too.
   */
  | { readonly kind: "went-back"; readonly common: number; readonly proof: readonly string[] };

/**
 * Number of common answers that prove that two conversations are the same. A single answer may be equal by chance, for example
 * the answer to a greeting.
 */
const answersThatProve = 2;

/**
 * Whether and how a request continues a session. `proof` contains hashes (`Link.talk`). The result is valid only if no other
 * session has them.
 */
export function continuationOf(
  log: SessionLog,
  { messages }: RequestShape,
  { talks, agent }: { readonly talks: readonly string[]; readonly agent: string | undefined },
): Continuation {
  const index = talks.findLastIndex((talk) => log.seqByTalk.has(talk));
  const node = log.nodes.get(log.seqByTalk.get(talks[index] ?? "") ?? -1);
  if (node === undefined) return { kind: "stranger" };
  const path = pathTo(log, node.seq);
  const answers = path.flatMap(({ talk = "" }) => (log.turnByTalk.has(talk) ? [talk] : []));
  const turns = new Set(answers.map((talk) => log.turnByTalk.get(talk))).size;
  const [common, answered] = [index + 1, answers.at(-1) ?? ""];
  if (turns === 0) return { kind: "stranger" };
  const branch = branchEndingAt(log, node, agent);
  // If the branch also has messages off its path, one answer is not enough proof to let the client see those.
  if (branch !== undefined && (turns >= answersThatProve || isAlone(log, branch)))
    return { kind: "goes-on", common, proof: [answered] };
  if (turns < answersThatProve || bringsOthers(log, messages.slice(common)))
    return { kind: "stranger" };
  // Another client may have asked the same question and not have an answer yet, so the question must be unique, too.
  const asked = path.findLast(({ source, talk }) => source !== "answer" && talk !== undefined);
  return { kind: "went-back", common, proof: [answered, asked?.talk ?? answered] };
}

/**
 * Whether the answers that a request shares with a session have the same words in both. Equal call ids prove nothing if the
 * server only numbers its calls (`call_0`, `call_1` …). Contract: `recallAnswers` has been called for this log.
 */
export function hasWordsInCommon(
  log: SessionLog,
  { messages }: RequestShape,
  talks: readonly string[],
): boolean {
  const last = talks.findLast((talk) => log.seqByTalk.has(talk)) ?? "";
  // A message without content has the same hash as the message before it. The map therefore contains the first message with each
  // hash.
  const byTalk = new Map(talks.map((talk, index) => [talk, messages[index]] as const).toReversed());
  const isRepeated = (node: NodeRecord): boolean => {
    const message = byTalk.get(node.talk ?? "");
    if (message?.marks?.isNumbered !== true) return true;
    const below = log.answersBelow.get(node.parent ?? 0) ?? [];
    const rivals = below.flatMap((seq) => log.nodes.get(seq) ?? []);
    return rivals.some((rival) => rival.talk === node.talk && hasSameWords(log, rival, message));
  };
  const path = pathTo(log, log.seqByTalk.get(last) ?? null);
  return path.every((node) => node.source !== "answer" || isRepeated(node));
}

/**
 * The branch of this agent that ends at this message. If the message is part of an answer, the branch may also end at another
 * message or at an alternative of that answer.
 */
function branchEndingAt(
  log: SessionLog,
  node: NodeRecord,
  agent: string | undefined,
): BranchState | undefined {
  const isEnd = ({ record, inFlight }: BranchState): boolean => {
    const tip = log.nodes.get(record.tipSeq ?? -1);
    if (tip === undefined || record.agent !== agent) return false;
    if (node.source !== "answer") return tip.seq === node.seq && inFlight === 0;
    return tip.seq === node.seq || (tip.source === "answer" && tip.turn === node.turn);
  };
  return [...log.branches.values()].slice(-maxCompared).findLast(isEnd);
}

/** Whether the request contains an answer that is not in this session, and so must come from another conversation. */
function bringsOthers(log: SessionLog, messages: readonly LogMessage[]): boolean {
  const answers = messages.filter(({ role }) => role === "assistant");
  if (answers.length === 0) return false;
  const known = new Set([...log.nodes.values()].map(({ identity }) => identity));
  return answers.some(
    ({ identity, oldIdentity = identity }) => !known.has(identity) && !known.has(oldIdentity),
  );
}

/**
 * Whether a branch has no messages off its path: its client abandoned none, and no answer has an alternative. An answer that was
 * cut off, or that the client spells differently, does not count, because it adds nothing to the answer on the path. Lookups are
 * part of their answer.
 */
export function isAlone(log: SessionLog, { record }: BranchState): boolean {
  if (record.left !== undefined) return false;
  const path = pathTo(log, record.tipSeq);
  const own = path.filter(({ branch }) => branch === record.id).length;
  if (own === (log.countOn.get(record.id) ?? 0)) return true;
  const isRepeated = repeatedOn(log, path);
  for (const node of log.nodes.values())
    if (node.branch === record.id && node.isComplete && !isRepeated(node)) return false;
  return true;
}

/**
 * Tells whether all words of a message are already on the path. Equal call ids are not enough, because such answers may still say
 * different things.
 */
function repeatedOn(log: SessionLog, path: readonly NodeRecord[]): (node: NodeRecord) => boolean {
  const talks = new Set(path.map(({ talk }) => talk));
  const words = new Set(path.flatMap(({ seq }) => log.words.get(seq) ?? []));
  const identities = new Set(path.map(({ identity }) => identity));
  return ({ seq, source, talk, identity }) => {
    if (talk === undefined || !talks.has(talk)) return false;
    const isOwn = source !== "answer" || identities.has(identity);
    return isOwn || log.words.get(seq)?.some((each) => words.has(each)) === true;
  };
}
