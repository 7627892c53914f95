/** The neutral conversation: the one form into which every wire format is read. */

import type { JsonValue } from "./json.ts";

export type Role = "system" | "user" | "assistant" | "tool";

/** Bytes that stand for something other than text: where they are, never what they look like as text. */
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
  /** The arguments as JSON text. On wires where they travel as a string, byte for byte that string. */
  readonly input: string;
  /** A search for tools in the provider's own form: no function, whatever its name. */
  readonly isToolSearch?: true;
}

export interface ToolResultPart {
  readonly kind: "tool-result";
  readonly callId: string;
  readonly content: readonly Part[];
  readonly isError: boolean;
}

export interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  /** Present when the provider will only take the part back unchanged. */
  readonly signature?: string;
}

export interface ImagePart {
  readonly kind: "image";
  readonly media: Media;
  /** OpenAI's `detail`: it decides how many tokens the image costs. */
  readonly detail?: "low" | "high" | "auto";
}

export interface DocumentPart {
  readonly kind: "document";
  readonly media: Media;
}

/** What we do not understand: kept, counted, never moved. */
export interface OpaquePart {
  readonly kind: "opaque";
  readonly type: string;
  readonly json: JsonValue;
  /** Tools that it brings: nothing that anybody said. */
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
   * Its wire does not know what it is, or what something in it is: nobody takes it out. there: what Plimsoll does know of it may
   * say less. whole: not a word of it goes.
   */
  readonly stays?: "there" | "whole";
}

/** How long an answer may be. */
export interface OutputSize {
  readonly maxTokens: number;
  /** Of them, for thinking. */
  readonly thinkingTokens?: number;
}

/** What a provider says that a turn cost. Absent fields were not reported. */
export interface Usage {
  /** Everything the model read, cached or not. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of them, what was written to live long. */
  readonly cacheWriteLongTokens?: number;
  readonly reasoningTokens?: number;
}

/** All text of a message that a person could read, in order; media and opaque parts are left out. */
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

/** Images and documents, also those inside results. */
export function countMedia(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if (part.kind === "tool-result") return sum + countMedia(part.content);
    return part.kind === "image" || part.kind === "document" ? sum + 1 : sum;
  }, 0);
}
