/** Conversations as strategies see them, and what becomes of them when proposals are taken: as the session does it, without one. */

import { isSpoken } from "../../src/compact/units/head.ts";
import { type Message, messageText, type Part } from "../../src/message/message.ts";
import type { Proposal, VisibleConversation, VisibleMessage } from "../../src/message/strategy.ts";
import { type PriorityArea, splitUnits } from "../../src/message/unit.ts";

/** What every message costs beside its text. */
const MESSAGE_TOKENS = 4;
export const HANDLE = "pl_0123456789abcdefghijkl";

/** About what a tokenizer says. */
export function count(text: string): number {
  return Math.ceil(text.length / 4);
}

function weight(message: Message): number {
  const media = message.parts.filter(({ kind }) => kind === "image").length;
  return MESSAGE_TOKENS + count(messageText(message)) + media * 100;
}

export interface Seeing {
  readonly areas?: readonly PriorityArea[];
  /** Numbers of messages. */
  readonly pinned?: readonly number[];
  readonly mustAlternate?: boolean;
  /** Of the system prompt and tools. */
  readonly otherTokens?: number;
}

export function seenFrom(messages: readonly Message[], seeing: Seeing = {}): VisibleConversation {
  const seen = messages.map(
    (message, number): VisibleMessage => ({
      message,
      number,
      tokens: weight(message),
      bytes: JSON.stringify(message).length,
      isPinned: seeing.pinned?.includes(number) === true,
    }),
  );
  return conversationOf(seen, seeing, { tokens: seeing.otherTokens ?? 0 });
}

function conversationOf(
  messages: readonly VisibleMessage[],
  { areas = [], mustAlternate = false }: Seeing,
  own: { readonly tokens: number; readonly summary?: string | undefined },
): VisibleConversation {
  return {
    messages,
    units: splitUnits(
      messages.map(({ message }) => message),
      areas,
    ),
    tokens: own.tokens + messages.reduce((sum, { tokens }) => sum + tokens, 0),
    mustAlternate,
    hasArchive: true,
    ...(own.summary === undefined ? {} : { summary: own.summary }),
    weigh: (some) => Promise.resolve(some.map(weight)),
  };
}

/** A text of ours in the view, before the message that it stands before. */
export interface OwnText {
  readonly before: number;
  readonly text: string;
  readonly kind: "summary" | "mark";
}

export interface Applied {
  readonly conversation: VisibleConversation;
  readonly texts: readonly OwnText[];
}

/** All of them. Throws when one names what is not there, tears a unit, or says its handle where it should not. */
export function applyProposals(
  before: VisibleConversation,
  proposals: readonly Proposal[],
  seeing: Seeing = {},
): Applied {
  const { messages, units } = before;
  const texts: OwnText[] = [];
  const isGone = messages.map(() => false);
  const parts = new Map<number, Message>();
  let { summary } = before;
  for (const proposal of proposals) {
    switch (proposal.kind) {
      case "summary": {
        check(proposal.after === headEnd(before), `summary after ${proposal.after}`);
        summary = proposal.textFor({ handle: HANDLE, messages: 0, tokens: 0 });
        check(summary.includes(HANDLE), "a summary without a handle");
        break;
      }
      case "insert":
        texts.push({ before: proposal.after + 1, text: proposal.text, kind: "mark" });
        break;
      case "remove":
      case "fold": {
        const { first, last } = proposal;
        check(units.some((unit) => unit.first === first) && first <= last, `tears at ${first}`);
        check(
          units.some((unit) => unit.last === last),
          `tears at ${last}`,
        );
        check(!isGone.slice(first, last + 1).includes(true), `${first} twice`);
        isGone.fill(true, first, last + 1);
        const tokens = messages.slice(first, last + 1).reduce((sum, one) => sum + one.tokens, 0);
        const text = proposal.textFor({ handle: HANDLE, messages: last - first + 1, tokens });
        checkHandle(text, proposal.handle ?? "own");
        if (text !== "") texts.push({ before: last + 1, text, kind: "mark" });
        break;
      }
      case "replace": {
        const now = parts.get(proposal.message) ?? messages[proposal.message]?.message;
        const text = proposal.textFor({ handle: HANDLE, messages: 1, tokens: 0 });
        if (now === undefined) throw new Error(`No message ${proposal.message}.`);
        parts.set(proposal.message, replaced(now, proposal, text));
      }
    }
  }
  const isShared = proposals.some((one) => "handle" in one && one.handle === "shared");
  check(!isShared || proposals.some(({ kind }) => kind === "summary"), "a shared handle, unseen");
  if (summary !== undefined)
    texts.push({ before: headEnd(before) + 1, text: summary, kind: "summary" });
  const left = messages.flatMap((seen, index) => {
    if (isGone[index] === true) return [];
    const now = changed(seen, parts.get(index));
    return [isGone[index - 1] === true ? { ...now, isAfterGap: true } : now];
  });
  const ownTokens = texts.reduce((sum, { text }) => sum + MESSAGE_TOKENS + count(text), 0);
  const withoutTexts = before.tokens - messages.reduce((sum, { tokens }) => sum + tokens, 0);
  const earlier = before.summary === undefined ? 0 : MESSAGE_TOKENS + count(before.summary);
  return {
    conversation: conversationOf(
      left,
      { ...seeing, mustAlternate: before.mustAlternate },
      { tokens: withoutTexts - earlier + ownTokens, summary },
    ),
    texts,
  };
}

function headEnd({ messages }: VisibleConversation): number {
  return Math.max(
    0,
    messages.findIndex(({ message }) => isSpoken(message)),
  );
}

function check(isRight: boolean, problem: string): void {
  if (!isRight) throw new Error(`A proposal is wrong: ${problem}.`);
}

function checkHandle(text: string, handle: "own" | "shared"): void {
  check(handle === "shared" || text.includes(HANDLE), "a handle of its own, unseen");
}

function changed(seen: VisibleMessage, message: Message | undefined): VisibleMessage {
  if (message === undefined) return seen;
  const { message: was, tokens } = seen;
  return {
    ...seen,
    message,
    tokens: weight(message),
    original: seen.original ?? { message: was, tokens },
  };
}

function replaced(
  { role, parts }: Message,
  { part: at, inner }: Extract<Proposal, { kind: "replace" }>,
  text: string,
): Message {
  check(parts[at] !== undefined, `no part ${at}`);
  return {
    role,
    parts: parts.map((part, index): Part => {
      if (index !== at) return part;
      if (part.kind === "tool-call") {
        JSON.parse(text);
        return { ...part, input: text };
      }
      if (part.kind !== "tool-result") return { kind: "text", text };
      check(part.content[inner ?? -1] !== undefined, `no part ${at}.${inner}`);
      const content = part.content.map(
        (one, place): Part => (place === inner ? { kind: "text", text } : one),
      );
      return { ...part, content };
    }),
  };
}
