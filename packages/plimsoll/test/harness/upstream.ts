/**
 * A strict scripted provider on 127.0.0.1. It speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini. It
 * refuses invalid requests and requests that do not fit its window. It answers by its script, and records every request and
 * every byte of its answers.
 */

import { EventEmitter, once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { type Answer, renderEvents, renderJson } from "./answer.ts";
import { signedForms } from "./answer-gemini.ts";
import type { Frame, Reply, Usage } from "./answer-parts.ts";
import { outputItems, responseId } from "./answer-responses.ts";
import {
  AnswerWriter,
  type Recorded,
  type UpstreamRequest,
  type WriterOptions,
} from "./answer-writer.ts";
import { countAnswer, countRequest, maxOutputOf } from "./counting.ts";
import { inOneSpelling } from "./gemini-contents.ts";
import { Issued } from "./issued.ts";
import { isObject, isString, type Json, type JsonObject, parseJson, type Wire } from "./json.ts";
import { type Finding, shape } from "./judge.ts";
import { resolvedItems } from "./judge-responses.ts";
import { type ModelRoute, routeOf } from "./model-routes.ts";
import { geminiError, overflowBody, overflowEvents, type TooLong } from "./overflow.ts";
import { inputItems } from "./responses-items.ts";
import { within } from "./waiting.ts";

export interface ScriptRequest {
  readonly wire: Wire;
  /**
   * Already checked: it has the required fields, and its input includes the items of a previous response. On Gemini, it has
   * the fields `model` and `stream`, which the path says.
   */
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
}
type Script = (
  request: ScriptRequest,
  context: { readonly requestNumber: number },
) => Answer | Promise<Answer>;

/** The window of a model. With a window, the provider counts every request and reports the count as usage. */
export interface Window {
  readonly tokens: number;
  /** Counts a body. Default: the rule of counting.ts. */
  readonly count?: (body: JsonObject) => number;
  /** Factor on every count, so that the provider counts differently from Plimsoll. */
  readonly factor?: number | ((body: JsonObject) => number);
  /** Reports an overflow as an event inside the stream, on all wires. By default only Responses does. */
  readonly isToldInStream?: boolean;
}

export interface UpstreamOptions extends WriterOptions {
  /** Default: answers every valid model request with "ok". */
  readonly script?: Script;
  readonly window?: Window;
  /** More checks, in addition to those of the wires. */
  readonly judgeAlso?: (wire: Wire, body: JsonObject) => readonly Finding[];
  /** Rules that this provider does not enforce, because real agents break them. */
  readonly forgives?: readonly string[];
  /** Gemini only: answers do not say how many tokens they used. */
  readonly hasNoUsage?: boolean;
}

interface Refusals {
  /** Requests that did not fit the window. */
  readonly overflow: number;
  /** The findings for which requests were refused. */
  readonly invalid: readonly Finding[];
}

export interface Upstream {
  readonly url: string;
  readonly requests: readonly UpstreamRequest[];
  readonly refusals: Refusals;
  /** Number of connections. */
  readonly connectionsCount: number;
  /** Resolves with the request of this number when it has arrived. */
  received(number: number): Promise<UpstreamRequest>;
  close(): Promise<void>;
}

const RECEIVE_LIMIT_MS = 5_000;

/** One provider: its options and its records. */
interface Provider {
  readonly options: UpstreamOptions;
  readonly issued: Issued;
  readonly refusals: { overflow: number; readonly invalid: Finding[] };
}

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const provider = { options, issued: new Issued(), refusals: { overflow: 0, invalid: [] } };
  const requests: Recorded[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => {
    response.on("error", () => response.destroy());
    takeRequest(request, response)
      .then((recorded) => {
        recorded.number = requests.push(recorded);
        arrivals.emit("arrival");
        return answerRequest(recorded, response, provider);
      })
      .catch(() => response.destroy());
  });
  let connectionsCount = 0;
  server.on("connection", () => {
    connectionsCount += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    refusals: provider.refusals,
    get connectionsCount() {
      return connectionsCount;
    },
    received: (number) => receivedRequest(requests, arrivals, number),
    close: () => closeServer(server),
  };
}

async function receivedRequest(
  requests: readonly UpstreamRequest[],
  arrivals: EventEmitter,
  number: number,
): Promise<UpstreamRequest> {
  for (;;) {
    const found = requests[number - 1];
    if (found !== undefined) return found;
    await within(RECEIVE_LIMIT_MS, `request ${number} upstream`, once(arrivals, "arrival"));
  }
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

async function takeRequest(request: IncomingMessage, response: ServerResponse): Promise<Recorded> {
  const closed = new Promise<void>((resolve) => {
    response.once("close", resolve);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    number: 0,
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body: Buffer.concat(chunks),
    closed,
    status: 0,
    tokens: 0,
    isOverflow: false,
    answer: Buffer.alloc(0),
    plainAnswer: Buffer.alloc(0),
  };
}

/* Routes */

async function answerRequest(
  recorded: Recorded,
  response: ServerResponse,
  provider: Provider,
): Promise<void> {
  const writer = new AnswerWriter(recorded, response, provider.options);
  const [path = ""] = recorded.path.split("?");
  const route = recorded.method === "POST" ? routeOf(recorded.path) : undefined;
  if (route !== undefined) return answerModel({ recorded, route, writer, provider });
  if (recorded.method === "GET" && path === "/v1/models") {
    return writer.json(200, modelList(recorded.headers));
  }
  return writer.json(200, {
    echo: `${recorded.method} ${recorded.path}`,
    bytes: recorded.body.length,
  });
}

function modelList(headers: IncomingHttpHeaders): JsonObject {
  if (headers["anthropic-version"] === undefined) {
    return { object: "list", data: [{ id: "gpt-5.1", object: "model", owned_by: "scripted" }] };
  }
  const model = { type: "model", id: "claude-sonnet-4-5", display_name: "Claude Sonnet 4.5" };
  return { data: [model], has_more: false, first_id: model.id, last_id: model.id };
}

/** One model request while it is being answered. */
interface Asked {
  readonly recorded: Recorded;
  readonly route: ModelRoute;
  readonly writer: AnswerWriter;
  readonly provider: Provider;
}

async function answerModel(asked: Asked): Promise<void> {
  const { recorded, route, writer, provider } = asked;
  const { wire } = route;
  if (!hasCredential(recorded, wire)) {
    const { status, message } = NO_CREDENTIAL[wire];
    return refuse(
      asked,
      status,
      errorBody(wire, shape(message), { status, type: "authentication_error" }),
    );
  }
  const body = readRequest(recorded, route, provider);
  if (body.kind === "invalid") {
    provider.refusals.invalid.push(...body.findings);
    return refuse(asked, 400, errorBody(wire, body.findings[0] ?? shape("The body is invalid")));
  }
  if (route.isCount) {
    const field = wire === "gemini" ? "totalTokens" : "input_tokens";
    return writer.json(200, { [field]: countedBefore(asked, body.json) });
  }
  return answerValid(asked, body.json);
}

/** Where a stream would be a JSON array, so is an error. */
function refuse({ route, writer }: Asked, status: number, body: JsonObject): Promise<void> {
  return writer.json(status, route.isArray === true ? [body] : body);
}

/** A provider with a window uses the same count for `count_tokens` and for usage. */
function countedBefore({ recorded, route, provider }: Asked, body: JsonObject): number {
  const { window } = provider.options;
  if (window === undefined) return recorded.body.length;
  const { generateContentRequest: inner } = body;
  const counted = isObject(inner) ? inner : body;
  return countedTokens({ wire: route.wire, body: counted, headers: recorded.headers }, window);
}

async function answerValid(asked: Asked, body: JsonObject): Promise<void> {
  const { recorded, route, writer, provider } = asked;
  const { wire } = route;
  const { script = obliging, window } = provider.options;
  const request = {
    wire,
    body: withHistory(wire, body, provider.issued),
    headers: recorded.headers,
  };
  const frame = frameOf(asked, body);
  const tooLong = window && measure(recorded, request, window);
  if (tooLong !== undefined) {
    provider.refusals.overflow += 1;
    const isInStream = window?.isToldInStream === true || wire === "openai-responses";
    return frame.isStreamed && isInStream
      ? writer.stream(overflowEvents(frame, tooLong), {}, streamType(route))
      : refuse(asked, 400, overflowBody(wire, tooLong));
  }
  const answer = await script(request, { requestNumber: recorded.number });
  if (answer.kind === "raw" && answer.said !== undefined) {
    rememberReply(provider.issued, answer.said.reply, { request, frame: answer.said.frame });
  }
  if (answer.kind !== "reply") return writeOther(answer, writer);
  const reply =
    window === undefined
      ? answer
      : { ...answer, usage: reportedUsage(wire, recorded.tokens, answer) };
  rememberReply(provider.issued, reply, { request, frame });
  return frame.isStreamed
    ? writer.stream(renderEvents(reply, frame), reply, streamType(route))
    : writer.text(200, renderJson(reply, frame));
}

/** The usage that a provider reports. Anthropic's input excludes tokens that were read from or written to the cache. */
export function reportedUsage(
  wire: Wire,
  inputTokens: number,
  { parts, usageSplit }: Reply,
): Usage {
  const written = countAnswer(wire, parts);
  if (usageSplit === undefined) return { input: inputTokens, output: written };
  const { cachedShare, createdShare, reasoning } = usageSplit;
  const cached = Math.floor(inputTokens * cachedShare);
  const output = written + reasoning;
  if (wire !== "anthropic") return { input: inputTokens, output, cached, reasoning };
  const created = Math.floor((inputTokens - cached) * createdShare);
  return { input: inputTokens - cached - created, output, cached, created };
}

function obliging(): Answer {
  return { kind: "reply", parts: [{ kind: "text", chunks: ["ok"] }] };
}

async function writeOther(
  answer: Exclude<Answer, { readonly kind: "reply" }>,
  writer: AnswerWriter,
): Promise<void> {
  if (answer.kind === "raw") await writer.raw(answer);
  if (answer.kind === "failure") await writer.json(answer.status, answer.body, answer.headers);
}

/** The body as the model reads it, with the items of a named earlier response before its own. */
function withHistory(wire: Wire, body: JsonObject, issued: Issued): JsonObject {
  return wire === "openai-responses" ? { ...body, input: resolvedItems(body, issued) } : body;
}

function countedTokens({ wire, body }: ScriptRequest, { count, factor = 1 }: Window): number {
  const counted = count === undefined ? countRequest(wire, body) : count(body);
  return Math.round(counted * (typeof factor === "number" ? factor : factor(body)));
}

/** Counts the request. Returns the figures if it does not fit. */
function measure(recorded: Recorded, request: ScriptRequest, window: Window): TooLong | undefined {
  const { tokens: windowTokens } = window;
  const inputTokens = countedTokens(request, window);
  const maxOutputTokens = maxOutputOf(request.wire, request.body);
  recorded.tokens = inputTokens;
  recorded.isOverflow = inputTokens + maxOutputTokens > windowTokens;
  return recorded.isOverflow ? { inputTokens, maxOutputTokens, windowTokens } : undefined;
}

function rememberReply(
  issued: Issued,
  reply: Reply,
  { request, frame }: { readonly request: ScriptRequest; readonly frame: Frame },
): void {
  if (request.wire === "anthropic") issued.rememberThinking(reply);
  if (request.wire === "gemini") issued.rememberSigned(signedForms(reply, frame));
  if (request.wire !== "openai-responses") return;
  const { input, store } = request.body;
  issued.rememberResponse({
    id: responseId(frame),
    heard: inputItems(input),
    output: outputItems(reply, frame),
    isStored: store !== false,
  });
}

const NO_CREDENTIAL: Readonly<Record<Wire, { readonly status: number; readonly message: string }>> =
  {
    anthropic: { status: 401, message: "x-api-key header is required" },
    "openai-chat": { status: 401, message: "Missing bearer token" },
    "openai-responses": { status: 401, message: "Missing bearer token" },
    gemini: {
      status: 403,
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    },
  };

function hasCredential({ headers, path }: UpstreamRequest, wire: Wire): boolean {
  if (headers.authorization !== undefined) return true;
  if (wire === "anthropic") return headers["x-api-key"] !== undefined;
  return wire === "gemini" && (headers["x-goog-api-key"] !== undefined || /[?&]key=/.test(path));
}

function judgeHeaders(headers: IncomingHttpHeaders, wire: Wire): Finding | undefined {
  if (!headers["content-type"]?.startsWith("application/json")) {
    return shape("content-type must be application/json");
  }
  if (wire === "anthropic" && headers["anthropic-version"] === undefined) {
    return shape("anthropic-version: header is required");
  }
  return undefined;
}

type ReadRequest =
  | { readonly kind: "valid"; readonly json: JsonObject }
  | { readonly kind: "invalid"; readonly findings: readonly Finding[] };

function readRequest(
  recorded: Recorded,
  route: ModelRoute,
  { issued, options }: Pick<Provider, "issued" | "options">,
): ReadRequest {
  const fault = judgeHeaders(recorded.headers, route.wire);
  if (fault !== undefined) return { kind: "invalid", findings: [fault] };
  let json: Json;
  try {
    const { body, headers } = recorded;
    const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    const parsed = parseJson(bytes.toString("utf8"));
    json = route.wire === "gemini" ? (inOneSpelling(parsed) ?? null) : parsed;
  } catch (error) {
    const unreadable = shape(`The request body is not valid JSON: ${String(error)}`);
    return { kind: "invalid", findings: [unreadable] };
  }
  const findings = [
    ...route.judge(json, issued),
    ...(isObject(json) ? (options.judgeAlso?.(route.wire, json) ?? []) : []),
  ].filter(({ rule }) => options.forgives?.includes(rule) !== true);
  return findings.length === 0 && isObject(json)
    ? { kind: "valid", json: { ...json, ...route.fields } }
    : { kind: "invalid", findings };
}

function errorBody(
  wire: Wire,
  { message, param }: Finding,
  { status, type }: { readonly status: number; readonly type: string } = INVALID,
): JsonObject {
  if (wire === "gemini") return geminiError(status, message);
  if (wire === "anthropic") {
    return { type: "error", error: { type, message }, request_id: "req_scripted" };
  }
  return { error: { message, type, param: param ?? null, code: null } };
}

const INVALID = { status: 400, type: "invalid_request_error" };

/* Answers */

interface RequestFrame extends Frame {
  readonly isStreamed: boolean;
}

function frameOf({ recorded, route, provider }: Asked, body: JsonObject): RequestFrame {
  const { model, stream, stream_options: streamOptions } = body;
  const { wire, isArray = false } = route;
  const includeUsage =
    wire === "gemini"
      ? provider.options.hasNoUsage !== true
      : isObject(streamOptions) && "include_usage" in streamOptions;
  return {
    wire,
    body,
    model: isString(model) ? model : "",
    requestNumber: recorded.number,
    includeUsage,
    isStreamed: stream === true,
    isArray,
  };
}

/** The content type of a stream. */
function streamType({ isArray }: ModelRoute): string {
  return isArray === true ? "application/json; charset=UTF-8" : "text/event-stream; charset=utf-8";
}
