/** What a wire format must be able to do. One implementation per provider format, one conformance suite. */

import type { JsonObject, JsonValue, LongText } from "../../message/json.ts";
import type { Message, OutputSize, Part, ToolCallPart, Usage } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { BodySlices, Slice } from "./slices.ts";
import type { Splice } from "./splice.ts";

export type WireName = "anthropic" | "openai-chat" | "openai-responses";

/** Whose format a wire is: the name under which Plimsoll knows its vendor's own servers. */
export type Vendor = "anthropic" | "openai";

/** What the fields of a body are called. */
export interface FieldNames {
  readonly model: string;
  /** The array that holds the conversation. */
  readonly messages: string;
  readonly tools: string;
  /** Absent: the system prompt stands among the messages. */
  readonly system?: string;
  /** How long the answer may be: a body has one of these, or none. */
  readonly output: readonly string[];
}

/** Fields that a body gets, by name. */
export type FieldValues = ReadonlyMap<string, JsonValue>;

/** What one request may carry of images and documents. */
export interface MediaLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** Servers of a wire that are stricter than its vendor's. */
export type Profile = "mistral" | "deepseek";

/** A request as far as Plimsoll needs it. Everything else stays in the client's bytes. */
export interface WireRequest {
  readonly model: string;
  readonly maxOutputTokens?: number;
  /** The part of the answer that may be thinking, where the body gives it a budget. */
  readonly thinkingTokens?: number;
  readonly messages: readonly Slice[];
  /** System prompt outside the messages, and tool schemas: what fills the window before the conversation. */
  readonly system?: Slice;
  readonly tools?: Slice;
  /** Where the request has no list of tools: the list that stands in one of its messages. */
  readonly toolsInMessage?: ToolsInMessage;
  /** The client's own name for the conversation, where the body carries one, as `client:name`. */
  readonly clientSession?: string;
  /** The provider keeps what came before; the body names it and carries only what is new. */
  readonly continues?: string;
  /** The provider keeps nothing of the answer: names in it mean nothing later. */
  readonly isNotStored?: true;
  /** The model may not choose freely among the tools, or gives several answers at once: none of ours belong here. */
  readonly forbidsOwnTools?: true;
  /** Names of tools in the choice: those must be told. */
  readonly wantedTools?: readonly string[];
}

export interface ToolsInMessage {
  /** By its index among the messages. */
  readonly message: number;
  /** The tools, at least one, as slices of that message. */
  readonly elements: readonly Slice[];
}

export interface AnswerError {
  readonly type: string;
  readonly message: string;
}

/**
 * What an upstream answered, put together from its JSON or its stream.
 * cut: the stream ended before the provider said that it was done; what arrived is in `choices`.
 * unread: it is not in this wire's format, or too large to be read along; it was passed on all the same.
 */
export interface Answer {
  readonly outcome: "message" | "error" | "cut" | "unread";
  /** The response object, as the provider's own client library would have built it. */
  readonly response?: JsonObject;
  /** What a client sends back as history: one choice, or several when it asked for several; each a row of messages. */
  readonly choices: readonly (readonly JsonObject[])[];
  readonly usage?: Usage;
  readonly stopReason?: string;
  readonly error?: AnswerError;
}

/** One server-sent event. */
export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

/** Whether a call by this name, or a search for tools in the provider's own form, is answered by Plimsoll itself. */
export type IsOwn = (toolName: string, isToolSearch?: boolean) => boolean;

/**
 * Several rounds with the upstream as the one answer that a client sees: without our calls, numbered on, with the ids of the
 * first round and the end of the last.
 */
export interface RoundMerger {
  /**
   * An event of the running round; what goes on to the client now, the very same object where nothing is different. What ends
   * a round well is held back; an error is not.
   */
  take(event: StreamEvent): readonly StreamEvent[];
  /** The running round has ended, and another one follows. */
  next(): void;
  /** What was held back of the last round: the end of the answer. */
  end(): readonly StreamEvent[];
}

export type Progress = "opening" | "content" | "terminal";

/** Contract: never throws on what an upstream may send; unknown events are passed over. */
export interface AnswerAccumulator {
  /**
   * opening: nothing of what the model says has come yet; terminal: after this event the client considers
   * the answer finished, well or badly.
   */
  take(event: StreamEvent): Progress;
  finish(): Answer;
}

/** One part of a message, by its index; inside a tool result, one part of that. */
export interface PartPlace {
  readonly part: number;
  readonly inner?: number;
}

export interface OwnText {
  readonly text: string;
  /** A mark that the client had set on what this text stands for. */
  readonly mark?: JsonValue;
}

/** A part of a system prompt, and the cache mark at its end. */
export interface SystemText {
  readonly text: string;
  readonly mark?: JsonValue;
}

