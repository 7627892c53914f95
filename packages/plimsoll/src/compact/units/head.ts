/** The head of a conversation: everything up to the first words of the user. It is always in the window. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { Unit } from "../../message/unit.ts";

/** The user said something: words, pictures, documents, not only results. */
export function isSpoken(message: Message | undefined): boolean {
  return (
    message?.role === "user" &&
    message.parts.some(({ kind }) => kind === "text" || kind === "image" || kind === "document")
  );
}

/** In messages, which is also where the history begins. 0: the user has said nothing. */
export function headLength({ messages }: Pick<VisibleConversation, "messages">): number {
  return messages.findIndex(({ message }) => isSpoken(message)) + 1;
}

/** The units in which the user speaks for the first and for the last time; -1: the user has said nothing. */
export function spokenUnits(
  messages: readonly Message[],
  units: readonly Unit[],
): { readonly firstUser: number; readonly lastUser: number } {
  const speaks = ({ first, last }: Unit): boolean => messages.slice(first, last + 1).some(isSpoken);
  return { firstUser: units.findIndex(speaks), lastUser: units.findLastIndex(speaks) };
}
