/** Each provider's error for a conversation that does not fit its window: as a separate answer, or inside a stream. */
import type { Frame } from "./answer-parts.ts";
import { failedEvents } from "./answer-responses.ts";
import type { JsonObject, Wire } from "./json.ts";

export interface TooLong {
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  readonly windowTokens: number;
}

const RESPONSES_MESSAGE =
  "Your input exceeds the context window of this model. Please adjust your input and try again.";

/** The body of the answer with status 400. */
export function overflowBody(wire: Wire, tooLong: TooLong): JsonObject {
  const type = "invalid_request_error";
  if (wire === "anthropic") {
    const error = { type, message: anthropicMessage(tooLong) };
    return { type: "error", error, request_id: "req_scripted" };
  }
  const code = "context_length_exceeded";
  return wire === "openai-chat"
    ? { error: { message: chatMessage(tooLong), type, param: "messages", code } }
    : { error: { message: RESPONSES_MESSAGE, type, param: "input", code } };
}

/** The events of the stream with status 200. */
export function overflowEvents(frame: Frame, tooLong: TooLong): readonly string[] {
  switch (frame.wire) {
    case "anthropic":
      return [`event: error\ndata: ${JSON.stringify(overflowBody(frame.wire, tooLong))}\n\n`];
    case "openai-chat":
      return [`data: ${JSON.stringify(overflowBody(frame.wire, tooLong))}\n\n`];
    case "openai-responses":
      return failedEvents({ code: "context_length_exceeded", message: RESPONSES_MESSAGE }, frame);
  }
}

/** If only the answer does not fit, providers name both figures. */
function anthropicMessage({ inputTokens, maxOutputTokens, windowTokens }: TooLong): string {
  return inputTokens > windowTokens
    ? `prompt is too long: ${inputTokens} tokens > ${windowTokens} maximum`
    : `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxOutputTokens} > ${windowTokens}, decrease input length or \`max_tokens\` and try again`;
}

function chatMessage({ inputTokens, maxOutputTokens, windowTokens }: TooLong): string {
  const limit = `This model's maximum context length is ${windowTokens} tokens.`;
  return inputTokens > windowTokens
    ? `${limit} However, your messages resulted in ${inputTokens} tokens. Please reduce the length of the messages.`
    : `${limit} However, you requested ${inputTokens + maxOutputTokens} tokens (${inputTokens} in the messages, ${maxOutputTokens} in the completion). Please reduce the length of the messages or completion.`;
}
