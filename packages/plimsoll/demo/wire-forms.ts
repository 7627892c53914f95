/** The part of Anthropic Messages that the demo's client and upstream use. */

export interface CacheMark {
  readonly type: "ephemeral";
}

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  readonly cache_control?: CacheMark;
}

export interface ImageBlock {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
}

export interface CallBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  readonly is_error?: boolean;
  readonly cache_control?: CacheMark;
}

export type Block = TextBlock | ImageBlock | CallBlock | ResultBlock;

export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: string | readonly Block[];
}

export interface WireTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: object;
}

export interface WireRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream?: boolean;
  readonly system?: string | readonly TextBlock[];
  readonly tools?: readonly WireTool[];
  readonly messages: readonly WireMessage[];
  /** Names the session, so that the upstream finds its script. */
  readonly metadata?: { readonly user_id?: string };
}

export interface WireUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly output_tokens: number;
}

export interface WireAnswer {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly (TextBlock | CallBlock)[];
  readonly stop_reason: "end_turn" | "tool_use" | null;
  readonly stop_sequence: null;
  readonly usage: WireUsage;
}

export function blocksOf({ content }: WireMessage): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The text of a message or a result, without pictures. */
export function textOf(content: WireMessage["content"] | ResultBlock["content"]): string {
  if (typeof content === "string") return content;
  return content
    .map((block) => {
      if (block.type === "text") return block.text;
      if (block.type === "tool_result") return textOf(block.content);
      return block.type === "tool_use" ? JSON.stringify(block.input) : "";
    })
    .join("\n");
}
