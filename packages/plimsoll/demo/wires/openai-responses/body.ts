/** The part of OpenAI Responses that the demo uses: the whole history in each request, and the model's reasoning in encrypted form. */

export type ContentPart =
  | { readonly type: "input_text" | "output_text"; readonly text: string }
  | { readonly type: "input_image"; readonly detail: "auto"; readonly image_url: string };

export interface MessageItem {
  readonly type?: "message";
  readonly id?: string;
  readonly role: "user" | "developer" | "system" | "assistant";
  readonly content: string | readonly ContentPart[];
}

export interface CallItem {
  readonly type: "function_call";
  readonly id?: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface ResultItem {
  readonly type: "function_call_output";
  readonly id?: string;
  readonly call_id: string;
  readonly output: string | readonly ContentPart[];
}

export interface ReasoningItem {
  readonly type: "reasoning";
  readonly id: string;
  readonly summary: readonly object[];
  readonly encrypted_content: string;
}

export type Item = MessageItem | CallItem | ResultItem | ReasoningItem;

export interface Body {
  readonly model: string;
  readonly max_output_tokens: number;
  readonly stream?: boolean;
  readonly store: false;
  readonly include: readonly string[];
  readonly instructions?: string;
  readonly tools?: readonly { readonly name: string }[];
  readonly input: readonly Item[];
}

export interface Answer {
  readonly id: string;
  readonly object: "response";
  readonly created_at: number;
  readonly status: "in_progress" | "completed";
  readonly model: string;
  readonly output: readonly Item[];
  readonly usage: {
    readonly input_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number };
    readonly output_tokens: number;
    readonly output_tokens_details: { readonly reasoning_tokens: number };
    readonly total_tokens: number;
  } | null;
}

export const path = "/v1/responses";
export const reasoningWanted = "reasoning.encrypted_content";

export function isMessage(item: Item): item is MessageItem {
  return item.type === undefined || item.type === "message";
}

export function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "input_image" ? "" : part.text)).join("\n");
}

/** The id of an item contains the number of its answer, so that the upstream knows which items belong together. */
export function itemId(start: string, answer: number, index = 0): string {
  return `${start}_${answer}_${index}`;
}

export function numberOf({ id = "" }: Item): string | undefined {
  return /^(?:rs|msg|fc)_(\d+)_\d+$/.exec(id)?.[1];
}

/** Looks like encrypted content, and differs for each answer. */
export function sealOf(answer: number | string): string {
  return `gAAAA${Buffer.from(`reasoning of answer ${answer}`).toString("base64url")}`;
}
