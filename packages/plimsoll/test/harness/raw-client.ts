/** A client without an SDK, for requests that SDKs would not send: moved marks, rewinds, forks, foreign headers, broken streams. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { isObject, isString, type Json, type JsonObject, type Wire } from "./json.ts";
import { readAnswer } from "./reading.ts";
import { MODELS } from "./wires.ts";

export interface Question {
  readonly wire: Wire;
  /** On Gemini, `model` and `stream` go into the path. */
  readonly body: JsonObject;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly sessionId: string;
  /** The answer, as much as arrived. */
  readonly answer: string;
  /** The stream broke, so the answer is incomplete. */
  readonly isBroken: boolean;
  /** The last event or the whole JSON arrived. */
  readonly isComplete: boolean;
  readonly message: JsonObject;
}

export const MODEL_PATHS: Readonly<Record<Wire, string>> = {
  anthropic: "/v1/messages",
  "openai-chat": "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  gemini: `/v1beta/models/${MODELS.gemini}:generateContent`,
};

/** The path for a body. */
export function pathFor(wire: Wire, { model, stream }: JsonObject): string {
  if (wire !== "gemini") return MODEL_PATHS[wire];
  const method = stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  return `/v1beta/models/${String(model)}:${method}`;
}

/** The JSON text of a body as it is sent. */
export function textFor(wire: Wire, body: JsonObject): string {
  const { model: _model, stream: _stream, ...gemini } = body;
  return JSON.stringify(wire === "gemini" ? gemini : body);
}

export function modelHeaders(wire: Wire, apiKey = "key-of-nobody"): Record<string, string> {
  const json = { "content-type": "application/json" };
  if (wire === "gemini") return { ...json, "x-goog-api-key": apiKey };
  if (wire !== "anthropic") return { ...json, authorization: `Bearer ${apiKey}` };
  return { ...json, "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
}

/** The key of the client that sent these headers. */
export function keyIn(headers: IncomingHttpHeaders): string {
  const key = headers["x-api-key"] ?? headers["x-goog-api-key"];
  return String(key ?? headers.authorization?.replace("Bearer ", ""));
}

/** The smallest request for these messages. On Gemini, messages with a `content` are written as contents. */
export function bodyOf(wire: Wire, messages: readonly Json[], fields: JsonObject = {}): JsonObject {
  switch (wire) {
    case "anthropic":
      return { model: MODELS[wire], max_tokens: 1_000, messages, ...fields };
    case "openai-chat":
      return { model: MODELS[wire], messages, ...fields };
    case "openai-responses":
      return { model: MODELS[wire], input: messages.flatMap(itemsOf), ...fields };
    case "gemini":
      return { model: MODELS[wire], contents: messages.map(contentOf), ...fields };
  }
}

function contentOf(message: Json): Json {
  const { role, content }: JsonObject = isObject(message) ? message : {};
  if (!isString(content)) return message;
  return { role: role === "assistant" ? "model" : "user", parts: [{ text: content }] };
}

/** On the Responses wire, the client keeps an answer as one message with its output, and sends the items of the output. */
function itemsOf(message: Json): readonly Json[] {
  const output = isObject(message) && message["type"] === undefined ? message["output"] : undefined;
  return Array.isArray(output) ? output : [message];
}

export function post(baseUrl: string, question: Question): Promise<Response> {
  const { wire, body, apiKey, headers, signal } = question;
  return fetch(`${baseUrl}${pathFor(wire, body)}`, {
    method: "POST",
    headers: { ...modelHeaders(wire, apiKey), ...headers },
    body: textFor(wire, body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Sends the question and reads the answer until it ends or breaks. Rejects if no answer begins. */
export async function ask(baseUrl: string, question: Question): Promise<Asked> {
  const response = await post(baseUrl, question);
  const chunks: Uint8Array[] = [];
  let isBroken = false;
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    isBroken = true;
  }
  const answer = Buffer.concat(chunks).toString("utf8");
  const isUnreadable = response.status !== 200 || (isBroken && answer.trimStart().startsWith("{"));
  const read = isUnreadable
    ? { isComplete: false, message: {} }
    : readAnswer(question.wire, answer);
  return {
    status: response.status,
    headers: response.headers,
    sessionId: response.headers.get("x-plimsoll-session") ?? "",
    answer,
    isBroken,
    ...read,
  };
}

/* Below fetch: what fetch does not let through */

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Leaves the request open after the body, as if more of it would follow. */
  readonly isUnfinished?: boolean;
}
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one request on a separate connection, with any Host header. Does not decode the content of the answer. */
export function sendRaw(port: number, request: RawRequest): Promise<RawAnswer> {
  const { method = "GET", path, headers = {}, body, isUnfinished = false } = request;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
    outgoing.on("error", reject);
    outgoing.on("upgrade", (incoming, socket) => {
      socket.destroy();
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        body: Buffer.alloc(0),
      });
    });
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        outgoing.destroy();
        const answer = Buffer.concat(chunks);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: answer });
      });
    });
    if (body !== undefined) outgoing.write(body);
    if (isUnfinished) outgoing.flushHeaders();
    else outgoing.end();
  });
}
