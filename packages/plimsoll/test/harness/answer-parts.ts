/** What an upstream of the tests is told to answer, whatever its wire. */

import type { JsonObject, Wire } from "./json.ts";

/** What the answer's frame needs from the request. */
export interface Frame {
  readonly body: JsonObject;
  readonly wire: Wire;
  readonly model: string;
  readonly requestNumber: number;
  readonly includeUsage: boolean;
}

export interface TextPart extends Part {
  readonly kind: "text";
  /** One delta each when streamed, joined when not. */
  readonly chunks: readonly string[];
}

export interface ReasoningPart extends Part {
  readonly kind: "reasoning";
  readonly chunks: readonly string[];
  /** Of a thinking block, or hidden in the encrypted content of a reasoning item; Chat has no place for it. */
  readonly signature: string;
}

export interface CallPart extends Part {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The arguments as the model wrote them, where that is no JSON. Anthropic has a place for it in streams only. */
  readonly rawInput?: string;
  /** Of Responses: a call of a custom tool, whose input is a text and no JSON: `rawInput`. */
  readonly isCustom?: boolean;
}

export type AnswerPart = TextPart | ReasoningPart | CallPart;

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  /** Written to the cache: Anthropic alone reports it. */
  readonly created?: number;
  /** Of the output; Anthropic does not tell. */
  readonly reasoning?: number;
}

export interface Reply {
  readonly kind: "reply";
  readonly parts: readonly AnswerPart[];
  readonly usage?: Usage;
  /** For a provider with a window, whose counts are its usage. */
  readonly usageSplit?: UsageSplit;
  /** In the wire's own words. Without it: what the parts say (a tool call, or the end of the turn). */
  readonly stopReason?: string;
  readonly delayBetweenEventsMs?: number;
  /** For a stream only; an answer that is not streamed has one event. */
  readonly early?: EarlyEnd;
}

/** These very bytes, as fast as they are taken; they are not remembered. */
export interface RawBytes {
  readonly kind: "raw";
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface Part {
  /** Of Responses: the id of the item, where it is not the one of its place. */
  readonly itemId?: string;
}

/** How a stream stops before its time: socket destroyed, ended cleanly without its terminal event, or left open. */
export interface EarlyEnd {
  readonly kind: "cut" | "end" | "hang";
  readonly afterEvents: number;
}

/** How a provider that counts reports what it counted. */
export interface UsageSplit {
  readonly cachedShare: number;
  readonly createdShare: number;
  /** Beside what the answer says. */
  readonly reasoning: number;
}
