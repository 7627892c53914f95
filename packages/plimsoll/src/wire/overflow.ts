/**
 * Recognises answers in which a provider says that the conversation is too long. It knows every wording seen so far. It excludes
 * similar errors: rate limits, quotas, too many tools, a field that is too long.
 * Ollama never sends such an error, because it cuts the conversation silently.
 */

import { isObject, type JsonValue, parseObject } from "../message/json.ts";

import type { Answer } from "./format/wire.ts";

export interface Overflow {
  /** The part that was too long: the input, input and answer together, the bytes, or the answer while it was being written. */
  readonly kind: "input" | "input+output" | "bytes" | "output";
  readonly limitTokens?: number;
  /** Number of tokens that the request needs, by the provider's count. */
  readonly needTokens?: number;
  readonly inputTokens?: number;
  readonly maxTokens?: number;
}

/** Stands for the answer of an overloaded provider, which says nothing about the size of the request. */
export const overloaded: Overflow = { kind: "input" };

/** Whether an answer that began normally is an error of an overloaded provider. */
export function saysOverloaded({ error }: Answer): boolean {
  return error !== undefined && /overloaded|rate_limit|server_error|api_error/i.test(error.type);
}

export interface UpstreamError {
  readonly status: number;
  /** The parsed body or event, or its text if it is not JSON. */
  readonly body: JsonValue;
}

/** Maximum length of a text to search, in characters. No provider needs a longer text for this error. */
const maxTextLength = 8000;
/**
 * HTTP statuses of answers that may report an overflow. 200 is one of them, because some errors come inside an answer that began
 * normally.
 */
export const overflowStatuses: ReadonlySet<number> = new Set([200, 400, 413, 422]);
const veto =
  /rate.?limit|per.?min|\bTPM\b|throttl|quota|please wait|string_above_max_length|array_above_max_length/i;
const codes =
  /\b(context_length_exceeded|model_max_prompt_tokens_exceeded|exceed_context_size_error|ContextWindowExceededError)\b/;

type Figures = Omit<Overflow, "kind">;
interface Dialect {
  readonly pattern: RegExp;
  readonly kind?: Overflow["kind"];
  /** Reads the figures from the numbers that the pattern captured, in order. */
  readonly figures?: (...numbers: readonly (number | undefined)[]) => Figures;
}

const needOverLimit = (needTokens?: number, limitTokens?: number): Figures => ({
  ...(needTokens && { needTokens }),
  ...(limitTokens && { limitTokens }),
});
const limitThenNeed = (limitTokens?: number, needTokens?: number): Figures =>
  needOverLimit(needTokens, limitTokens);
const inputPlusOutput = (
  limitTokens: number | undefined,
  inputTokens = 0,
  maxTokens = 0,
): Figures => ({
  ...(limitTokens && { limitTokens }),
  needTokens: inputTokens + maxTokens,
  inputTokens,
  maxTokens,
});

