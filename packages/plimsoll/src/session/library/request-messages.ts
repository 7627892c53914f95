/** The messages of a library request: the view of the conversation, in the format of the request's wire. */

import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { type Patch, patchList } from "../draft/render.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import type { ConversationState } from "./state.ts";

interface VisibleMessages {
  /** The model that reads the messages. */
  readonly model: string;
  readonly length: number;
  readonly patches: readonly Patch[];
  /** A cache mark at the end of the last message. The prompt sections that change from turn to turn come after this mark. */
  readonly end?: JsonValue;
  readonly tail: string;
  /**
   * Whether the request lists a tool. Undefined if the provider does not defer tools itself. Such a provider has no format of its
   * own for tool searches.
   */
  readonly isListed?: (name: string) => boolean;
}

/**
 * Adds the messages to the body. The list is made only when the caller reads it, because a caller that only measures a turn need
 * not wait for a copy of a long conversation.
 */
export function withMessages(
  body: JsonObject,
  wire: Wire,
  state: Pick<ConversationState, "wire" | "sentMessages">,
  visible: VisibleMessages,
): JsonObject {
  const field = wire.fields.messages;
  const first = body[field];
  const head = Array.isArray(first) ? first : [];
  let messages: readonly JsonValue[] | undefined;
  return Object.defineProperty(body, field, {
    enumerable: true,
    get: () => {
      messages ??= [...head, ...messagesFor(wire, state, visible)];
      return messages;
    },
  });
}

function messagesFor(
  wire: Wire,
  { wire: own = wire, sentMessages }: Pick<ConversationState, "wire" | "sentMessages">,
  { length, patches, end, tail, isListed, model }: VisibleMessages,
): readonly JsonObject[] {
  const whole = patchList(sentMessages.slice(0, length), patches, decodeMessage);
  const visibleMessages = withSearches(own, whole, isListed);
  const spoken =
    own === wire
      ? visibleMessages
      : wire.messages.encode(
          visibleMessages.map((message) => withoutReasoning(own.messages.decode(message))),
          model,
        );
  return withTail(wire, end === undefined ? spoken : withLastMarked(wire, spoken, end), tail);
}

/**
 * Rewrites tool searches as ordinary calls and results. If the provider has its own format for searches, they keep that format,
 * but name only tools that the request lists.
 */
export function withSearches(
  { tools: { deferral } }: Wire,
  messages: readonly JsonObject[],
  isListed: VisibleMessages["isListed"],
): readonly JsonObject[] {
  const isUnchanged = isListed !== undefined && deferral?.named === undefined;
  if (deferral === undefined || isUnchanged) return messages;
  return messages.map((message) => deferral.plain(message, isListed));
}

/**
 * Sets a cache mark on the last message that is not an answer. The caller may have written the beginning of the next answer, but
 * that comes after the changing sections and must not have a mark.
 */
function withLastMarked(
  wire: Wire,
  messages: readonly JsonObject[],
  mark: JsonValue,
): readonly JsonObject[] {
  const index = lastSpoken(wire, messages);
  const message = messages[index];
  const marked = message && wire.cache.withMark(encodeMessage(message), mark);
  return marked === undefined ? messages : messages.with(index, decodeMessage(marked));
}

function lastSpoken(wire: Wire, messages: readonly JsonObject[]): number {
  return messages.findLastIndex((message) => wire.messages.decode(message).role !== "assistant");
}

export function searchedIn(
  offer: OwnOffer | undefined,
  isTold: boolean,
): Pick<VisibleMessages, "isListed"> {
  const catalogue = offer?.catalogue;
  const isNative = isTold && catalogue?.isNative === true;
  return isNative ? { isListed: (name) => catalogue.has(name) } : {};
}

/**
 * Adds the prompt sections that change from turn to turn at the end of the conversation. If the caller has written the beginning
 * of the next answer, they come before it.
 */
export function withTail(
  wire: Wire,
  messages: readonly JsonObject[],
  tail: string,
): readonly JsonObject[] {
  if (tail === "") return messages;
  const index = lastSpoken(wire, messages);
  const last = messages[index];
  const carried =
    wire.edit.ownTextPlacement === "inside" && last !== undefined
      ? wire.edit.carryText(encodeMessage(last), { text: tail }, "last")
      : undefined;
  if (carried !== undefined) return messages.with(index, decodeMessage(carried));
  return messages.toSpliced(index + 1, 0, wire.edit.ownMessage({ text: tail }));
}

/**
 * Removes reasoning and signatures, because a provider signs its reasoning, and another provider would reject a request that
 * contains it.
 */
export function withoutReasoning({ role, parts }: Message): Message {
  const kept = parts.filter(({ kind }) => kind !== "reasoning");
  return { role, parts: kept.map(withoutSignature) };
}

function withoutSignature(part: Part): Part {
  if (part.kind !== "tool-call" || part.signature === undefined) return part;
  const { signature: _signature, ...rest } = part;
  return rest;
}
