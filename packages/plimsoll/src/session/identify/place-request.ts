/**
 * Which session, and which branch of it, does a request continue? Pure decisions over what is known.
 *
 * A client says so by a name of its own, or shows that it was there: its request contains an answer that Plimsoll recorded.
 * A shared beginning proves nothing, for many conversations begin alike. Where nothing is proven a request is a new session:
 * a conversation that is split costs a little, one that is joined to another's shows somebody words that are not theirs.
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
  /** What the branch has beyond the last message that it shares with the request. */
  readonly ahead: readonly NodeRecord[];
}

/** A session that was forked more often than this is compared with its newest branches only. */
const maxCompared = 64;

/** The branch of this agent that shares most with the request; of equals the newest. */
export function nearestBranch(
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

/** Whether a client that has left the path has the last answer all the same: then it has not gone back behind it. */
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

/** The request knows everything of the branch, but perhaps not its last answer. */
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
    // A second request on top of a turn that still runs is a sibling of it, not its continuation.
    const isSibling = branch.inFlight > 0 && !hasAnswerOfItsOwn;
    return isSibling ? { relation: "fork" } : { relation: "extends", branch };
  }
  if (hasAnswerOfItsOwn || repeatsAnswer(log, nearest, messages, common))
    return { relation: "edited", branch };
  const hasAnswer = ahead.some((node) => node.isComplete);
  return hasAnswer ? { relation: "rewind", left: branch } : { relation: "extends", branch };
}

/** No message in common: the client compacted, it spells its first message otherwise, or this is another agent. */
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

/** Nothing that a client keeps of a long conversation says which one it was: it is the longest that there is. */
function longestBranch(log: SessionLog, agent: string | undefined): BranchState | undefined {
  const own = [...log.branches.values()].filter(({ record }) => record.agent === agent);
  const lengths = new Map(
    own.slice(-maxCompared).map((branch) => [branch, pathTo(log, branch.record.tipSeq).length]),
  );
  return [...lengths].toSorted(([, one], [, other]) => other - one)[0]?.[0];
}

/** Messages of the branch without its last answer: what its last request had. */
function requestLength(log: SessionLog, branch: BranchState): number {
  const path = pathTo(log, branch.record.tipSeq);
  return path.findLastIndex(({ source }) => source !== "answer") + 1;
}

/** Below whatever came last: the client says that it goes on, and only the provider knows from where. */
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

/** A request that goes on after an answer has it among its last ones. */
const maxTalks = 128;

/** What was said up to each answer in a request, the last of them first. */
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

/** Without a name from the client: what a request shows of a session. */
export type Continuation =
  | { readonly kind: "stranger" }
  /** It knows every word of a branch, but perhaps for reasoning, and goes on behind its end. */
  | { readonly kind: "goes-on"; readonly common: number; readonly proof: readonly string[] }
  /** It knows the beginning of a branch with several answers, and brings none that the session does not have. */
  | { readonly kind: "went-back"; readonly common: number; readonly proof: readonly string[] };

/**
 * So many answers of one conversation are not given to another by chance. One may be: a greeting is answered with the same
 * greeting.
 */
const answersThatProve = 2;

/** `proof`: talks that no other session may have. */
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
  // Where there is more in a branch than its path, one answer is too little to be shown it.
  if (branch !== undefined && (turns >= answersThatProve || isAlone(log, branch)))
    return { kind: "goes-on", common, proof: [answered] };
  if (turns < answersThatProve || bringsOthers(log, messages.slice(common)))
    return { kind: "stranger" };
  // Somebody else may have asked the same, and been answered without a record of it.
  const asked = path.findLast(({ source, talk }) => source !== "answer" && talk !== undefined);
  return { kind: "went-back", common, proof: [answered, asked?.talk ?? answered] };
}

/**
 * Whether a request has the words of the answers that it shares with a session. Where a server numbers its calls, the ids in
 * them prove nothing. Contract: the log knows what its answers have said (`recallAnswers`).
 */
export function hasWordsInCommon(
  log: SessionLog,
  { messages }: RequestShape,
  talks: readonly string[],
): boolean {
  const last = talks.findLast((talk) => log.seqByTalk.has(talk)) ?? "";
  // Of several messages with one talk, the first has changed it.
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

/** A branch of this agent that stands at this message, or at another part or choice of the same answer. */
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

/** Whoever goes back says something new. Answers that this session never gave are another conversation's. */
function bringsOthers(log: SessionLog, messages: readonly LogMessage[]): boolean {
  const answers = messages.filter(({ role }) => role === "assistant");
  if (answers.length === 0) return false;
  const known = new Set([...log.nodes.values()].map(({ identity }) => identity));
  return answers.some(
    ({ identity, oldIdentity = identity }) => !known.has(identity) && !known.has(oldIdentity),
  );
}

/**
 * Whether a branch has only its path: nothing that its client left behind, no second choice. An answer that was broken off, or
 * that the client sends back in other bytes, says no more than the one on the path; what the model looked up for an answer
 * belongs to it.
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

/** Whether a message says no more than the path does. Answers with the same ids in their calls may say something else. */
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
