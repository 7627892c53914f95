/** The part of Anthropic Messages that the demo uses. */

import type { DemoTool } from "../../tools.ts";
import type { Block, Call } from "../form.ts";

export interface Markable {
  readonly cache_control?: { readonly type: "ephemeral" };
}

export interface TextBlock extends Markable {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock extends Markable {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
}

export interface CallBlock extends Markable {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: Call["input"];
}

export interface ResultBlock extends Markable {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  readonly is_error?: boolean;
}

export type ContentBlock = TextBlock | ImageBlock | CallBlock | ResultBlock;

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string | readonly ContentBlock[];
}

export interface Body {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream?: boolean;
  readonly system?: string | readonly TextBlock[];
  readonly tools?: readonly (Pick<DemoTool, "name"> &
    Markable & { readonly input_schema: object })[];
  readonly messages: readonly Message[];
}

export interface Answer {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly (TextBlock | CallBlock)[];
  readonly stop_reason: "end_turn" | "tool_use" | null;
  readonly stop_sequence: null;
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly output_tokens: number;
  };
}

export const path = "/v1/messages";

export function blocksOf({ content }: Message): readonly ContentBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function blocks({ tools = [], system = [], messages }: Body): readonly Block[] {
  const head = typeof system === "string" ? [{ type: "text", text: system }] : system;
  const all: readonly (object & Markable)[] = [
    ...tools,
    ...head,
    ...messages.flatMap((message) =>
      blocksOf(message).map((block) => ({ role: message.role, ...block })),
    ),
  ];
  return all.map(({ cache_control: set, ...json }) => ({ json, isMarked: set !== undefined }));
}
