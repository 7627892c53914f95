/** Messages in a form for people. Parts become text and are cut if they are long. Media and unknown parts are described. */

import type { ShownMessage, ShownPart } from "../../message/api.ts";
import type { Media, Message, Part } from "../../message/message.ts";

/** Maximum number of characters of one part. This is more than anyone reads, but too little to make a page slow. */
const longestPart = 65_536;
/** Maximum number of parts of one message. */
const mostParts = 200;

export function readableMessage({ role, parts }: Message): ShownMessage {
  return { role, parts: parts.slice(0, mostParts).map(readablePart) };
}

function readablePart(part: Part): ShownPart {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return { kind: part.kind, ...cut(part.text) };
    case "tool-call":
      return { kind: part.kind, name: part.name, ...cut(part.input) };
    case "tool-result":
      return {
        kind: part.kind,
        ...cut(part.content.map((inner) => readablePart(inner).text).join("\n")),
      };
    case "image":
    case "document":
      return { kind: part.kind, text: describe(part.media) };
    case "opaque":
      return { kind: part.kind, name: part.type, ...cut(JSON.stringify(part.json)) };
  }
}

function cut(text: string): Pick<ShownPart, "text" | "of"> {
  return text.length <= longestPart
    ? { text }
    : { text: text.slice(0, longestPart), of: text.length };
}

function describe(media: Media): string {
  switch (media.kind) {
    case "base64":
      return `${media.mediaType}, ${media.data.length} characters of base64`;
    case "url":
      return media.url.slice(0, 500);
    case "file":
      return `file ${media.id}`;
  }
}
