/** The interface of a wire format. There is one implementation per provider format, and one conformance suite for all. */

import type { JsonObject, JsonValue, LongText } from "../../message/json.ts";
import type { Message, OutputSize, Part, ToolCallPart, Usage } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { BodySlices, Slice } from "./slices.ts";
import type { Splice } from "./splice.ts";

export const wireNames = ["anthropic", "openai-chat", "openai-responses", "gemini"] as const;

export type WireName = (typeof wireNames)[number];

/** The vendor that owns a wire format. Plimsoll knows the vendor's own servers by this name. */
export type Vendor = "anthropic" | "openai" | "gemini";

/** The names of a body's fields. */
export interface FieldNames {
  readonly model: string;
  /** Name of the array with the conversation. */
  readonly messages: string;
  readonly tools: string;
  /** Name of the field with the system prompt. Absent on wires where the system prompt is one of the messages. */
  readonly system?: string;
}

/** Fields to set in a body, by name. */
export type FieldValues = ReadonlyMap<string, JsonValue>;

/** Maximum number of images and documents in one request, and maximum size of a request that contains any, in bytes. */
export interface MediaLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** Servers that use a vendor's wire but are stricter than the vendor. */
export type Profile = "mistral" | "deepseek";

/** The parts of a request that Plimsoll needs. Everything else stays in the client's bytes. */
export interface WireRequest {
  readonly model: string;
  readonly maxOutputTokens?: number;
  /** Maximum number of tokens of the answer that may be thinking, if the body sets a budget for thinking. */
  readonly thinkingTokens?: number;
  readonly messages: readonly Slice[];
  /** The system prompt, if it is outside the messages, and the tool schemas. They come before the conversation in the window. */
  readonly system?: Slice;
  readonly tools?: Slice;
  /** The list of tools inside one of the messages, if the request itself has no list. */
  readonly toolsInMessage?: ToolsInMessage;
  /** The client's own name for the conversation, as `client:name`, if the body contains one. */
  readonly clientSession?: string;
  /** Id of the earlier conversation, which the provider keeps. The body then contains only the new messages. */
  readonly continues?: string;
  /** True if the provider does not keep the answer. Later requests then cannot refer to the answer by its ids. */
  readonly isNotStored?: true;
  /**
   * True if Plimsoll must not add its own tools, because the model may not choose freely among the tools, or because it gives
   * several answers at once.
   */
  readonly forbidsOwnTools?: true;
  /** Names of the tools in the request's tool choice. These tools must be sent. */
  readonly wantedTools?: readonly string[];
}

export interface ToolsInMessage {
  /** Index of the message that contains the tools. */
  readonly message: number;
  /** The tools, at least one, as slices of that message. */
  readonly elements: readonly Slice[];
}

export interface AnswerError {
  readonly type: string;
  readonly message: string;
}

/**
 * An upstream's answer, assembled from its JSON or its stream.
 * "cut": the stream ended before the provider said that the answer was complete. `choices` contains the part that arrived.
 * "unread": the answer is not in this wire's format, or is too large to read. It was still passed on.
 */
export interface Answer {
  readonly outcome: "message" | "error" | "cut" | "unread";
  /** The response object, as the provider's own client library would have built it. */
  readonly response?: JsonObject;
  /**
   * The answer in the form in which a client sends it back in its history. Each choice is a list of messages. If the client asked
   * for several answers, there are several choices.
   */
  readonly choices: readonly (readonly JsonObject[])[];
  readonly usage?: Usage;
  readonly stopReason?: string;
  readonly error?: AnswerError;
  /**
   * The last call with the text of its arguments, if they are unfinished and the wire keeps only the finished part of them in
   * `choices`.
   */
  readonly openCall?: { readonly name: string; readonly input: string };
}

/** One server-sent event. */
export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Whether Plimsoll itself answers a call of this tool. `isToolSearch` is true for a search for tools in the provider's own form.
 */
export type IsOwn = (toolName: string, isToolSearch?: boolean) => boolean;

/**
 * Combines several rounds with the upstream into the one answer that the client sees. It leaves out calls of Plimsoll's tools,
 * continues the numbering, takes the ids from the first round, and ends like the last round.
 */
export interface RoundMerger {
  /**
   * Takes an event of the current round, and returns the events to send to the client now. An unchanged event is returned as the
   * same object. Events that end a round successfully are held back, but errors are not.
   */
  take(event: StreamEvent): readonly StreamEvent[];
  /** Ends the current round. Another one follows. */
  next(): void;
  /** Returns the events held back from the last round, which end the answer. */
  end(): readonly StreamEvent[];
}

export type Progress = "opening" | "content" | "closing" | "terminal";

