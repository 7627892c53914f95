/**
 * Decides whether a request under another credential comes from the same client after its credential was refreshed. Pure
 * functions.
 */

import { hasSameWords } from "../log/echoes.ts";
import { findCommon, pathTo, type SessionLog } from "../log/log.ts";
import { visibleOn } from "../log/visible.ts";
import { linksIn } from "./named-links.ts";
import {
  isAlone,
  nearestBranch,
  placeInSession,
  type RequestShape,
  type SessionHints,
} from "./place-request.ts";

export interface RefreshedRequest {
  readonly tenant: string;
  readonly request: RequestShape;
  readonly hints: SessionHints;
}

/**
 * Whether a request under another credential may continue the session. Contract: `recallAnswers` has been called for this log.
 */
export function mayGoOn(log: SessionLog, asked: RefreshedRequest): boolean {
  return carriesWholeBranch(log, asked) || isGuest(log, asked);
}

/**
 * Whether a request contains every word of the branch that it continues, including at least one answer. If so, its sender can
 * learn nothing new from the session. Equal ids and names of calls are not enough, because the arguments and texts must be equal,
 * too.
 */
function carriesWholeBranch(
  log: SessionLog,
  { request: { messages, links }, hints: { agent } }: RefreshedRequest,
): boolean {
  const { seq } = findCommon(log, linksIn(log, messages, links));
  const nearest = nearestBranch(log, seq, agent);
  if (nearest === undefined || nearest.ahead.length > 0) return false;
  const path = pathTo(log, seq);
  return (
    path.some(({ source }) => source === "answer") &&
    path.every(
      (node, index) => log.leading.has(node.seq) || hasSameWords(log, node, messages[index]),
    ) &&
    isAlone(log, nearest.branch)
  );
}

/**
 * Whether a request under this credential has already contained every word of the branch, and no other tenant has used the branch
 * since. If so, the client may also ask again, go back, or compact the conversation itself.
 */
function isGuest(log: SessionLog, { tenant, request, hints }: RefreshedRequest): boolean {
  const named = linksIn(log, request.messages, request.links);
  const { branch, left, parent } = placeInSession(log, { ...request, links: named }, hints);
  const known = branch ?? left;
  if (known?.memory.guest !== tenant) return false;
  return parent === null || visibleOn(log, known.record.id, false)(parent);
}

/** The messages that a request has in common with a session of its own tenant. */
export interface Shared {
  readonly common: number;
  /** Whether the common messages include an answer that Plimsoll recorded in this session. */
  readonly isAnswered: boolean;
  /** Whether the common messages include the last answer in the request. */
  readonly hasLastAnswer: boolean;
}

export function sharedWith(log: SessionLog, { messages, links }: RequestShape): Shared {
  const { common, seq } = findCommon(log, linksIn(log, messages, links));
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  let node = log.nodes.get(seq ?? -1);
  while (node !== undefined && node.source !== "answer") node = log.nodes.get(node.parent ?? -1);
  return { common, isAnswered: node !== undefined, hasLastAnswer: lastAnswer < common };
}
