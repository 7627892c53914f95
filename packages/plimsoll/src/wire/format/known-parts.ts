/** The types of messages and parts that each wire knows. Content of an unknown type always stays in the request. */

import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";

export interface KnownTypes {
  readonly roles: ReadonlySet<string>;
  /** Types of parts that Plimsoll may remove together with the content around them, even if it does not read them. */
  readonly parts: RegExp;
}

/**
 * Types of the Anthropic wire. They include tools that the provider ran itself, and the provider's own compaction of a
 * conversation.
 */
export const anthropicTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system"]),
  parts:
    /^(?:text|image|document|search_result|container_upload|(?:redacted_)?thinking|(?:server_|mcp_)?tool_use|(?:.+_)?tool_result|tool_reference|compaction|fallback|tool_addition|tool_removal)$/,
};

/** Types of the OpenAI Chat wire. They include types that only compatible servers use: videos, and the thinking of Mistral. */
export const chatTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system", "developer", "tool", "function"]),
  parts: /^(?:text|refusal|image_url|input_audio|file|video_url|thinking)$/,
};

/**
 * Types of the OpenAI Responses wire, for message parts and for items. If a call has no output, the provider ran the call itself.
 */
export const responsesTypes: KnownTypes = {
  roles: new Set(["user", "assistant", "system", "developer"]),
  parts:
    /^(?:text|input_text|output_text|refusal|input_image|computer_screenshot|input_file|input_audio|item:(?:reasoning|compaction|compaction_trigger|item_reference|mcp_list_tools|mcp_approval_request|mcp_approval_response|additional_tools|program|program_output|.+_call|.+_call_output|tool_search_output))$/,
};

/** Types of the Gemini wire. The type of a part is the name of the field with its content. */
export const geminiTypes: KnownTypes = {
  roles: new Set(["user", "model", "function"]),
  parts: /^(?:executableCode|codeExecutionResult|executable_code|code_execution_result)$/,
};

/** Sets `stays` if the message's role, or the type of one of its parts, is unknown. `role` is the role as the client wrote it. */
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

/** A part that Plimsoll does not read and keeps as it came. */
export function opaquePart(json: JsonValue): Part {
  const type = isObject(json) ? stringOr(json["type"], "unknown") : typeof json;
  return { kind: "opaque", type, json };
}

/** Whether the part is the provider's own compaction of a conversation. */
export function isCompaction(part: Part): boolean {
  return part.kind === "opaque" && part.type.includes("compaction");
}

function isUnknown(part: Part, known: RegExp): boolean {
  if (part.kind === "tool-result") return part.content.some((inner) => isUnknown(inner, known));
  return part.kind === "opaque" && !known.test(part.type);
}
