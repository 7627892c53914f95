/** The current task: the user's first and last words, and the model's last words. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { headLength, isSpoken } from "../units/head.ts";

/**
 * Number of characters that are used from the beginning of each message. The beginning usually says what the message is about.
 */
const queryCharacters = 4000;

export function taskText({ messages }: Pick<VisibleConversation, "messages">): string {
  const isSpokenMessage = ({ role, parts }: Message): boolean =>
    role === "assistant" && parts.some(({ kind }) => kind === "text");
  const places = [
    headLength({ messages }) - 1,
    messages.findLastIndex(({ message }) => isSpoken(message)),
    messages.findLastIndex(({ message }) => isSpokenMessage(message)),
  ];
  return [...new Set(places)]
    .flatMap((index) => messages[index]?.message.parts ?? [])
    .flatMap((part) => (part.kind === "text" ? [part.text.slice(0, queryCharacters)] : []))
    .join("\n");
}

/** True for a conversation without tool calls. Such a conversation contains no work that could be summarised. */
export function isTalk({ messages }: Pick<VisibleConversation, "messages">): boolean {
  return !messages.some(({ message }) =>
    message.parts.some(({ kind }) => kind === "tool-call" || kind === "tool-result"),
  );
}
