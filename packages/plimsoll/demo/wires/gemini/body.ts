/** The part of Gemini that the demo uses, with a model that signs its calls. */

import type { Call } from "../form.ts";

export interface Picture {
  readonly inlineData: { readonly mimeType: string; readonly data: string };
}

export interface ContentPart {
  readonly text?: string;
  readonly inlineData?: Picture["inlineData"];
  readonly functionCall?: {
    readonly id?: string;
    readonly name: string;
    readonly args: Call["input"];
  };
  readonly functionResponse?: {
    readonly id?: string;
    readonly name: string;
    readonly response: Readonly<Record<string, unknown>>;
    readonly parts?: readonly Picture[];
  };
  readonly thoughtSignature?: string;
}

export interface Content {
  readonly role?: "user" | "model";
  readonly parts: readonly ContentPart[];
}

export interface Body {
  readonly systemInstruction?: Content;
  readonly contents: readonly Content[];
  readonly tools?: readonly {
    readonly functionDeclarations: readonly { readonly name: string }[];
  }[];
  readonly generationConfig: { readonly maxOutputTokens: number };
}

export interface Answer {
  readonly candidates: readonly [
    { readonly content: Content; readonly finishReason?: "STOP"; readonly index: 0 },
  ];
  readonly usageMetadata: {
    readonly promptTokenCount: number;
    readonly candidatesTokenCount?: number;
    readonly cachedContentTokenCount?: number;
    readonly totalTokenCount: number;
  };
  readonly modelVersion: string;
  readonly responseId: string;
}

export function declaredIn(tools: Body["tools"] = []): readonly string[] {
  return tools.flatMap(({ functionDeclarations: all }) => all.map(({ name }) => name));
}

export function signatureOf(id: string): string {
  return Buffer.from(`the thought that led to ${id}`).toString("base64");
}
