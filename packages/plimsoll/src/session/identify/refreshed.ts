/**
 * Whose conversation it is when a client's credential was refreshed: what shows that a request under another credential is the
 * same client's. Pure decisions over what is known.
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

/** Contract: the log knows what its answers have said (`recallAnswers`). */
export function mayGoOn(log: SessionLog, asked: RefreshedRequest): boolean {
  return carriesWholeBranch(log, asked) || isGuest(log, asked);
}

/**
 * Whether a request has every word of the branch that it goes on with, an answer among them: whoever sends it can learn nothing
 * from the session that he does not know. Ids and names of calls are not enough, nor are a few words.
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
 * Whether a credential has shown on this branch that it has every word of it, and nobody else has said anything there since: it
 * may ask again, go back, and compact the conversation by itself.
 */
function isGuest(log: SessionLog, { tenant, request, hints }: RefreshedRequest): boolean {
  const named = linksIn(log, request.messages, request.links);
  const { branch, left, parent } = placeInSession(log, { ...request, links: named }, hints);
  const known = branch ?? left;
  if (known?.memory.guest !== tenant) return false;
  return parent === null || visibleOn(log, known.record.id, false)(parent);
}

/** How far a request is in a session of its own tenant. */
export interface Shared {
  readonly common: number;
  /** It goes on behind an answer that was recorded there. */
  readonly isAnswered: boolean;
  /** Nothing that a model said comes later in the request. */
  readonly hasLastAnswer: boolean;
}

export function sharedWith(log: SessionLog, { messages, links }: RequestShape): Shared {
  const { common, seq } = findCommon(log, linksIn(log, messages, links));
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  let node = log.nodes.get(seq ?? -1);
  while (node !== undefined && node.source !== "answer") node = log.nodes.get(node.parent ?? -1);
  return { common, isAnswered: node !== undefined, hasLastAnswer: lastAnswer < common };
}
