/** Finds the messages of a request in a session's log, even if the client has spelled an answer differently. */

import { hasWordsOf } from "../log/echoes.ts";
import {
  extendLink,
  findCommon,
  type Link,
  type LogMessage,
  linksOfPath,
  looseChainOf,
  pathTo,
  rootLink,
  type SessionLog,
} from "../log/log.ts";

/**
 * The links of a request, with the chains that the log uses for the same messages. Leading system messages may change from turn
 * to turn, because they contain a date or the state of a repository. The conversation after them is still the same, so Plimsoll
 * uses the chains of the log's leading messages. Earlier versions of Plimsoll recorded some messages under a coarser identity;
 * such a message is the same if its bytes are the same. An answer is the same message even if the client spells it differently.
 */
export function linksIn(
  log: SessionLog,
  messages: readonly LogMessage[],
  links: readonly Link[],
): readonly Link[] {
  const behindLead = links.findIndex(({ isLeading }) => !isLeading);
  const leadCount = behindLead < 0 ? links.length : behindLead;
  const known = knownLead(log, messages, links, leadCount);
  const common = known === undefined ? findCommon(log, links).common : leadCount;
  const named = [...(known ?? links.slice(0, common))];
  let link = named.at(-1) ?? rootLink(log.record.wire);
  for (const message of messages.slice(named.length)) {
    const index = named.length;
    const own = index === 0 || link === links[index - 1] ? links[index] : undefined;
    link = linkIn(log, link, message, own);
    named.push(link);
  }
  return named;
}

/** Links of the log's leading messages, if the request has other leading messages before the same conversation. */
function knownLead(
  log: SessionLog,
  messages: readonly LogMessage[],
  links: readonly Link[],
  leadCount: number,
): readonly Link[] | undefined {
  const first = messages[leadCount];
  if (leadCount === 0 || first === undefined) return undefined;
  if (log.seqByChain.has(links[leadCount]?.chain ?? "")) return undefined;
  for (const [seq, count] of [...log.leading].reverse()) {
    if (count !== leadCount) continue;
    const path = linksOfPath(log.record.wire, pathTo(log, seq));
    const last = path.at(-1);
    if (last !== undefined && log.seqByChain.has(linkIn(log, last, first).chain)) return path;
  }
  return undefined;
}

/**
 * The link that the log uses for a message. `own` is the link that the request gives to this message. It is passed only if
 * request and log have the same link for the message before.
 */
function linkIn(log: SessionLog, before: Link, message: LogMessage, own?: Link): Link {
  const link = own ?? extendLink(before, message);
  if (log.seqByChain.has(link.chain)) return link;
  return oldLinkIn(log, before, message) ?? answerLinkIn(log, before, link, message) ?? link;
}

function oldLinkIn(log: SessionLog, before: Link, message: LogMessage): Link | undefined {
  const { oldIdentity } = message;
  if (oldIdentity === undefined) return undefined;
  const old = extendLink(before, { ...message, identity: oldIdentity });
  const node = log.nodes.get(log.seqByChain.get(old.chain) ?? -1);
  return node?.hash === message.hash ? old : undefined;
}

/**
 * The link of the answer that Plimsoll recorded at this place, or of an earlier echo of it. The recorded answer must have the
 * same calls as the message, or the same text if there are no calls. Some servers only number their calls, so two
 * answers here may have the same call ids. Plimsoll then compares the words of the message with both.
 */
function answerLinkIn(
  log: SessionLog,
  before: Link,
  { talk, isLeading }: Link,
  message: LogMessage,
): Link | undefined {
  const { role, essence } = message;
  if (role !== "assistant") return undefined;
  const parent = log.seqByChain.get(before.chain);
  const below = (log.answersBelow.get(parent ?? 0) ?? []).flatMap(
    (seq) => log.nodes.get(seq) ?? [],
  );
  const answers = below.filter(
    (node) => node.isComplete && (essence === null ? node.talk === undefined : node.talk === talk),
  );
  const [only, ...others] = answers;
  const answer =
    answers.findLast(({ seq }) => log.words.get(seq)?.[0] === message.marks?.words) ??
    answers.findLast(({ seq }) => hasWordsOf(log, seq, message)) ??
    (others.length === 0 ? only : undefined);
  return answer && { chain: answer.chain, looseChain: looseChainOf(answer), talk, isLeading };
}

/** The link of a message in the request, if the log uses the same links for this message and for the message before it. */
export function ownLink(
  { links, named }: { readonly links: readonly Link[]; readonly named: readonly Link[] },
  index: number,
): Link | undefined {
  const isOwn = links[index - 1] === named[index - 1] && links[index] === named[index];
  return isOwn ? links[index] : undefined;
}

/** The leading system messages of the request, if they differ from the leading system messages in the log. */
export function newLead(
  messages: readonly LogMessage[],
  { links, named }: { readonly links: readonly Link[]; readonly named: readonly Link[] },
  bytes: readonly Uint8Array[],
): readonly Uint8Array[] | undefined {
  const leadCount = messages.findIndex(({ role }) => role !== "system");
  const isOther = leadCount > 0 && links[leadCount - 1]?.chain !== named[leadCount - 1]?.chain;
  return isOther ? bytes.slice(0, leadCount) : undefined;
}
