/** What both wires of OpenAI share. */

import type { TooLong } from "./form.ts";

export const openaiHeaders = { authorization: "Bearer no-key-is-needed-for-the-demo" } as const;

export function openaiRefusal(message: string): object {
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}

export function openaiTooLong({ tokens, maxTokens, window }: TooLong): string {
  return `This model's maximum context length is ${window} tokens. However, you requested ${tokens + maxTokens} tokens (${tokens} in the messages, ${maxTokens} in the completion).`;
}

/** The tokens of a small picture: 70, and 140 for each tile of 512 x 512 pixels. */
export function openaiPictureTokens(width: number, height: number): number {
  return 70 + 140 * Math.ceil(width / 512) * Math.ceil(height / 512);
}

/** Whether a text is the JSON of an object, as the arguments of a call must be. */
export function isArguments(text: unknown): boolean {
  try {
    return JSON.parse(String(text)) instanceof Object;
  } catch {
    return false;
  }
}
