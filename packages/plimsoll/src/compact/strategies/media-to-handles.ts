/**
 * Replaces images and documents with handles, oldest first, if a provider limits their number or the size of a request. Those in
 * units of priority 1 come last.
 */

import { countMedia, type Part } from "../../message/message.ts";
import type { Proposal, Strategy, VisibleConversation } from "../../message/strategy.ts";
import { mediaTexts } from "../../text/for-models.ts";

interface Place {
  readonly message: number;
  readonly part: number;
  readonly inner?: number;
  readonly kind: "image" | "document";
  readonly bytes: number;
}

/**
 * Replaces media until at most this share of the provider's limit is used, because otherwise the next image would exceed the
 * limit again.
 */
const depth = 0.5;

export const mediaToHandles: Strategy = {
  name: "media_to_handles",
  propose: (conversation, { media }) => {
    if (media === undefined) return [];
    const places = placesOf(conversation);
    let count = conversation.messages.reduce(
      (sum, { message }) => sum + countMedia(message.parts),
      0,
    );
    let bytes = conversation.messages.reduce((sum, message) => sum + message.bytes, 0);
    if (count <= media.maxCount && bytes <= media.maxBytes) return [];
    const proposals: Proposal[] = [];
    for (const place of places) {
      const isEnough = count <= media.maxCount * depth && bytes <= media.maxBytes * depth;
      if (isEnough) break;
      count--;
      bytes -= place.bytes;
      proposals.push(proposalFor(place));
    }
    return proposals;
  },
};

function proposalFor({ bytes, kind, message, part, inner }: Place): Proposal {
  return {
    kind: "replace",
    message,
    part,
    ...(inner === undefined ? {} : { inner }),
    place: "undefined",
    reason: "The provider does not accept more media in one request.",
    textFor: ({ handle }) => mediaTexts.earlier(kind, Math.ceil(bytes / 1024), handle),
  };
}

/**
 * The images and documents that may be replaced, in order. Those in the newest unit stay, because the current question may be
 * about them.
 */
function placesOf({ messages, units }: VisibleConversation): readonly Place[] {
  const newest = units.at(-1)?.first ?? messages.length;
  const places = messages.slice(0, newest).flatMap(({ message, isPinned }, index) =>
    isPinned
      ? []
      : message.parts.flatMap((part, partIndex): readonly Place[] => {
          if (part.kind !== "tool-result")
            return placeOf(part, { message: index, part: partIndex });
          return part.content.flatMap((innerPart, inner) =>
            placeOf(innerPart, { message: index, part: partIndex, inner }),
          );
        }),
  );
  const isImportant = (place: Place): boolean =>
    units.some(
      ({ first, last, priority }) =>
        priority === 1 && first <= place.message && place.message <= last,
    );
  const last = places.filter(isImportant);
  return [...places.filter((place) => !last.includes(place)), ...last];
}

function placeOf(
  part: Part,
  at: { readonly message: number; readonly part: number; readonly inner?: number },
): readonly Place[] {
  if (part.kind !== "image" && part.kind !== "document") return [];
  const { media, kind } = part;
  return [{ ...at, kind, bytes: media.kind === "base64" ? media.data.length : 0 }];
}
