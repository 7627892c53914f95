/**
 * The form of a wire: how the demo's client writes requests and reads answers, and how its upstream does the reverse. Each wire
 * has one, and nothing else in the demo knows a provider's JSON.
 */

import type { Vendor, WireName } from "../../src/wire/format/wire.ts";
import type { ScriptedCall } from "../work.ts";

export type Call = Pick<ScriptedCall, "id" | "name" | "input">;

/** The model's answer to one request. The text may be empty, if there is a call. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly Call[];
}

/** The new part of a request: the results of the last calls, followed by the user's words. */
export interface News {
  readonly calls: readonly ScriptedCall[];
  readonly user: string | undefined;
}

export interface Written<Message> {
  readonly model: string;
  readonly maxTokens: number;
  readonly isStreamed: boolean;
  readonly system: string;
  readonly messages: readonly Message[];
}

/** A part of the conversation in a request. The system prompt is not among them. */
export type Part =
  | { readonly kind: "text"; readonly isFromModel: boolean; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly text: string }
  | {
      readonly kind: "result";
      readonly id: string;
      readonly text: string;
      readonly isError: boolean;
    }
  | { readonly kind: "picture"; readonly text: "" };

/** A request, as the upstream has read it. */
export interface Asked {
  readonly model: string;
  readonly maxTokens: number;
  readonly isStreamed: boolean;
  /** Names of the tools. */
  readonly tools: readonly string[];
  readonly parts: readonly Part[];
}

/** A part of a request that the prompt cache compares as a whole. */
export interface Block {
  readonly json: object;
  /** Whether the client has set a cache mark on it. */
  readonly isMarked: boolean;
}

/** What goes around an answer. */
export interface Frame {
  /** A new number for each answer. */
  readonly number: number;
  readonly model: string;
  readonly usage: {
    /** Input tokens that the cache neither had nor keeps. */
    readonly fresh: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly output: number;
  };
}

/** An event of a stream. */
export interface WireEvent {
  /** Empty on wires whose events have no names. */
  readonly type: string;
  readonly data: string;
}

export interface ClientForm<Body, Message, Answer> {
  readonly headers: Readonly<Record<string, string>>;
  /** With the query string. */
  path(model: string, isStreamed: boolean): string;
  messagesOf(news: News): readonly Message[];
  body(request: Written<Message>): Body;
  /** Puts a streamed answer together. Contract: throws an error with a sentence if the events are not a complete answer. */
  joined(events: readonly WireEvent[]): Answer;
  /** The messages that the client sends back with its next request. */
  kept(answer: Answer): readonly Message[];
  reply(answer: Answer): Reply;
}

/** The fields of a request that its path says. */
export type PathFields = Partial<Pick<Asked, "model" | "isStreamed">>;

export interface TooLong {
  readonly tokens: number;
  readonly maxTokens: number;
  readonly window: number;
}

export interface UpstreamForm<Body, Answer> {
  /** Reads a path with its query string. Undefined if the path is not one of this wire. */
  route(path: string): PathFields | undefined;
  /**
   * The first rule of this provider that a request breaks; undefined if it breaks none. `judge.ts` has the rules that all wires
   * share. Contract: accepts any JSON value. Throws if a part of the request has none of the known forms.
   */
  faultIn(body: unknown): string | undefined;
  /** Contract: the body has no fault. */
  asked(body: Body, path: PathFields): Asked;
  /** The blocks in the order in which the provider reads them: tools, system prompt, conversation. */
  blocks(body: Body): readonly Block[];
  pictureTokens(width: number, height: number): number;
  answer(reply: Reply, frame: Frame): Answer;
  events(answer: Answer): readonly WireEvent[];
  /** The body of an answer that refuses a request. */
  refusal(sentence: string): object;
  /** What this provider says if a request does not fit. */
  tooLong(figures: TooLong): string;
}

export interface WireForm {
  readonly wire: WireName;
  readonly vendor: Vendor;
  /** The beginning of the ids that the provider gives to calls. */
  readonly callIdStart: string;
  readonly client: ClientForm<object, object, object>;
  readonly upstream: UpstreamForm<object, object>;
}

/** Maximum number of characters in one delta. */
const deltaChars = 40;

/** The text in the pieces in which a stream brings it. */
export function piecesOf(text: string): readonly string[] {
  const letters = [...text];
  return Array.from({ length: Math.ceil(letters.length / deltaChars) }, (_, piece) =>
    letters.slice(piece * deltaChars, (piece + 1) * deltaChars).join(""),
  );
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first fault among the items. */
export function firstFault<T>(
  items: readonly T[],
  faultIn: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = faultIn(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The data of an event as JSON. Contract: throws an error with a sentence if the event reports an error. */
export function eventJson<T extends object>({ type, data }: WireEvent): T {
  const json = JSON.parse(data) as T;
  if (type === "error" || "error" in json)
    throw new Error(`The stream brought an error: ${data.slice(0, 400)}`);
  return json;
}

export function pictureUrl(content: string): string {
  return `data:image/png;base64,${content}`;
}
