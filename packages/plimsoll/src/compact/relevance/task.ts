/** The current task: what the user asked first and last, and what the model said last. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { headLength, isSpoken } from "../units/head.ts";

/** Of one message no more than this says what it is about. */
const queryCharacters = 4000;

/** Goal, the user's last words, the model's last words. */
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

/** Without tools a conversation is talk: every turn is somebody's words, and there is no work to sum up. */
export function isTalk({ messages }: Pick<VisibleConversation, "messages">): boolean {
  return !messages.some(({ message }) =>
    message.parts.some(({ kind }) => kind === "tool-call" || kind === "tool-result"),
  );
}
