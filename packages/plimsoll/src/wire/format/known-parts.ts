/** Which types of messages and parts each wire knows. What it does not know stays in the request, whatever else goes. */

import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";

export interface KnownTypes {
  readonly roles: ReadonlySet<string>;
  /** Read or not: of these it is known that they may leave together with what stands around them. */
  readonly parts: RegExp;
}

/** Also what the provider ran itself, and what it wrote in place of a conversation. */
export const anthropicTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system"]),
  parts:
    /^(?:text|image|document|search_result|container_upload|(?:redacted_)?thinking|(?:server_|mcp_)?tool_use|(?:.+_)?tool_result|tool_reference|compaction|fallback|tool_addition|tool_removal)$/,
};

/** Also what compatible servers take: videos, and the thinking of Mistral. */
export const chatTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system", "developer", "tool", "function"]),
  parts: /^(?:text|refusal|image_url|input_audio|file|video_url|thinking)$/,
};

/** Parts of messages, and items: a call that has no partner was run by the provider. */
export const responsesTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system", "developer"]),
  parts:
    /^(?:text|input_text|output_text|refusal|input_image|computer_screenshot|input_file|input_audio|item:(?:reasoning|compaction|compaction_trigger|item_reference|mcp_list_tools|mcp_approval_request|mcp_approval_response|additional_tools|program|program_output|.+_call|.+_call_output|tool_search_output))$/,
};

/** `role`: as the client wrote it. */
export function keepingUnknown(
  message: Message,
  role: JsonValue | undefined,
  { roles, parts }: KnownTypes,
): Message {
  if (typeof role === "string" && !roles.has(role)) return { ...message, stays: "whole" };
  return message.parts.some((part) => isUnknown(part, parts))
    ? { ...message, stays: "there" }
    : message;
}

/** What is not read, and stays as it came. */
export function opaquePart(json: JsonValue): Part {
  const type = isObject(json) ? stringOr(json["type"], "unknown") : typeof json;
  return { kind: "opaque", type, json };
}

/** What a provider wrote in place of a conversation. */
export function isCompaction(part: Part): boolean {
  return part.kind === "opaque" && part.type.includes("compaction");
}

function isUnknown(part: Part, known: RegExp): boolean {
  if (part.kind === "tool-result") return part.content.some((inner) => isUnknown(inner, known));
  return part.kind === "opaque" && !known.test(part.type);
}
