/** The neutral conversation: the one form into which every wire format is read. */

import type { JsonValue } from "./json.ts";

export type Role = "system" | "user" | "assistant" | "tool";

/** Content other than text, such as an image: the data itself, or where to find it. */
export type Media =
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file"; readonly id: string };

export interface TextPart {
  readonly kind: "text";
  readonly text: string;
}

export interface ToolCallPart {
  readonly kind: "tool-call";
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON text. If the wire sends the arguments as a string, this is exactly that string. */
  readonly input: string;
  /**
   * Set if this is the provider's own tool search, which is not a function call, even if its name looks like the name of a
   * function.
   */
  readonly isToolSearch?: true;
  /**
   * Set on wires whose clients give calls other ids than the provider did. It stays the same, but other calls of the tool have it
   * too.
   */
  readonly looseId?: string;
  /** Present if the provider accepts the call back only with this signature, and only unchanged. */
  readonly signature?: string;
}

export interface ToolResultPart {
  readonly kind: "tool-result";
  readonly callId: string;
  /** The name of the tool, if the wire states it next to the result. */
  readonly name?: string;
  /** Set on wires whose clients shorten old results in their history. It stays the same, but other results of the tool have it too. */
  readonly looseId?: string;
  readonly content: readonly Part[];
  readonly isError: boolean;
}

export interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  /** Present if the provider accepts the part back only unchanged. */
  readonly signature?: string;
}

export interface ImagePart {
  readonly kind: "image";
  readonly media: Media;
  /** OpenAI's `detail`. The number of tokens of the image depends on it. */
  readonly detail?: "low" | "high" | "auto";
}

export interface DocumentPart {
  readonly kind: "document";
  readonly media: Media;
}

/** Content that Plimsoll does not understand. It is kept and counted, but never moved. */
export interface OpaquePart {
  readonly kind: "opaque";
  readonly type: string;
  readonly json: JsonValue;
  /** Set if the part only adds tools to the conversation, and contains nothing that the user or the model said. */
  readonly isTools?: true;
}

export type Part =
  | TextPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | ImagePart
  | DocumentPart
  | OpaquePart;

export interface Message {
  readonly role: Role;
  readonly parts: readonly Part[];
  /**
   * Set if the wire does not know the role of this message or the type of a part. The message is then never taken out. "there":
   * the parts that Plimsoll knows may be shortened. "whole": nothing in the message may change.
   */
  readonly stays?: "there" | "whole";
}

/** How long an answer may be. */
export interface OutputSize {
  readonly maxTokens: number;
  /** The part of `maxTokens` that is reserved for thinking. */
  readonly thinkingTokens?: number;
}

/** The tokens of a turn as the provider reports them. Absent fields were not reported. */
export interface Usage {
  /** All tokens that the model read, cached or not. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** The part of `cacheWriteTokens` that was written with the long cache lifetime. */
  readonly cacheWriteLongTokens?: number;
  readonly reasoningTokens?: number;
}

/** All readable text of a message, in order. Media and opaque parts are left out. */
export function messageText(message: Message): string {
  return message.parts.map(partText).filter(Boolean).join("\n");
}

function partText(part: Part): string {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
      return `${part.name}(${part.input})`;
    case "tool-result":
      return part.content.map(partText).filter(Boolean).join("\n");
    case "image":
    case "document":
    case "opaque":
      return "";
  }
}

/** Counts images and documents, including those inside tool results. */
export function countMedia(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if (part.kind === "tool-result") return sum + countMedia(part.content);
    return part.kind === "image" || part.kind === "document" ? sum + 1 : sum;
  }, 0);
}
