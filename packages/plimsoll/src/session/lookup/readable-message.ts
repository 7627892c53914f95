/** Messages as a model or a person reads them, instead of a provider's JSON. */

import type { Media, Message, Part, Role, ToolResultPart } from "../../message/message.ts";
import { grouped } from "../../text/digits.ts";
import { readableTexts } from "../../text/for-models.ts";

/** Names of the called tools, by the id of the call. */
export type ToolNames = ReadonlyMap<string, string>;

export function callsOf({ parts }: Message): readonly (readonly [id: string, name: string])[] {
  return parts.flatMap((part) =>
    part.kind === "tool-call" && part.id !== "" ? [[part.id, part.name] as const] : [],
  );
}

/** The speaker of a message. It may differ from the role, because some wires put tool results into the user's messages. */
export function speakerOf({ role, parts }: Message): Role {
  const isResult = parts.length > 0 && parts.every(({ kind }) => kind === "tool-result");
  return isResult ? "tool" : role;
}

/** Maximum number of tool names in a title. */
const namesMax = 3;

/** The title of a message, such as `assistant`, `user` or `tool result of read_file`. */
export function titleOf(message: Message, tools: ToolNames): string {
  if (speakerOf(message) !== "tool") return message.role;
  const names = message.parts.flatMap((part) =>
    part.kind === "tool-result" ? (tools.get(part.callId) ?? []) : [],
  );
  const listed = [...new Set(names)].slice(0, namesMax).join(", ");
  return listed === "" ? "tool result" : `tool result of ${listed}`;
}

/** The text of a message. Calls become `[call name] arguments`. Images and documents are described. */
export function readableText(message: Message, tools: ToolNames): string {
  const isOne = message.parts.length === 1;
  return joined(
    message.parts.map((part) => {
      if (part.kind !== "tool-result") return readablePart(part);
      const head = isOne
        ? ""
        : readableTexts.resultOf(tools.get(part.callId) ?? readableTexts.unknownTool);
      return joined([head, resultText(part)]);
    }),
  );
}

/** The content of a result, without the name of its tool. */
export function resultText({ content, isError }: ToolResultPart): string {
  return joined([isError ? readableTexts.failedResult : "", ...content.map(readablePart)]);
}

function readablePart(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "reasoning":
      return part.text === "" ? "" : readableTexts.reasoning(part.text);
    case "tool-call":
      return readableTexts.call(part.name, part.input);
    case "tool-result":
      return resultText(part);
    case "image":
    case "document":
      return readableTexts.media(mediaKind(part.kind, part.media));
    case "opaque":
      return JSON.stringify(part.json);
  }
}

export function mediaKind(kind: "image" | "document", media: Media): string {
  switch (media.kind) {
    case "base64": {
      const type = /^[\w.+/-]{1,80}$/.test(media.mediaType)
        ? media.mediaType
        : readableTexts.unknownType;
      return readableTexts.mediaData(kind, type, grouped(Math.floor((media.data.length * 3) / 4)));
    }
    case "url":
      return readableTexts.mediaUrl(kind, media.url);
    case "file":
      return readableTexts.mediaFile(kind, media.id);
  }
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}
