/** Texts that the strategy `older_copies` has replaced, and how other strategies leave them replaced. */

import { type Message, messageText, type Part } from "../../message/message.ts";
import type { VisibleConversation, VisibleMessage } from "../../message/strategy.ts";

/** As `markTexts.olderCopy` and `documentTexts.olderCopy` write it. */
const olderCopyNotice =
  /^\[(?:Plimsoll|DUPLICATE CONTENT NOTICE): .{1,400} comes again in #\d{1,9}\. This older copy is /;

function isReplaced(text: string): boolean {
  return text.split("\n").some((line) => olderCopyNotice.test(line));
}

/**
 * Strategies that choose from the originals see these texts as the view shows them. Otherwise they would bring older copies back.
 */
export function withOlderCopiesReplaced(conversation: VisibleConversation): VisibleConversation {
  return { ...conversation, messages: conversation.messages.map(replacedIn) };
}

function replacedIn(visible: VisibleMessage): VisibleMessage {
  const { original, message: shown } = visible;
  if (original === undefined || !shown.parts.some((part) => textsOf(part).some(isReplaced)))
    return visible;
  const { message, tokens } = original;
  const kept: Message = {
    ...message,
    parts: message.parts.map((part, at) => {
      const now = shown.parts[at];
      return now !== undefined && textsOf(now).some(isReplaced) ? now : part;
    }),
  };
  const share = messageText(kept).length / Math.max(1, messageText(message).length);
  return {
    ...visible,
    original: { message: kept, tokens: Math.ceil(tokens * Math.min(1, share)) },
  };
}

function textsOf(part: Part): readonly string[] {
  if (part.kind === "text") return [part.text];
  if (part.kind !== "tool-result") return [];
  return part.content.flatMap((inner) => (inner.kind === "text" ? [inner.text] : []));
}
