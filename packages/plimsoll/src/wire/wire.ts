/** What a wire format must be able to do. One implementation per provider format, one conformance suite. */

import type { JsonObject, JsonValue, LongText } from "../message/json.ts";
import type { Message, Part, ToolCallPart, Usage } from "../message/message.ts";
import type { ToolDefinition } from "../message/tool.ts";
import type { BodySlices, Slice } from "./slices.ts";

export type WireName = "anthropic" | "openai-chat";

/** A request as far as Plimsoll needs it. Everything else stays in the client's bytes. */
export interface WireRequest {
  readonly model: string;
  readonly maxOutputTokens?: number;
  readonly messages: readonly Slice[];
  /** System prompt outside the messages, and tool schemas: what fills the window before the conversation. */
  readonly system?: Slice;
  readonly tools?: Slice;
  /** The client's own name for the conversation, where the body carries one, as `client:name`. */
  readonly clientSession?: string;
}

export interface AnswerError {
  readonly type: string;
  readonly message: string;
}

/**
 * What an upstream answered, put together from its JSON or its stream.
 * cut: the stream ended before the provider said that it was done; what arrived is in `messages`.
 * unread: it is not in this wire's format, or too large to be read along; it was passed on all the same.
 */
export interface Answer {
  readonly outcome: "message" | "error" | "cut" | "unread";
  /** The response object, as the provider's own client library would have built it. */
  readonly response?: JsonObject;
  /** What a client sends back as history: one message, or several when it asked for several choices. */
  readonly messages: readonly JsonObject[];
  readonly usage?: Usage;
  readonly stopReason?: string;
  readonly error?: AnswerError;
}

/** Contract: never throws on what an upstream may send; unknown events are passed over. */
export interface AnswerAccumulator {
  /** `terminal`: after this event the client considers the answer finished. */
  take(event: { readonly name: string; readonly data: string }): "more" | "terminal";
  finish(): Answer;
}

export interface BodyParts {
  readonly model: string;
  readonly system?: string;
  readonly messages: readonly JsonObject[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens: number;
  /** Further fields of the provider's own, e.g. `stream` or `temperature`. */
  readonly extra?: JsonObject;
}

export interface Wire {
  readonly name: WireName;
  /** The array of a body that holds the conversation. */
  readonly messagesField: string;
  /** Contract: throws BODY_INVALID when a field that Plimsoll reads has the wrong type. */
  readRequest(body: Uint8Array, slices: BodySlices): WireRequest;
  /**
   * Canonical text of a message: equal for two spellings that mean the same to the provider, whatever
   * cache marks, null fields and wrappers a client adds from turn to turn.
   */
  identity(message: JsonObject, long?: LongText): string;
  /** Contract: never throws; what is not understood becomes an opaque part. */
  decode(message: JsonObject): Message;
  /**
   * Where the text of a part stands in the bytes of its message: the JSON value that another text may
   * replace. Undefined for parts that must stay as they came.
   */
  textRange(message: Uint8Array, part: number): Slice | undefined;
  decodeSystem(system: JsonValue): readonly Part[];
  /** Several neutral messages may become one (parallel results) or one several. */
  encode(messages: readonly Message[]): readonly JsonObject[];
  composeBody(parts: BodyParts): JsonObject;
  openAnswer(): AnswerAccumulator;
  readAnswer(response: JsonValue): Answer;
  toolCalls(message: JsonObject): readonly ToolCallPart[];
  errorBody(status: number, message: string): JsonObject;
}
