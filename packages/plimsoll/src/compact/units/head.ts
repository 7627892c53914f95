/** The head of a conversation: everything up to and including the user's first words. It always stays in the window. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { Unit } from "../../message/unit.ts";

/** True if the user said something: words, pictures or documents, not only tool results. */
export function isSpoken(message: Message | undefined): boolean {
  return (
    message?.role === "user" &&
    message.parts.some(({ kind }) => kind === "text" || kind === "image" || kind === "document")
  );
}

/** Number of messages in the head, which is also the index at which the history begins. 0 if the user has said nothing. */
export function headLength({ messages }: Pick<VisibleConversation, "messages">): number {
  return messages.findIndex(({ message }) => isSpoken(message)) + 1;
}

/** Indexes of the first and the last unit in which the user speaks, or -1 if the user has said nothing. */
export function spokenUnits(
  messages: readonly Message[],
  units: readonly Unit[],
): { readonly firstUser: number; readonly lastUser: number } {
  const speaks = ({ first, last }: Unit): boolean => messages.slice(first, last + 1).some(isSpoken);
  return { firstUser: units.findIndex(speaks), lastUser: units.findLastIndex(speaks) };
}
