/** The user's requests, and the words with which the agent ended its work on each of them. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { isSpoken } from "../units/head.ts";
import { asksBack } from "./gist.ts";

export interface Request {
  /** Index of the user's message. */
  readonly message: number;
  /**
   * Index of the agent's closing words: its last message before the next request, if that message makes no call. If the user spoke
   * again before the agent had finished, the closing words of the next request are the outcome of both.
   */
  readonly outcome?: number;
  /** Set if the outcome is that of a later request, because the user spoke again before the agent had finished. */
  readonly isShared?: true;
  /** Set if the view no longer shows what came after the request, so nobody can tell its outcome. */
  readonly isLeftOut?: true;
  /** Set if the agent only asked for something that it needs, and the newest message of the user is the answer. Still open. */
  readonly isWaiting?: true;
}

/** The message as it is in the log, even if the view shows less of it. */
export function loggedMessage({ message, original }: VisibleMessage): Message {
  return original?.message ?? message;
}

/** The words of the user or of the agent in a message, without results of tools and without reasoning. */
export function wordsOf({ parts }: Message): string {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
}

type Asked = Pick<VisibleConversation, "messages" | "summary">;

/** A list of messages never changes, so its requests are looked for once. */
const knownRequests = new WeakMap<
  Asked["messages"],
  {
    readonly from: number;
    readonly summary: string | undefined;
    readonly requests: readonly Request[];
  }
>();

/** All requests from `from` on, in order. The newest request has no outcome: it is open. */
export function requestsIn(asked: Asked, from: number): readonly Request[] {
  const { messages, summary } = asked;
  const known = knownRequests.get(messages);
  if (known?.from === from && known.summary === summary) return known.requests;
  const requests = findRequests(asked, from);
  knownRequests.set(messages, { from, summary, requests });
  return requests;
}

function findRequests({ messages, summary }: Asked, from: number): readonly Request[] {
  const asked = [...messages.keys()].filter((index) => index >= from && isRequest(messages[index]));
  const isHidden = hiddenRequests(summary);
  const found: Request[] = [];
  for (const [order, message] of [...asked.entries()].toReversed()) {
    const next = asked[order + 1];
    found.unshift(next === undefined ? { message } : waiting(closed(message, next)));
  }
  return found;

  /** The newest request may be the answer to a question about an earlier one, and so on. */
  function waiting(request: Request): Request {
    const [later] = found;
    const isLast = later?.outcome === undefined && later?.isLeftOut === undefined;
    const closing = messages[request.outcome ?? -1];
    const isAsked = closing !== undefined && request.isShared !== true;
    return isAsked &&
      (isLast || later?.isWaiting === true) &&
      asksBack(wordsOf(loggedMessage(closing)))
      ? { ...request, isWaiting: true }
      : request;
  }

  function closed(message: number, next: number): Request {
    const isCut = hasGap(messages, message, next);
    const outcome = closingOf(message, next, isCut);
    if (outcome !== undefined) return { message, outcome };
    if (isCut) return { message, isLeftOut: true };
    const shared = found[0]?.outcome;
    return shared === undefined ? { message } : { message, outcome: shared, isShared: true };
  }

  function closingOf(message: number, next: number, isCut: boolean): number | undefined {
    let last = next - 1;
    while (last > message && isClientCommand(messages[last])) last--;
    const [asked, end] = [messages[message]?.number ?? 0, messages[last]?.number ?? 0];
    const isCertain = messages[next]?.isAfterGap !== true && !(isCut && isHidden(asked, end));
    if (isCertain && isClosing(messages[last])) return last;
    return isCut ? closingBeforeGap(messages, message, next) : undefined;
  }
}

/** An answer without calls ends the agent's work, so it is the outcome even if the view leaves out what came after it. */
function closingBeforeGap(
  messages: readonly VisibleMessage[],
  request: number,
  next: number,
): number | undefined {
  let found: number | undefined;
  for (let index = request + 1; index < next; index++) {
    if (messages[index]?.isAfterGap === true) break;
    if (isClosing(messages[index])) found = index;
  }
  return found;
}

/** Whether the view leaves something out between two messages. */
function hasGap(messages: readonly VisibleMessage[], first: number, last: number): boolean {
  return messages.slice(first + 1, last + 1).some(({ isAfterGap }) => isAfterGap === true);
}

const toldRequest = /^- #(\d{1,9}) (?:asked|said):/gm;
const countedRequests = /^- \d{1,9} earlier requests? \(#(\d{1,9})(?:–#(\d{1,9}))?\)/gm;

/** Whether the story so far tells of a request between two message numbers. */
function hiddenRequests(summary = ""): (after: number, before: number) => boolean {
  const told = [...summary.matchAll(toldRequest)].map(([, number]) => Number(number));
  const counted = [...summary.matchAll(countedRequests)].map(
    ([, first, last = first]) => [Number(first), Number(last)] as const,
  );
  return (after, before) =>
    told.some((number) => after < number && number < before) ||
    counted.some(([first, last]) => first < before && after < last);
}

/** A command to the client, such as `/model opus`, or what the client said about it. It asks the agent for nothing. */
const clientCommand =
  /^(?:\/[a-z][\w:-]*(?:\s.{0,60})?|Set model to .{1,80}|<command-name>.*|\/(?:compact|clear|cost|context|model|help|init|status|config|login|logout|memory|resume|exit|quit|permissions|mcp|doctor|usage)\b[\s\S]{0,2000})$/i;

function isClientCommand(visible: VisibleMessage | undefined): boolean {
  if (visible === undefined) return false;
  const message = loggedMessage(visible);
  return isSpoken(message) && clientCommand.test(wordsOf(message).trim());
}

function isRequest(visible: VisibleMessage | undefined): boolean {
  if (visible === undefined) return false;
  const message = loggedMessage(visible);
  return isSpoken(message) && wordsOf(message).trim() !== "" && !isClientCommand(visible);
}

function isClosing(visible: VisibleMessage | undefined): boolean {
  if (visible === undefined) return false;
  const { role, parts } = loggedMessage(visible);
  return (
    role === "assistant" &&
    parts.every(({ kind }) => kind !== "tool-call") &&
    parts.some((part) => part.kind === "text" && /[\p{L}\p{N}]/u.test(part.text))
  );
}
