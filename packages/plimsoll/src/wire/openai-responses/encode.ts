/** The OpenAI Responses wire: writes neutral messages as items. */

import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { Media, Message, Part, Role } from "../../message/message.ts";
import { encodeSearch, foundIn } from "./tool-search.ts";

/** Type prefix of an opaque part that is a whole item. Parts inside a message do not have it. */
export const wholeItem = "item:";

/** Every call, result and reasoning becomes its own item. The parts between them become messages. */
export function encodeItems({ role, parts }: Message): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let content: JsonValue[] = [];
  const endContent = (): void => {
    if (content.length > 0)
      items.push({ type: "message", role: role === "tool" ? "user" : role, content });
    content = [];
  };
  for (const part of parts) {
    const item = encodeItem(part);
    if (item === undefined) content.push(...encodeContent(part, role));
    else {
      endContent();
      items.push(item);
    }
  }
  endContent();
  return items;
}

function encodeItem(part: Part): JsonObject | undefined {
  switch (part.kind) {
    case "tool-call":
      return part.isToolSearch === true
        ? encodeSearch(part)
        : { type: "function_call", call_id: part.id, name: part.name, arguments: part.input };
    case "tool-result":
      return (
        foundIn(part) ?? {
          type: "function_call_output",
          call_id: part.callId,
          output: encodeOutput(part.content),
        }
      );
    case "reasoning":
      return part.signature === undefined
        ? undefined
        : {
            type: "reasoning",
            summary: part.text === "" ? [] : [{ type: "summary_text", text: part.text }],
            encrypted_content: part.signature,
          };
    case "opaque":
      return isObject(part.json) && part.type.startsWith(wholeItem) ? part.json : undefined;
    default:
      return undefined;
  }
}

function encodeOutput(content: readonly Part[]): JsonValue {
  const parts = content.flatMap((part) => encodeContent(part, "tool"));
  const [only, ...others] = parts;
  if (only === undefined) return "";
  const isText = isObject(only) && only["type"] === "input_text" && others.length === 0;
  return isText ? (only["text"] ?? "") : parts;
}

function encodeContent(part: Part, role: Role): readonly JsonValue[] {
  switch (part.kind) {
    case "text":
      if (part.text === "") return [];
      return [{ type: role === "assistant" ? "output_text" : "input_text", text: part.text }];
    case "image":
      return role === "assistant"
        ? []
        : [
            {
              type: "input_image",
              detail: part.detail ?? "auto",
              ...encodeMedia(part.media, "image_url", "image_url"),
            },
          ];
    case "document":
      return role === "assistant" ? [] : [{ type: "input_file", ...encodeDocument(part.media) }];
    case "opaque":
      return [part.json];
    default:
      return [];
  }
}

/** The provider refuses the bytes of a document without a file name. */
function encodeDocument(media: Media): JsonObject {
  const fields = encodeMedia(media, "file_data", "file_url");
  if (media.kind !== "base64") return fields;
  const extension = media.mediaType === "application/pdf" ? "pdf" : "txt";
  return { ...fields, filename: `document.${extension}` };
}

function encodeMedia(media: Media, dataField: string, urlField: string): JsonObject {
  switch (media.kind) {
    case "base64":
      return { [dataField]: `data:${media.mediaType};base64,${media.data}` };
    case "url":
      return { [urlField]: media.url };
    case "file":
      return { file_id: media.id };
  }
}