/** A system prompt as one text: for wires that have no parts. */
export function wholeSystem(system: string | readonly SystemText[]): string {
  return typeof system === "string" ? system : system.map(({ text }) => text).join("\n\n");
}

export interface BodyParts {
  readonly model: string;
  readonly system?: string | readonly SystemText[];
  readonly messages: readonly JsonObject[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens: number;
  /** Which of the wire's `fields.output` says so; the first one where nothing is said. */
  readonly outputField?: string;
  /** Further fields of the provider's own, e.g. `stream` or `temperature`. */
  readonly extra?: JsonObject;
}

/** What is found is told where it was found, so the list of tools never changes. */
export interface NativeDeferral {
  /** Models that know it, on the vendor's own servers. */
  readonly models: RegExp;
  /** What a server says that does not know it after all. */
  readonly refusal: RegExp;
  /** A tool of the list that the model is not told of before a search names it. Absent: what is held back is not in the list. */
  defer?(tool: JsonObject): JsonObject;
  /** Our search in the provider's own form. Absent: it is a function like others. */
  search?(tool: ToolDefinition): JsonObject;
  /** What an answer to a search consists of, for these tools of a request. Empty: it is a text. */
  found(tools: readonly JsonObject[]): readonly JsonObject[];
  /** Tools that an answer to a search only names: they must stand in the list. */
  named?(message: JsonObject): readonly string[];
  /**
   * A search, or an answer to one, for a model that knows nothing of this, or of tools that are not there any more; the very
   * same object where it is neither.
   */
  plain(message: JsonObject, isThere?: (name: string) => boolean): JsonObject;
}

/** How a provider counts a request without answering it. */
export interface Counting {
  /** Behind the path of the model. */
  readonly path: string;
  /** System prompt and tools of a request, in the client's own bytes, with next to no conversation. */
  body(request: WireRequest, body: Uint8Array, slices: BodySlices): Uint8Array;
  read(answer: JsonValue): number | undefined;
}

export interface IdentityRules {
  readonly long?: LongText;
  /** As earlier versions did: null fields are dropped from the arguments of calls, too. */
  readonly isOld?: boolean;
}

/** Whole bodies of requests, and what one may carry. */
export interface WireBody {
  /** Contract: throws BODY_INVALID when a field that Plimsoll reads has the wrong type. */
  read(body: Uint8Array, slices: BodySlices): WireRequest;
  compose(parts: BodyParts): JsonObject;
  decodeSystem(system: JsonValue): readonly Part[];
  /** The fields that say how long the answer may be, for a body that says so, with these figures. */
  outputFields(body: Uint8Array, slices: BodySlices, output: OutputSize): FieldValues;
  /** With these the model calls nothing. */
  readonly noTools: FieldValues;
  /** With these the provider does not add what it holds: the body carries the whole conversation. */
  readonly withoutServerSideHistory: FieldValues;
  /** With these the provider keeps nothing of request and answer. */
  readonly nothingKept: FieldValues;
  /** Headers of a request that decide what its body may hold, in small letters. */
  readonly headers: readonly string[];
  /** The catalogue's name for a model, where headers make another one of it. */
  modelByHeaders(model: string, headers: Readonly<Record<string, string>>): string | undefined;
  /** For a model of this window. */
  mediaLimits(window: number): MediaLimits;
  /** Whose rules hold beside the wire's own, by `provider/model`. */
  profileOf(target: string): Profile | undefined;
  /** Undefined where the provider does not count. */
  readonly counting?: Counting;
}

/** Messages, read and written. */
export interface WireMessages {
  /** An element of the conversation as a message; undefined when it cannot be one. */
  asMessage(json: JsonValue): JsonObject | undefined;
  /**
   * Canonical text of a message: equal for two spellings that mean the same to the provider, whatever
   * cache marks, null fields and wrappers a client adds from turn to turn.
   */
  identity(message: JsonObject, rules?: IdentityRules): string;
  /** Contract: never throws; what is not understood becomes an opaque part. */
  decode(message: JsonObject): Message;
  /** Several neutral messages may become one (parallel results) or one several. */
  encode(messages: readonly Message[]): readonly JsonObject[];
  /** A message that somebody wrote down, without what its writer noted beside it. */
  withoutNotes(message: JsonObject): JsonObject;
  toolCalls(message: JsonObject): readonly ToolCallPart[];
  /** Names under which the provider keeps a message, or an answer: what a later request may call it by. */
  ownIds(message: JsonObject): readonly string[];
  /** The message that stands only as a name of another one; undefined for a message that is there itself. */
  referenceTo(message: JsonObject): string | undefined;
}

/** Other words in a client's messages, and Plimsoll's own beside them. */
export interface WireEdit {
  /**
   * What to splice into the bytes of a message so that one of its parts says something else. Undefined for
   * parts that must stay as they came: reasoning, what is not understood. Of a call the text is its arguments, a JSON
   * object. Cache marks stay.
   */
  replacePart(message: Uint8Array, place: PartPlace, text: string): Splice | undefined;
  /** Text of ours as a message of its own, in the user's role. */
  ownMessage(own: OwnText): JsonObject;
  /** Where text of ours stands: in a message of its own, or inside a neighbour, where roles must alternate. */
  readonly ownTextPlacement: "alone" | "inside";
  /** The message with a text of ours at one of its ends; undefined when it cannot carry one there. */
  carryText(message: Uint8Array, own: OwnText, end: "first" | "last"): Uint8Array | undefined;
  /** Two messages of the user's side as one, where roles must alternate; undefined when they cannot be joined. */
  joinMessages(first: Uint8Array, second: Uint8Array): Uint8Array | undefined;
}

/** The provider's cache: marks that say up to where a request is cached. */
export interface WireCache {
  /** The field that is a cache mark: it stands nowhere else, or in somebody's text. */
  readonly markField: string;
  /** How a request says that it is to be cached up to here; undefined where requests do not say. */
  readonly usualMark?: JsonObject;
  /** Whether the cache is to live long up to this mark. */
  isLongMark(mark: JsonValue): boolean;
  /** Cache marks in a whole body. May count one too many, never one too few. */
  countMarks(body: Uint8Array): number;
  /** Whether a body asks for a cache that lives long. */
  hasLongMarks(body: Uint8Array): boolean;
  /** The last cache mark that a client put on this message, or the first, as it stands there. */
  markIn(message: Uint8Array, which?: "first" | "last"): JsonValue | undefined;
  /** The message with a cache mark at its end; undefined where none can stand. */
  withMark(message: Uint8Array, mark: JsonValue): Uint8Array | undefined;
  /** The cache mark that a client has put on a tool, a block of a message, or the body itself. */
  markOn(block: JsonValue): JsonValue | undefined;
  /** The tool with this mark, or without any. */
  markTool(tool: JsonObject, mark: JsonValue | undefined): JsonObject;
  /** The pieces of a message that a cache tells apart. */
  blocks(message: JsonObject): readonly JsonValue[];
}

/** The list of tools. */
export interface WireTools {
  encode(tool: ToolDefinition): JsonObject;
  /** What a tool of a request says of itself; undefined for tools that have no name. */
  decode(tool: JsonValue): ToolDefinition | undefined;
  /** Under which name the model calls a tool of a request; undefined for tools that have none. */
  nameOf(tool: JsonValue): string | undefined;
  /** Tools that stand inside of this one, and are called by names of their own. */
  inside(tool: JsonValue): readonly JsonValue[];
  /** More tools than this a provider refuses. */
  readonly max?: number;
  /** The client holds tools back itself, in the provider's way: this one, or this is what finds them. */
  isDeferring(tool: JsonValue): boolean;
  /** How the provider holds tools back itself; undefined where it cannot do that. */
  readonly deferral?: NativeDeferral;
}

/** Answers of an upstream. */
export interface WireAnswer {
  open(): AnswerAccumulator;
  read(response: JsonValue): Answer;
  /** The model stopped for want of room, or because it had to: a call at the end may be half of one. */
  isCutShort(answer: Answer): boolean;
  /** An answer as it can be sent back to a provider that has kept nothing of it. */
  repeatable(messages: readonly JsonObject[]): readonly JsonObject[];
}

/** Rounds with the upstream that the client does not know of. */
export interface WireRounds {
  open(isOwn: IsOwn): RoundMerger;
  /** The same for rounds that were answered in one piece each. */
  merge(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject;
  /** An answer's messages without our calls; a message of which nothing is left is gone. */
  withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[];
  /**
   * A message of an answer without what makes sense only beside calls of ours, which `inner` has and the client does not:
   * the very same bytes where there is nothing of the kind.
   */
  withoutLookups(message: Uint8Array, inner: readonly Uint8Array[]): Uint8Array | "nothing";
}

/** What went wrong, in the provider's own words: clients know them. */
export interface WireErrors {
  body(status: number, message: string): JsonObject;
  /** The event that tells a client, in mid-stream, that something went wrong. */
  event(status: number, message: string): StreamEvent;
  /** For a conversation that is too long. */
  tooLong(needTokens: number, limitTokens: number): JsonObject;
}

export interface Wire {
  readonly name: WireName;
  readonly vendor: Vendor;
  readonly fields: FieldNames;
  readonly body: WireBody;
  readonly messages: WireMessages;
  readonly edit: WireEdit;
  readonly cache: WireCache;
  readonly tools: WireTools;
  readonly answer: WireAnswer;
  readonly rounds: WireRounds;
  readonly errors: WireErrors;
}
