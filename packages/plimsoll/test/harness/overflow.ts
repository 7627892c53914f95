/** Each provider's error for a conversation that does not fit its window: as a separate answer, or inside a stream. */
import { inFrame } from "./answer-gemini.ts";
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
  if (wire === "gemini") return geminiError(400, geminiMessage(tooLong));
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
    case "gemini":
      return inFrame([overflowBody(frame.wire, tooLong)], frame).slice(0, 1);
  }
}

/** The words that Google's services use for the status codes of their errors. */
const STATUSES: ReadonlyMap<number, string> = new Map([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
]);

export function geminiError(code: number, message: string): JsonObject {
  return { error: { code, message, status: STATUSES.get(code) ?? "UNKNOWN" } };
}

/** Gemini's limit for answers is separate from its limit for the input. */
function geminiMessage({ inputTokens, windowTokens }: TooLong): string {
  return `The input token count (${inputTokens}) exceeds the maximum number of tokens allowed (${windowTokens}).`;
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
