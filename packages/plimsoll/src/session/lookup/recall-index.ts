/** Runs recall on messages that are given as texts, together with their numbers in the session. */

import type { Role } from "../../message/message.ts";
import { buildRecall, type RecallIndex, type RecallParts, recall } from "./recall.ts";

export interface Asked {
  readonly query: string;
  readonly budgetTokens: number;
  /** Numbers of messages that must not appear in the results. */
  readonly leftOut: readonly number[];
}

export interface NumberedIndex {
  readonly index: RecallIndex;
  readonly messages: readonly Omit<SearchedMessage, "text">[];
}

export function indexMessages(
  messages: readonly SearchedMessage[],
  parts: RecallParts,
): NumberedIndex {
  const index = buildRecall(
    messages.map(({ role, text }) => ({ role, parts: [{ kind: "text", text }] })),
    parts,
  );
  return { index, messages: messages.map(({ text: _, ...rest }) => rest) };
}

export function searchIndex(
  { index, messages }: NumberedIndex,
  count: (text: string) => number,
  { query, budgetTokens, leftOut }: Asked,
): readonly SessionPassage[] {
  const out = new Set(leftOut);
  const passages = recall(index, query, {
    budgetTokens,
    countTokens: count,
    isLeftOut: (message) => out.has(messages[message]?.number ?? 0),
  });
  return passages.flatMap(({ message, text, score }) => {
    const found = messages[message];
    return found === undefined ? [] : [{ ...found, text, score }];
  });
}

export function searchMessages(
  messages: readonly SearchedMessage[],
  parts: RecallParts & { readonly count: (text: string) => number },
  asked: Asked,
): readonly SessionPassage[] {
  return searchIndex(indexMessages(messages, parts), parts.count, asked);
}

/** A message as it is sent to the search. */
export interface SearchedMessage {
  /** Number of the message in the session. */
  readonly number: number;
  readonly role: Role;
  /** The title of the message, for example `assistant` or `tool result of read_file`. */
  readonly title: string;
  readonly text: string;
}

export interface SessionPassage extends SearchedMessage {
  readonly score: number;
}
