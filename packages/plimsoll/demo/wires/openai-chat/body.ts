/** The part of OpenAI Chat Completions that the demo uses. */

export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

export interface AnswerMessage {
  readonly role: "assistant";
  readonly content: string | null | readonly ContentPart[];
  readonly tool_calls?: readonly ToolCall[];
}

export interface ToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string | readonly ContentPart[];
}

export interface SaidMessage {
  readonly role: "system" | "user";
  readonly content: string | readonly ContentPart[];
}

export type Message = SaidMessage | AnswerMessage | ToolMessage;

export interface Body {
  readonly model: string;
  readonly max_completion_tokens: number;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: boolean };
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly messages: readonly Message[];
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export interface Answer {
  readonly id: string;
  readonly object: "chat.completion";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly message: AnswerMessage;
      readonly finish_reason: "stop" | "tool_calls";
    },
  ];
  readonly usage: Usage;
}

export const path = "/v1/chat/completions";
export const done = "[DONE]";

export function messageOf(text: string, calls: readonly ToolCall[]): AnswerMessage {
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

export function textOf(content: Message["content"]): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