/** The known wordings of overflow errors. More specific wordings come first. */
const dialects: readonly Dialect[] = [
  { pattern: /prompt is too long: (\d+) tokens > (\d+) maximum/i, figures: needOverLimit },
  {
    pattern: /exceed context limit: (\d+) \+ (\d+) > (\d+)/i,
    kind: "input+output",
    figures: (input, max, limit) => inputPlusOutput(limit, input, max),
  },
  {
    pattern:
      /maximum context length is (\d+) tokens\. However, you requested \d+ tokens \((\d+) in the messages, (\d+) in the completion/i,
    kind: "input+output",
    figures: inputPlusOutput,
  },
  {
    pattern:
      /maximum context length is (\d+) tokens\. However, you requested (\d+) output tokens and your prompt contains at least (\d+) input/i,
    kind: "input+output",
    figures: (limit, max, input) => inputPlusOutput(limit, input, max),
  },
  {
    pattern:
      /maximum context length is (\d+) tokens\. However, you requested about (\d+) tokens \([^)]{0,80}in the output/i,
    kind: "input+output",
    figures: limitThenNeed,
  },
  {
    pattern: /maximum context length is (\d+) tokens\. However, [a-z ]{1,40}?(\d+) tokens/i,
    figures: limitThenNeed,
  },
  {
    pattern:
      /input token count(?: \((\d+)\))? exceeds the maximum number of tokens allowed \(?(\d+)/i,
    figures: needOverLimit,
  },
  {
    pattern: /request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)/i,
    figures: needOverLimit,
  },
  {
    pattern: /maximum prompt length is (\d+) but the request contains (\d+) tokens/i,
    figures: limitThenNeed,
  },
  {
    pattern:
      /prompt contains (\d+) tokens [a-z0-9 ]{0,40}, too large for model with (\d+) maximum context length/i,
    figures: needOverLimit,
  },
  { pattern: /prompt token count of (\d+) exceeds the limit of (\d+)/i, figures: needOverLimit },
  { pattern: /exceeded model token limit: (\d+) \(requested: (\d+)\)/i, figures: limitThenNeed },
  {
    pattern: /number of tokens in the prompt cannot exceed (\d+) - received (\d+)/i,
    figures: limitThenNeed,
  },
  {
    pattern: /input length (\d+) exceeds the maximum context length \((\d+)\)/i,
    figures: needOverLimit,
  },
  {
    pattern: /range of input length should be \[\d+, (\d+)\]/i,
    figures: (limitTokens) => needOverLimit(undefined, limitTokens),
  },
  { pattern: /prompt is too long/i },
  { pattern: /input is too long(?: for requested model)?\.?$/i },
  { pattern: /exceeds the context window/i },
  { pattern: /context window exceeds limit/i },
  { pattern: /tokens to keep from the initial prompt is greater than the context length/i },
];

export function recognizeOverflow({ status, body }: UpstreamError): Overflow | undefined {
  if (!overflowStatuses.has(status)) return undefined;
  if (isObject(body) && body["stop_reason"] === "model_context_window_exceeded")
    return { kind: "output" };
  const texts = errorTexts(body).map((text) => text.slice(0, maxTextLength));
  if (texts.some((text) => veto.test(text))) return undefined;
  for (const text of texts) {
    const found = readDialect(text);
    if (found !== undefined) return found;
  }
  if (texts.some((text) => codes.test(text))) return { kind: "input" };
  return status === 413 ? { kind: "bytes" } : undefined;
}

/**
 * Whether an answer may contain an error. Some gateways send errors with status 200. This quick check avoids parsing every
 * answer.
 */
export function mayBeError(status: number, bytes: Buffer): boolean {
  return status !== 200 || bytes.subarray(0, 2048).includes('"error"');
}

/** Recognises an overflow in an answer that was already read. */
export function overflowOf(status: number, { error }: Answer): Overflow | undefined {
  return error && recognizeOverflow({ status, body: { error: { ...error } } });
}

function readDialect(text: string): Overflow | undefined {
  for (const { pattern, kind = "input", figures } of dialects) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const numbers = match
      .slice(1)
      .map((digits) => (digits === undefined ? undefined : Number(digits)));
    return { kind, ...figures?.(...numbers) };
  }
  return undefined;
}

/**
 * The texts in error fields. Other fields are ignored, because an answer may quote an error. Some gateways put JSON into a text.
 */
function errorTexts(body: JsonValue): readonly string[] {
  if (typeof body === "string") return [body];
  if (Array.isArray(body)) return body.length === 1 ? errorTexts(body[0] as JsonValue) : [];
  if (!isObject(body)) return [];
  const response = isObject(body["response"]) ? body["response"] : undefined;
  const errors = [body["error"], response?.["error"], body["message"], body["code"]];
  return errors.flatMap((error) => textsOf(error, 0));
}

const maxWrapping = 6;

function textsOf(value: JsonValue | undefined, depth: number): readonly string[] {
  if (depth > maxWrapping) return [];
  if (typeof value === "string") {
    const wrapped = value.startsWith("{") ? parseObject(value) : undefined;
    return wrapped === undefined ? [value] : textsOf(wrapped, depth + 1);
  }
  if (!isObject(value)) return [];
  const { message, code, type, error, metadata } = value;
  return [message, code, type, error, isObject(metadata) ? metadata["raw"] : undefined].flatMap(
    (inner) => textsOf(inner, depth + 1),
  );
}