/** Contract: never throws, whatever an upstream sends. Unknown events are skipped. */
export interface AnswerAccumulator {
  /**
   * Returns "opening" until the first content from the model arrives. Returns "terminal" if the client considers the answer
   * finished after this event, successfully or not. Returns "closing" if the answer may be complete, but the stream has no event
   * that says so for certain.
   */
  take(event: StreamEvent): Progress;
  finish(): Answer;
}

/** Place of a part in a message, by index. `inner` is the index of a part inside a tool result. */
export interface PartPlace {
  readonly part: number;
  readonly inner?: number;
}

export interface OwnText {
  readonly text: string;
  /** The cache mark that the client had set on the content that this text replaces. */
  readonly mark?: JsonValue;
}

/** A part of a system prompt, and the cache mark at its end. */
export interface SystemText {
  readonly text: string;
  readonly mark?: JsonValue;
}

/** Joins the parts of a system prompt into one text, for wires on which a system prompt has no parts. */
export function wholeSystem(system: string | readonly SystemText[]): string {
  return typeof system === "string" ? system : system.map(({ text }) => text).join("\n\n");
}

export interface BodyParts {
  readonly model: string;
  readonly system?: string | readonly SystemText[];
  readonly messages: readonly JsonObject[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens: number;
  /** Name of the field that limits the answer, if it is not the usual one of the wire. */
  readonly outputField?: string;
  /** Further fields of the provider, such as `stream` or `temperature`. */
  readonly extra?: JsonObject;
}

/**
 * The provider's own way to defer tools. When a search finds a tool, the provider shows the tool at that place in the
 * conversation, so the list of tools never changes.
 */
export interface NativeDeferral {
  /** Models that support this deferral, on the vendor's own servers. */
  readonly models: RegExp;
  /** Matches the error of a server that does not support this deferral. */
  readonly refusal: RegExp;
  /**
   * Marks a tool in the list as deferred, so that the model does not see it until a search names it. Absent on wires where
   * deferred tools are left out of the list.
   */
  defer?(tool: JsonObject): JsonObject;
  /**
   * Writes Plimsoll's search tool in the provider's own form. Absent if the provider treats the search tool like any other
   * function.
   */
  search?(tool: ToolDefinition): JsonObject;
  /** The content of the answer to a search that found these tools. Empty if the answer is a plain text. */
  found(tools: readonly JsonObject[]): readonly JsonObject[];
  /** The tools that the answer to a search mentions only by name. The request's list of tools must contain these tools. */
  named?(message: JsonObject): readonly string[];
  /**
   * Rewrites a search, or the answer to one, for a model without this deferral or for tools that no longer exist. Returns the
   * same object for any other message.
   */
  plain(message: JsonObject, isThere?: (name: string) => boolean): JsonObject;
}

/** The provider's way to count the tokens of a request without answering it. */
export interface Counting {
  /** The address of the counting endpoint, made from the address of the conversation endpoint. */
  place(conversation: URL): URL;
  /** Writes the body of a counting request: the client's system prompt and tools, byte for byte, and almost no conversation. */
  body(request: WireRequest, body: Uint8Array, slices: BodySlices): Uint8Array;
  read(answer: JsonValue): number | undefined;
  /** The request inside the body of a counting request, if such a body may contain one. Undefined if the body is the request. */
  inside?(body: Uint8Array): Slice | undefined;
}

export interface IdentityRules {
  readonly long?: LongText;
  /** Whether to use the rule of earlier versions, which also dropped null fields from the arguments of calls. */
  readonly isOld?: boolean;
}

/** How much the configuration wants a model to think. */
export interface WantedReasoning {
  readonly effort: "minimal" | "low" | "medium" | "high";
  readonly model: string;
  /** Whether the setting is for this model or agent alone. It then applies although Plimsoll may not know the model. */
  readonly isMeant: boolean;
  /** Whether the conversation ends with results of calls before which the model did not think. */
  readonly isAfterCalls: boolean;
}

/** Reads and writes whole request bodies, and states their limits. */
export interface WireBody {
  /** Contract: throws BODY_INVALID if a field that Plimsoll reads has the wrong type. */
  read(body: Uint8Array, slices: BodySlices): WireRequest;
  compose(parts: BodyParts): JsonObject;
  decodeSystem(system: JsonValue): readonly Part[];
  /** The fields that limit the length of the answer in this body, with new values. If it has none, the vendor's usual field. */
  outputFields(body: Uint8Array, slices: BodySlices, output: OutputSize): FieldValues;
  /** The fields that forbid the model to call tools in this body. */
  noTools(body: Uint8Array, slices: BodySlices): FieldValues;
  /** The fields that let the model call this tool and no other one, if the body's list of tools alone does not. */
  onlyTool(body: Uint8Array, slices: BodySlices, name: string): FieldValues;
  /**
   * The fields that make the model think as much as wanted. Empty if the body says itself how much, if the model cannot think, or
   * if the provider would refuse this body with them.
   */
  reasoningFields(body: Uint8Array, slices: BodySlices, wanted: WantedReasoning): FieldValues;
  /** Fields that make the provider ignore the history that it keeps. They are for a body that contains the whole conversation. */
  readonly withoutServerSideHistory: FieldValues;
  /** Fields that make the provider store neither request nor answer. */
  readonly nothingKept: FieldValues;
  /** Names of the request headers that enable features of the body, in lower case. */
  readonly headers: readonly string[];
  /** The name under which the catalogue lists a model, if request headers select a variant of it. Otherwise undefined. */
  modelByHeaders(model: string, headers: Readonly<Record<string, string>>): string | undefined;
  /** The media limits for a model with this window. */
  mediaLimits(window: number): MediaLimits;
  /** The profile of the server for this target, if that server is stricter than its vendor. `target` is `provider/model`. */
  profileOf(target: string): Profile | undefined;
  /** The provider's way to count tokens. Undefined if the provider cannot count them. */
  readonly counting?: Counting;
}

/** Reads and writes messages. */
export interface WireMessages {
  /** Turns an element of the conversation into a message. Returns undefined if that is not possible. */
  asMessage(json: JsonValue): JsonObject | undefined;
  /**
   * The canonical text of a message. Two spellings that mean the same to the provider give the same text, whatever cache marks,
   * null fields and wrappers a client adds from turn to turn.
   */
  identity(message: JsonObject, rules?: IdentityRules): string;
  /** Contract: never throws. Content that Plimsoll does not understand becomes an opaque part. */
  decode(message: JsonObject): Message;
  /**
   * Several neutral messages may become one message of the wire, as parallel results do. One neutral message may become several.
   * `model` is the model that will read the messages, if it is known.
   */
  encode(messages: readonly Message[], model?: string): readonly JsonObject[];
  /** Removes the extra fields that the author of a hand-written message has added as notes. */
  withoutNotes(message: JsonObject): JsonObject;
  toolCalls(message: JsonObject): readonly ToolCallPart[];
  /** Ids under which the provider keeps a message or an answer. A later request may use them. */
  ownIds(message: JsonObject): readonly string[];
  /** The id of the message that this message refers to, or undefined if this message is not a reference. */
  referenceTo(message: JsonObject): string | undefined;
}

/** Edits the client's messages and adds Plimsoll's texts. */
export interface WireEdit {
  /**
   * The splice that gives a part of a message another text. Cache marks stay. For a call, the text is its arguments, a JSON
   * object. Undefined for parts that must stay unchanged: reasoning, and content that Plimsoll does not understand.
   */
  replacePart(message: Uint8Array, place: PartPlace, text: string): Splice | undefined;
  /** The splice that removes a text from a message that goes on after it. Undefined if the part must stay. */
  leaveOut(message: Uint8Array, part: number): Splice | undefined;
  /** A message that contains only Plimsoll's text, in the user's role. */
  ownMessage(own: OwnText): JsonObject;
  /** Where Plimsoll puts its text: in a separate message, or inside a neighbouring message if roles must alternate. */
  readonly ownTextPlacement: "alone" | "inside";
  /** The message with Plimsoll's text at one of its ends. Undefined if the message cannot contain it there. */
  carryText(message: Uint8Array, own: OwnText, end: "first" | "last"): Uint8Array | undefined;
  /** Joins two user messages, for wires on which roles must alternate. Undefined if the messages cannot be joined. */
  joinMessages(first: Uint8Array, second: Uint8Array): Uint8Array | undefined;
}

/** Reads and sets cache marks. A mark asks the provider to cache the request up to the mark. */
export interface WireCache {
  /**
   * Name of the field that contains a cache mark. If the name occurs anywhere else in a body, it is inside a text. Absent on wires
   * without marks.
   */
  readonly markField?: string;
  /** Set if a request with another tool choice reads none of the messages from the cache. */
  readonly dependsOnToolChoice?: true;
  /** The default cache mark, which asks the provider to cache everything up to the mark. Undefined if the wire has no marks. */
  readonly usualMark?: JsonObject;
  /** Whether the mark asks for the long lifetime. */
  isLongMark(mark: JsonValue): boolean;
  /** Number of cache marks in a whole body. May be one too high, but never too low. */
  countMarks(body: Uint8Array): number;
  /** Whether a body asks for the long lifetime. */
  hasLongMarks(body: Uint8Array): boolean;
  /** The first or last cache mark that the client set on this message, unchanged. */
  markIn(message: Uint8Array, which?: "first" | "last"): JsonValue | undefined;
  /** The message with a cache mark at its end. Undefined if no mark can be set there. */
  withMark(message: Uint8Array, mark: JsonValue): Uint8Array | undefined;
  /** The cache mark that a client set on a tool, on a block of a message, or on the body itself. */
  markOn(block: JsonValue): JsonValue | undefined;
  /** The tool with this mark. If `mark` is undefined, the tool without a mark. */
  markTool(tool: JsonObject, mark: JsonValue | undefined): JsonObject;
  /** The blocks of a message that the cache treats separately. */
  blocks(message: JsonObject): readonly JsonValue[];
}

/** The tools that a request shows the model. If `isWhole`, they replace the client's tools. Otherwise they follow them. */
export interface ToolChange<T> {
  readonly elements: readonly T[];
  readonly isWhole: boolean;
}

/** The list of tools of a request. A wire may put several tools into one element of the list. */
export interface WireToolList {
  /** The single tools, as slices of the body. Empty if Plimsoll cannot add a tool to this list. */
  read(body: Uint8Array, slices: BodySlices): readonly Slice[];
  /** The splices that change the list. Contract: `read` has returned at least one tool for this body. */
  splices(body: Uint8Array, slices: BodySlices, change: ToolChange<Uint8Array>): readonly Splice[];
  /** The single tools of a list that is a JSON value. */
  toolsIn(list: JsonValue | undefined): readonly JsonValue[];
  /** The list with these changes. `list` is undefined if the request has no tools. */
  changed(list: JsonValue | undefined, change: ToolChange<JsonObject>): JsonValue;
}

/** Reads and writes tools. */
export interface WireTools {
  readonly list: WireToolList;
  encode(tool: ToolDefinition): JsonObject;
  /** The definition of a tool in a request. Undefined for tools without a name. */
  decode(tool: JsonValue): ToolDefinition | undefined;
  /** The name by which the model calls a tool. Undefined for tools without a name. */
  nameOf(tool: JsonValue): string | undefined;
  /** The named tools that this tool contains, if it is, for example, a namespace. */
  inside(tool: JsonValue): readonly JsonValue[];
  /** Maximum number of tools that the provider accepts. */
  readonly max?: number;
  /** Set if the provider refuses a request that has a call or a result of a tool which its list does not have. */
  readonly declaresCalled?: true;
  /**
   * Whether this tool shows that the client itself defers tools in the provider's way. It does if it is deferred, or if it is the
   * search tool.
   */
  isDeferring(tool: JsonValue): boolean;
  /** The provider's own way to defer tools. Undefined if the provider cannot defer tools. */
  readonly deferral?: NativeDeferral;
}

/** Reads the answers of an upstream. */
export interface WireAnswer {
  open(): AnswerAccumulator;
  read(response: JsonValue): Answer;
  /** Whether the model had to stop before it was done. A call at the end may then be incomplete. */
  isCutShort(answer: Answer): boolean;
  /** The answer in a form that can be sent to a provider that did not keep it. */
  repeatable(messages: readonly JsonObject[]): readonly JsonObject[];
}

/** Merges inner rounds, which the client does not see. */
export interface WireRounds {
  open(isOwn: IsOwn): RoundMerger;
  /** Merges rounds whose answers came as JSON bodies and not as streams. */
  merge(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject;
  /** The messages of an answer without calls of Plimsoll's tools. A message that becomes empty is left out. */
  withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[];
  /**
   * A message of an answer, without the parts that only make sense next to calls of Plimsoll's tools. `inner` contains these
   * calls, which the client does not know. Returns the same bytes if there is nothing to remove.
   */
  withoutLookups(message: Uint8Array, inner: readonly Uint8Array[]): Uint8Array | "nothing";
}

/** Errors in the provider's own format, which clients understand. */
export interface WireErrors {
  body(status: number, message: string): JsonObject;
  /** The event that reports an error to the client in the middle of a stream. */
  event(status: number, message: string): StreamEvent;
  /** The error for a conversation that is too long. */
  tooLong(needTokens: number, limitTokens: number): JsonObject;
}

export interface Wire {
  readonly name: WireName;
  readonly vendor: Vendor;
  readonly fields: FieldNames;
  /** Where a request names its model. If it is the path, Plimsoll writes `fields.model` only into requests of the library. */
  readonly modelPlace: "body" | "path";
  readonly body: WireBody;
  readonly messages: WireMessages;
  readonly edit: WireEdit;
  readonly cache: WireCache;
  readonly tools: WireTools;
  readonly answer: WireAnswer;
  readonly rounds: WireRounds;
  readonly errors: WireErrors;
}
