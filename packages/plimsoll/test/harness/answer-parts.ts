/** The scripted answers of the tests' upstream, independent of the wire. */

import type { JsonObject, Wire } from "./json.ts";

/** The parts of the request that the frame of an answer needs. */
export interface Frame {
  readonly body: JsonObject;
  readonly wire: Wire;
  readonly model: string;
  readonly requestNumber: number;
  readonly includeUsage: boolean;
  /** Gemini only: the stream is a JSON array, not events. */
  readonly isArray?: boolean;
}

export interface TextPart extends Part {
  readonly kind: "text";
  /** When streamed, each chunk is one delta; otherwise they are joined. */
  readonly chunks: readonly string[];
}

export interface ReasoningPart extends Part {
  readonly kind: "reasoning";
  readonly chunks: readonly string[];
  /** Signature of a thinking block, or part of the encrypted content of a reasoning item. Chat and Gemini do not send it. */
  readonly signature: string;
}

export interface CallPart extends Part {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The model's arguments if they are not JSON. Anthropic can send them only in streams, Gemini not at all. */
  readonly rawInput?: string;
  /** Responses only: a call of a custom tool. Its input is the text in `rawInput`, not JSON. */
  readonly isCustom?: boolean;
}

export type AnswerPart = TextPart | ReasoningPart | CallPart;

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  /** Tokens written to the cache. Only Anthropic reports them. */
  readonly created?: number;
  /** Reasoning tokens in the output. Anthropic does not report them. */
  readonly reasoning?: number;
}

export interface Reply {
  readonly kind: "reply";
  readonly parts: readonly AnswerPart[];
  readonly usage?: Usage;
  /** How to split the usage, for a provider with a window, which counts tokens itself. */
  readonly usageSplit?: UsageSplit;
  /** Stop reason in the wire's own words. Default: from the parts (a tool call, or the end of the turn). */
  readonly stopReason?: string;
  readonly delayBetweenEventsMs?: number;
  /** Only for streams, because an answer that is not streamed has one event. */
  readonly early?: EarlyEnd;
}

/** Sends exactly these bytes, as fast as the client reads them. The bytes are not recorded. */
export interface RawBytes {
  readonly kind: "raw";
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The answer in the bytes. The provider then knows its signatures when they come back. */
  readonly said?: { readonly reply: Reply; readonly frame: Frame };
}

export interface Part {
  /** Responses only: the id of the item, if it is not the usual one for its place. */
  readonly itemId?: string;
  /** Gemini only: the signature, if it is not the usual one for its place; null for none. */
  readonly thoughtSignature?: string | null;
}

/** How a stream stops early: socket destroyed, ended cleanly without its last event, or left open. */
export interface EarlyEnd {
  readonly kind: "cut" | "end" | "hang";
  readonly afterEvents: number;
}

/** How a provider that counts splits its usage report. */
export interface UsageSplit {
  readonly cachedShare: number;
  readonly createdShare: number;
  /** Reasoning tokens, in addition to the tokens of the answer. */
  readonly reasoning: number;
}
