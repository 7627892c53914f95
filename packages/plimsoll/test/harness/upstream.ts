/**
 * A strict scripted provider on 127.0.0.1: speaks Anthropic Messages and OpenAI Chat Completions, refuses what a strict
 * provider would refuse, answers what its script says, and remembers every request and every byte it answered with.
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
import { constants, createGzip, type Gzip, gunzipSync, gzipSync } from "node:zlib";
import { type Answer, type Frame, type Reply, renderEvents, renderJson } from "./answer.ts";
import { isObject, isString, type Json, type JsonObject, parseJson, type Wire } from "./json.ts";
import { type Finding, shape } from "./judge.ts";
import { judgeAnthropic } from "./judge-anthropic.ts";
import { judgeChat } from "./judge-chat.ts";
import { pause, within } from "./waiting.ts";

export interface ScriptRequest {
  readonly wire: Wire;
  /** Already judged: its required fields are there. */
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
}
type Script = (
  request: ScriptRequest,
  context: { readonly requestNumber: number },
) => Answer | Promise<Answer>;

export interface UpstreamOptions {
  /** Without one, every valid model request is answered with "ok". */
  readonly script?: Script;
  /** Cuts the bytes of a stream into pieces of this size, each written by itself. */
  readonly chunkBytes?: number;
  /** Compresses answers for clients whose accept-encoding allows it. */
  readonly gzip?: boolean;
}

export interface UpstreamRequest {
  /** From 1, in the order of arrival. */
  readonly number: number;
  readonly method: string;
  /** With the query string. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came, compressed if it came compressed. */
  readonly body: Buffer;
  /** Settles when the answer is finished or the connection is gone. */
  readonly closed: Promise<void>;
  /** 0 as long as there is no answer. */
  readonly status: number;
  /** The bytes answered so far, and the same as they were before compression. */
  readonly answer: Buffer;
  readonly plainAnswer: Buffer;
}

export interface Upstream {
  readonly url: string;
  readonly requests: readonly UpstreamRequest[];
  /** The request with this number, as soon as it has arrived. */
  received(number: number): Promise<UpstreamRequest>;
  close(): Promise<void>;
}

