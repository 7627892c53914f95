/**
 * Carries a request to its upstream and the answer back, byte for byte and unbuffered: back-pressure
 * and aborts go both ways. A watch sees the answer go by, and may hold back its end until the turn
 * is stored.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, type Dispatcher } from "undici";
import { errorMessage, PlimsollError } from "../message/error.ts";

export interface Call {
  readonly url: URL;
  readonly method: string;
  /** Name, value, name, value …, as they came from the client. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | IncomingMessage | null;
}

/** terminal: the answer said that it is done; end: it just ended; broken: upstream failed; left: the client went away. */
export type Ending = "terminal" | "end" | "broken" | "left";

export interface Watch {
  push(chunk: Uint8Array): { readonly passBytes: number; readonly isTerminal: boolean };
  /**
   * Contract: called once, never rejects. `isWhole` false: the stream stopped without saying that it was
   * done, and the client must not take it for a complete one.
   */
  end(how: Ending, error?: string): Promise<{ readonly isWhole: boolean }>;
}

export interface Answering {
  readonly headers: Readonly<Record<string, string>>;
  readonly watch?: Watch;
}

/** A model may think for minutes before its first byte, and between two. */
const upstreamTimeoutMs = 10 * 60 * 1000;
const connectTimeoutMs = 10_000;
const connectionsPerUpstream = 512;

export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsPerUpstream,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    headersTimeout: upstreamTimeoutMs,
    bodyTimeout: upstreamTimeoutMs,
  });
}

/** Of one hop only, ours, or set anew. */
const droppedRequestHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const droppedAnswerHeaders = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A credential goes to its own provider only; what was meant for Plimsoll goes nowhere. */
export function upstreamHeaders(
  request: IncomingMessage,
  overrides: Readonly<Record<string, string>>,
): string[] {
  const headers: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? "";
    const key = name.toLowerCase();
    if (
      droppedRequestHeaders.has(key) ||
      key.startsWith("x-plimsoll-") ||
      overrides[key] !== undefined
    )
      continue;
    headers.push(name, request.rawHeaders[index + 1] ?? "");
  }
  for (const [name, value] of Object.entries(overrides)) headers.push(name, value);
  return headers;
}

/**
 * Resolves when the answer has gone out, or the client has gone away.
 * Contract: rejects only while nothing has been sent to the client yet.
 */
export function relay(
  agent: Agent,
  call: Call,
  response: ServerResponse,
  answer: (status: number, headers: IncomingHttpHeaders) => Answering,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const carrier = createCarrier(response, answer, { resolve, reject });
    agent.dispatch(
      {
        origin: call.url.origin,
        path: call.url.pathname + call.url.search,
        method: call.method as Dispatcher.HttpMethod,
        headers: [...call.headers],
        body: call.body,
      },
      carrier,
    );
  });
}

type Phase = "waiting" | "open" | "storing" | "passing" | "over";

interface Settle {
  readonly resolve: () => void;
  readonly reject: (error: PlimsollError) => void;
}

function createCarrier(
  response: ServerResponse,
  answer: (status: number, headers: IncomingHttpHeaders) => Answering,
  settle: Settle,
): Dispatcher.DispatchHandler {
  let phase: Phase = "waiting";
  let watch: Watch | undefined;
  let held: Uint8Array[] = [];
  let hasEnded = false;
  let controller: Dispatcher.DispatchController | undefined;

  const write = (chunk: Uint8Array): void => {
    if (chunk.length === 0 || response.destroyed) return;
    if (response.write(chunk) || controller === undefined) return;
    controller.pause();
    response.once("drain", () => {
      if (phase !== "storing") controller?.resume();
    });
  };
  const release = (): void => {
    for (const chunk of held.splice(0)) write(chunk);
  };
  const finish = (): void => {
    phase = "over";
    response.end();
    settle.resolve();
  };
  /** What was written still goes out; then the connection ends without the last, empty chunk. */
  const breakOff = (): void => {
    phase = "over";
    response.write("", () => response.destroy());
    settle.resolve();
  };
  /** Everything before the end is out; the end waits for the disk. */
  const store = (how: Ending): void => {
    phase = "storing";
    controller?.pause();
    void watch?.end(how).then(({ isWhole }) => {
      release();
      phase = "passing";
      if (!isWhole) breakOff();
      else if (hasEnded) finish();
      else controller?.resume();
    });
  };

  response.once("close", () => {
    if (phase !== "over")
      controller?.abort(new PlimsollError("UPSTREAM_FAILED", "The client went away."));
  });

  return {
    onRequestStart: (started) => {
      controller = started;
      if (response.destroyed)
        started.abort(new PlimsollError("UPSTREAM_FAILED", "The client went away."));
    },
    onResponseStart: (_controller, status, headers) => {
      if (status < 200) return;
      const answering = answer(status, headers);
      ({ watch } = answering);
      phase = watch === undefined ? "passing" : "open";
      response.writeHead(status, { ...answerHeaders(headers), ...answering.headers });
      response.flushHeaders();
    },
    onResponseData: (_controller, chunk) => {
      if (phase === "passing" || watch === undefined) {
        write(chunk);
        return;
      }
      if (phase === "storing") {
        held.push(chunk);
        return;
      }
      release();
      const { passBytes, isTerminal } = watch.push(chunk);
      write(chunk.subarray(0, passBytes));
      held.push(chunk.subarray(passBytes));
      if (isTerminal) store("terminal");
    },
    onResponseEnd: () => {
      hasEnded = true;
      if (phase === "open") store("end");
      else if (phase === "passing") finish();
    },
    onResponseError: (_controller, error) => {
      const isBefore = phase === "waiting";
      const wasOver = phase === "storing" || phase === "over";
      phase = "over";
      held = [];
      const hasLeft = response.destroyed || response.closed;
      const failure = upstreamError(error);
      if (isBefore && !hasLeft) {
        settle.reject(failure);
        return;
      }
      response.destroy();
      const ended = wasOver ? undefined : watch?.end(hasLeft ? "left" : "broken", failure.message);
      void Promise.resolve(ended).then(isBefore ? () => settle.reject(failure) : settle.resolve);
    },
  };
}

function answerHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !droppedAnswerHeaders.has(name)) kept[name] = value;
  }
  return kept;
}

function upstreamError(error: Error): PlimsollError {
  if (PlimsollError.is(error)) return error;
  const code = "code" in error ? String(error.code) : "";
  if (code.includes("TIMEOUT")) {
    return new PlimsollError("UPSTREAM_TIMEOUT", "The upstream did not answer in time.", {
      status: 504,
      cause: error,
    });
  }
  return new PlimsollError(
    "UPSTREAM_FAILED",
    `The upstream could not be reached: ${code || errorMessage(error)}.`,
    {
      status: 502,
      cause: error,
    },
  );
}
