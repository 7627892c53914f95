/**
 * Separates the lookups that a model made for an answer from the answer itself. If the client sends an answer back in pieces,
 * Plimsoll inserts the lookups before the first piece.
 */

import type { Message, Part } from "../../message/message.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { decodeMessage, encodeMessage } from "./encode.ts";

/** `elements`: all inner messages of the answer, including the answer itself. */
export function beforeLastAnswer(
  wire: Wire,
  elements: readonly Uint8Array[],
): readonly Uint8Array[] {
  const messages = elements.map((bytes) => wire.messages.decode(decodeMessage(bytes)));
  const answered = new Set(messages.flatMap(({ parts }) => parts.flatMap(answeredBy)));
  // The answer is the last message of the model. If it calls Plimsoll's tools, the results of these calls come after it.
  const behind = messages.findLastIndex(({ role }) => role !== "assistant");
  const breath = messages.slice(0, behind).findLastIndex(({ role }) => role !== "assistant") + 1;
  const isUnanswered = behind === messages.length - 1;
  return elements.slice(0, behind + 1).flatMap((bytes, index) => {
    const message = messages[index];
    if (message === undefined || message.role !== "assistant") return [bytes];
    return isUnanswered && index >= breath
      ? withoutAnswer(wire, { bytes, message }, answered)
      : [bytes];
  });
}

function answeredBy(part: Part): readonly string[] {
  return part.kind === "tool-result" ? [part.callId] : [];
}

/** Removes the answer from a message. Only the calls that have a result, and the reasoning, stay. */
function withoutAnswer(
  wire: Wire,
  { bytes, message }: { readonly bytes: Uint8Array; readonly message: Message },
  answered: ReadonlySet<string>,
): readonly Uint8Array[] {
  const { role, parts } = message;
  const isCall = (part: Part): boolean => part.kind === "tool-call" && answered.has(part.id);
  const kept = parts.filter((part) => part.kind === "reasoning" || isCall(part));
  if (kept.length === parts.length) return [bytes];
  return kept.some(isCall) ? wire.messages.encode([{ role, parts: kept }]).map(encodeMessage) : [];
}