const RECEIVE_LIMIT_MS = 5_000;

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const requests: Recorded[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => {
    response.on("error", () => response.destroy());
    takeRequest(request, response)
      .then((recorded) => {
        recorded.number = requests.push(recorded);
        arrivals.emit("arrival");
        return answerRequest(recorded, response, options);
      })
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
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

/** The mutable side of an UpstreamRequest. */
interface Recorded extends UpstreamRequest {
  number: number;
  status: number;
  answer: Buffer;
  plainAnswer: Buffer;
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
    answer: Buffer.alloc(0),
    plainAnswer: Buffer.alloc(0),
  };
}

/* Routes */

interface ModelRoute {
  readonly wire: Wire;
  readonly judge: (body: unknown) => Finding[];
  readonly isCount?: boolean;
}

const MODEL_ROUTES: ReadonlyMap<string, ModelRoute> = new Map<string, ModelRoute>([
  ["/v1/messages", { wire: "anthropic", judge: (body) => judgeAnthropic(body, "messages") }],
  [
    "/v1/messages/count_tokens",
    { wire: "anthropic", judge: (body) => judgeAnthropic(body, "count_tokens"), isCount: true },
  ],
  ["/v1/chat/completions", { wire: "openai-chat", judge: judgeChat }],
]);

async function answerRequest(
  recorded: Recorded,
  response: ServerResponse,
  options: UpstreamOptions,
): Promise<void> {
  const writer = new AnswerWriter(recorded, response, options);
  const [path = ""] = recorded.path.split("?");
  const route = recorded.method === "POST" ? MODEL_ROUTES.get(path) : undefined;
  if (route !== undefined) return answerModel(recorded, route, writer, options);
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

async function answerModel(
  recorded: Recorded,
  route: ModelRoute,
  writer: AnswerWriter,
  {
    script = () => ({ kind: "reply", parts: [{ kind: "text", chunks: ["ok"] }] }),
  }: UpstreamOptions,
): Promise<void> {
  const { wire } = route;
  if (!hasCredential(recorded.headers, wire)) {
    const message = wire === "anthropic" ? "x-api-key header is required" : "Missing bearer token";
    return writer.json(401, errorBody(wire, shape(message), "authentication_error"));
  }
  const headerFault = judgeHeaders(recorded.headers, wire);
  const body = headerFault === undefined ? readBody(recorded) : undefined;
  const finding = headerFault ?? (body?.kind === "read" ? route.judge(body.json)[0] : body?.fault);
  if (finding !== undefined || body?.kind !== "read" || !isObject(body.json)) {
    return writer.json(400, errorBody(wire, finding ?? shape("The body is not an object")));
  }
  if (route.isCount) return writer.json(200, { input_tokens: recorded.body.length });
  const request = { wire, body: body.json, headers: recorded.headers };
  const answer = await script(request, { requestNumber: recorded.number });
  await writeAnswer(answer, request, writer, recorded.number);
}

function hasCredential(headers: IncomingHttpHeaders, wire: Wire): boolean {
  return (
    headers.authorization !== undefined ||
    (wire === "anthropic" && headers["x-api-key"] !== undefined)
  );
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

type ReadBody =
  | { readonly kind: "read"; readonly json: Json }
  | { readonly kind: "unreadable"; readonly fault: Finding };

function readBody({ body, headers }: UpstreamRequest): ReadBody {
  try {
    const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    return { kind: "read", json: parseJson(bytes.toString("utf8")) };
  } catch (error) {
    const fault = shape(`The request body is not valid JSON: ${String(error)}`);
    return { kind: "unreadable", fault };
  }
}

function errorBody(wire: Wire, finding: Finding, type = "invalid_request_error"): JsonObject {
  if (wire === "anthropic") {
    return { type: "error", error: { type, message: finding.message }, request_id: "req_scripted" };
  }
  return {
    error: { message: finding.message, type, param: finding.param ?? null, code: null },
  };
}

/* Answers */

function frameOf({ wire, body }: ScriptRequest, requestNumber: number): Frame {
  const { model, stream_options: streamOptions } = body;
  const includeUsage = isObject(streamOptions) && "include_usage" in streamOptions;
  return { wire, model: isString(model) ? model : "", requestNumber, includeUsage };
}

async function writeAnswer(
  answer: Answer,
  request: ScriptRequest,
  writer: AnswerWriter,
  requestNumber: number,
): Promise<void> {
  const frame = frameOf(request, requestNumber);
  const { stream } = request.body;
  switch (answer.kind) {
    case "hang":
      return;
    case "failure":
      return writer.json(answer.status, answer.body, answer.headers);
    case "reply":
      if (stream === true) return writer.stream(answer, renderEvents(answer, frame));
      return writer.text(200, renderJson(answer, frame));
  }
}

/** Writes one answer and keeps its bytes. */
class AnswerWriter {
  readonly #recorded: Recorded;
  readonly #response: ServerResponse;
  readonly #chunkBytes: number;
  readonly #isGzip: boolean;

  constructor(recorded: Recorded, response: ServerResponse, options: UpstreamOptions) {
    const accepted = recorded.headers["accept-encoding"];
    this.#recorded = recorded;
    this.#response = response;
    this.#chunkBytes = options.chunkBytes ?? Number.POSITIVE_INFINITY;
    this.#isGzip = options.gzip === true && isString(accepted) && accepted.includes("gzip");
  }

  json(status: number, body: Json, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.text(status, JSON.stringify(body), headers);
  }

  async text(
    status: number,
    body: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const plain = Buffer.from(body);
    const bytes = this.#isGzip ? gzipSync(plain) : plain;
    this.#start(status, {
      "content-type": "application/json",
      "content-length": String(bytes.length),
      ...headers,
    });
    this.#keepPlain(plain);
    await this.#write(bytes);
    this.#response.end();
  }

  async stream(answer: Reply, events: readonly string[]): Promise<void> {
    const { early, delayBetweenEventsMs = 0 } = answer;
    const encoder = this.#isGzip ? createGzip() : undefined;
    this.#start(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    for (const event of events.slice(0, early?.afterEvents)) {
      const plain = Buffer.from(event);
      this.#keepPlain(plain);
      await this.#write(encoder === undefined ? plain : await compressed(encoder, plain));
      if (delayBetweenEventsMs > 0) await pause(delayBetweenEventsMs);
    }
    if (early?.kind === "hang") return;
    if (early?.kind === "cut") {
      this.#response.destroy();
      return;
    }
    if (encoder !== undefined) await this.#write(await finished(encoder));
    this.#response.end();
  }

  #start(status: number, headers: Readonly<Record<string, string>>): void {
    this.#recorded.status = status;
    this.#response.socket?.setNoDelay(true);
    this.#response.writeHead(status, {
      "request-id": `req_${this.#recorded.number}`,
      ...(this.#isGzip ? { "content-encoding": "gzip" } : {}),
      ...headers,
    });
    this.#response.flushHeaders();
  }

  #keepPlain(bytes: Buffer): void {
    this.#recorded.plainAnswer = Buffer.concat([this.#recorded.plainAnswer, bytes]);
  }

  /** Resolves when the bytes have left the process, or when there is nobody left to send them to. */
  async #write(bytes: Buffer): Promise<void> {
    const size = Math.min(this.#chunkBytes, bytes.length);
    for (let start = 0; start < bytes.length && !this.#response.destroyed; start += size) {
      const piece = bytes.subarray(start, start + size);
      this.#recorded.answer = Buffer.concat([this.#recorded.answer, piece]);
      await new Promise<void>((resolve) => {
        this.#response.write(piece, () => resolve());
      });
    }
  }
}

/** What the encoder gives for these bytes alone, so that each event leaves at once. */
async function compressed(encoder: Gzip, bytes: Buffer): Promise<Buffer> {
  encoder.write(bytes);
  await new Promise<void>((resolve) => {
    encoder.flush(constants.Z_SYNC_FLUSH, resolve);
  });
  return (encoder.read() as Buffer | null) ?? Buffer.alloc(0);
}

async function finished(encoder: Gzip): Promise<Buffer> {
  encoder.end();
  const chunks: Buffer[] = [];
  for await (const chunk of encoder) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
