/**
 * Sends a request to its upstream and the answer back, byte for byte and unbuffered. Back-pressure and aborts work in both
 * directions. A watch reads the answer on its way and may hold back its end until the turn is stored.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, type Dispatcher } from "undici";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { type Framing, type FramingName, framings } from "../../wire/format/framing.ts";
import type { Overflow } from "../../wire/overflow.ts";

export interface Call {
  readonly url: URL;
  readonly method: string;
  /** The client's headers as they came: name, value, name, value … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | IncomingMessage | null;
}

/**
 * How an answer ended. terminal: it said that it was complete. end: it ended without saying so. broken: the upstream failed.
 * left: the client went away.
 */
export type Ending = "terminal" | "end" | "broken" | "left";

export interface Watch {
  push(chunk: Uint8Array): { readonly passBytes: number; readonly isTerminal: boolean };
  /**
   * Contract: called once, never rejects. `isWhole` is false if the stream stopped without saying that it was complete. The
   * client must not mistake such a stream for a complete one.
   */
  end(how: Ending, error?: string): Promise<{ readonly isWhole: boolean }>;
}

export interface Answering {
  readonly headers: Readonly<Record<string, string>>;
  readonly watch?: Watch;
  readonly overflowCheck?: OverflowCheck;
}

/** Checks the beginning of an answer before any of it is sent to the client. */
export interface OverflowCheck {
  /** Returns "wait" if more bytes are needed for a decision. */
  push(chunk: Uint8Array): "wait" | OverflowVerdict;
  /** Called when the answer has ended and all of it is still held back. */
  end(): OverflowVerdict;
}

export type OverflowVerdict =
  | { readonly kind: "pass" }
  | { readonly kind: "overflow"; readonly overflow: Overflow };

/** The result of a relay. overflow: nothing has been sent to the client, and the caller decides what to do with the answer. */
export type Relayed =
  | { readonly kind: "done" }
  | {
      readonly kind: "overflow";
      readonly overflow: Overflow;
      /** Sends the answer to the client after all, with these headers in addition. */
      pass(headers?: Readonly<Record<string, string>>): Promise<Relayed>;
      drop(): void;
    };

/** Maximum time to wait for the next byte. A model may think for minutes before its first byte, and between two bytes. */
const upstreamTimeoutMs = 10 * 60 * 1000;
const connectTimeoutMs = 10_000;
const connectionsPerUpstream = 512;
/**
 * Maximum time and size for which the beginning of an answer is held back, because the client must see that the connection is
 * alive.
 */
export const maxBufferMs = 5000;
export const maxBufferBytes: number = 256 * 1024;

export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsPerUpstream,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    headersTimeout: upstreamTimeoutMs,
    bodyTimeout: upstreamTimeoutMs,
  });
}

/** Headers that are not forwarded, because they are hop-by-hop, belong to Plimsoll, or are set again. */
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

/** The headers to send upstream. A credential is sent only to its own provider, and headers for Plimsoll are left out. */
export function upstreamHeaders(
  request: IncomingMessage,
  overrides: ReadonlyMap<string, string>,
): string[] {
  const headers: string[] = [];
  const ofThisHop = new Set((request.headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? "";
    const key = name.toLowerCase();
    const isOurs = key.startsWith("x-plimsoll-") || overrides.has(key);
    if (isOurs || droppedRequestHeaders.has(key) || ofThisHop.has(key)) continue;
    headers.push(name, request.rawHeaders[index + 1] ?? "");
  }
  for (const [name, value] of overrides) headers.push(name, value);
  return headers;
}

/** The client's own headers, for a body that is not compressed. */
export function plainHeaders(request: IncomingMessage, length: number): string[] {
  const headers = upstreamHeaders(
    request,
    new Map([
      ["accept-encoding", "identity"],
      ["content-length", String(length)],
      ["content-type", "application/json"],
    ]),
  );
  const packing = headers.findIndex((name) => name.toLowerCase() === "content-encoding");
  return packing < 0 ? headers : headers.toSpliced(packing, 2);
}

/**
 * Resolves when the answer has been sent, or the client has gone away.
 * Contract: rejects only if nothing has been sent to the client yet.
 */
export function relay(
  agent: Pick<Dispatcher, "dispatch">,
  call: Call,
  response: ServerResponse,
  answer: (status: number, headers: IncomingHttpHeaders) => Answering,
): Promise<Relayed> {
  return new Promise((resolve, reject) => {
    const carrier = new Carrier(response, answer, { resolve, reject });
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

interface Settle {
  readonly resolve: (relayed: Relayed) => void;
  readonly reject: (error: PlimsollError) => void;
}

/**
 * The phases of an answer. waiting: no answer yet. buffering: its beginning is being checked. deciding: the caller decides what
 * to do with it. open: it is sent on and watched. storing: its end is held back until the turn is stored. passing: nothing is
 * held back any more. over: done.
 */
type Phase = "waiting" | "buffering" | "deciding" | "open" | "storing" | "passing" | "over";

class Carrier implements Dispatcher.DispatchHandler {
  #phase: Phase = "waiting";
  #watch: Watch | undefined;
  #buffered: Uint8Array[] = [];
  #hasEnded = false;
  /** True while Plimsoll waits for the client to receive the data written so far. */
  #isDraining = false;
  #controller: Dispatcher.DispatchController | undefined;
  #begun:
    | {
        readonly status: number;
        readonly headers: IncomingHttpHeaders;
        readonly answering: Answering;
      }
    | undefined;
  #bufferTimer: NodeJS.Timeout | undefined;
  readonly #response: ServerResponse;
  readonly #answer: (status: number, headers: IncomingHttpHeaders) => Answering;
  #settle: Settle;
  readonly #onClose = (): void => {
    if (this.#phase === "deciding") this.#drop();
    else if (this.#phase !== "over") this.#controller?.abort(clientLeft());
  };

  constructor(
    response: ServerResponse,
    answer: (status: number, headers: IncomingHttpHeaders) => Answering,
    settle: Settle,
  ) {
    this.#response = response;
    this.#answer = answer;
    this.#settle = settle;
    response.once("close", this.#onClose);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed) controller.abort(clientLeft());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#begun = { status, headers, answering: this.#answer(status, headers) };
    if (this.#begun.answering.overflowCheck === undefined) {
      this.#open();
      return;
    }
    this.#phase = "buffering";
    this.#bufferTimer = setTimeout(() => this.#pour(), maxBufferMs);
  }

  /** Sends the headers. From then on, the client sees the answer. */
  #open(): void {
    if (this.#begun === undefined) return;
    const { status, headers, answering } = this.#begun;
    this.#watch = answering.watch;
    this.#phase = this.#watch === undefined ? "passing" : "open";
    this.#response.writeHead(status, { ...answerHeaders(headers), ...answering.headers });
    // A stream's first event may take long. Any other answer is sent together with its headers.
    if (isStream(headers)) this.#response.flushHeaders();
  }

  /** Opens the answer and sends the part that was held back. */
  #pour(): void {
    clearTimeout(this.#bufferTimer);
    if (this.#phase !== "buffering" && this.#phase !== "deciding") return;
    const waiting = this.#buffered.splice(0);
    this.#open();
    for (const chunk of waiting) this.#take(chunk);
    if (this.#hasEnded) this.#end();
  }

  #look(verdict: "wait" | OverflowVerdict): void {
    if (verdict === "wait") return;
    clearTimeout(this.#bufferTimer);
    if (verdict.kind === "pass") {
      this.#pour();
      return;
    }
    this.#phase = "deciding";
    this.#controller?.pause();
    this.#settle.resolve({
      kind: "overflow",
      overflow: verdict.overflow,
      drop: () => this.#drop(),
      pass: (added = {}) =>
        new Promise((resolve, reject) => {
          this.#addHeaders(added);
          // The client may have left while the caller was deciding.
          if (this.#phase === "over") {
            reject(clientLeft());
            return;
          }
          this.#settle = { resolve, reject };
          this.#pour();
          if (this.#phase === "open" || this.#phase === "passing") this.#controller?.resume();
        }),
    });
  }

  #addHeaders(added: Readonly<Record<string, string>>): void {
    if (this.#begun === undefined) return;
    const { answering } = this.#begun;
    const headers = { ...answering.headers, ...added };
    this.#begun = { ...this.#begun, answering: { ...answering, headers } };
  }

  #drop(): void {
    this.#phase = "over";
    this.#response.off("close", this.#onClose);
    if (!this.#hasEnded) this.#controller?.abort(new Error("The answer is not needed any more."));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === "buffering") {
      this.#buffered.push(chunk);
      const size = this.#buffered.reduce((sum, { length }) => sum + length, 0);
      const overflowCheck = this.#begun?.answering.overflowCheck;
      this.#look(
        overflowCheck === undefined || size > maxBufferBytes
          ? { kind: "pass" }
          : overflowCheck.push(chunk),
      );
    } else if (this.#phase === "deciding") this.#buffered.push(chunk);
    else this.#take(chunk);
  }

  #take(chunk: Uint8Array): void {
    if (this.#phase === "storing") this.#buffered.push(chunk);
    else if (this.#phase === "open" && this.#watch !== undefined) this.#pass(chunk, this.#watch);
    else this.#write(chunk);
  }

  onResponseEnd(): void {
    this.#hasEnded = true;
    if (this.#phase === "buffering")
      this.#look(this.#begun?.answering.overflowCheck?.end() ?? { kind: "pass" });
    else this.#end();
  }

  #end(): void {
    if (this.#phase === "open") this.#store("end");
    else if (this.#phase === "passing") this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // If an answer breaks off, the part that was held back is still sent.
    if (this.#phase === "buffering") this.#pour();
    const phase = this.#phase;
    if (phase === "over") return;
    if (phase === "deciding") {
      this.#hasEnded = true;
      return;
    }
    if (phase === "storing") {
      // The answer was complete. Its end is sent once the turn is stored, whatever happened to the upstream.
      this.#hasEnded = true;
      return;
    }
    const failure = upstreamError(error);
    const hasLeft = this.#response.destroyed;
    this.#phase = "over";
    if (phase === "waiting") {
      this.#settle.reject(failure);
      return;
    }
    // The turn is stored before the connection breaks, as at a regular end. So when the client sees the break, everything before
    // it is stored.
    const isWatched = phase === "open" && this.#watch !== undefined;
    const ended = isWatched
      ? this.#watch?.end(hasLeft ? "left" : "broken", failure.message)
      : undefined;
    void Promise.resolve(ended).then(() => {
      this.#release();
      this.#breakOff();
    });
  }

  #pass(chunk: Uint8Array, watch: Watch): void {
    this.#release();
    const { passBytes, isTerminal } = watch.push(chunk);
    this.#write(chunk.subarray(0, passBytes));
    this.#buffered.push(chunk.subarray(passBytes));
    if (isTerminal) this.#store("terminal");
  }

  #write(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#response.destroyed || this.#response.write(chunk)) return;
    this.#controller?.pause();
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#response.once("drain", () => {
      this.#isDraining = false;
      if (this.#phase !== "storing") this.#controller?.resume();
    });
  }

  #release(): void {
    for (const chunk of this.#buffered.splice(0)) this.#write(chunk);
  }

  /** Called when everything but the end of the answer has been sent. Stores the turn, and then sends the end. */
  #store(how: Ending): void {
    this.#phase = "storing";
    this.#controller?.pause();
    void this.#watch?.end(how).then(({ isWhole }) => {
      if (this.#phase !== "storing") return;
      if (isWhole && this.#hasEnded) {
        this.#finish();
        return;
      }
      this.#release();
      this.#phase = "passing";
      if (isWhole) this.#controller?.resume();
      else this.#breakOff();
    });
  }

  #finish(): void {
    this.#phase = "over";
    this.#response.end(Buffer.concat(this.#buffered.splice(0)));
    this.#settle.resolve({ kind: "done" });
  }

  /** Sends the data already written, and then ends the connection without the final empty chunk. */
  #breakOff(): void {
    this.#phase = "over";
    this.#response.write("", () => this.#response.destroy());
    this.#settle.resolve({ kind: "done" });
  }
}

/** The framing of a streamed answer. Undefined if the answer is one JSON body. `asked` is the framing that the client asked for. */
export function framingOf(
  status: number,
  headers: IncomingHttpHeaders,
  asked: FramingName,
): Framing | undefined {
  if (isStream(headers)) return framings.events;
  const isJson = /^application\/json\b/i.test(headers["content-type"] ?? "");
  return asked === "json-array" && isJson && status < 400 ? framings[asked] : undefined;
}

function isStream(headers: IncomingHttpHeaders): boolean {
  return String(headers["content-type"] ?? "").includes("text/event-stream");
}

export function clientLeft(): PlimsollError {
  return new PlimsollError("CLIENT_LEFT", "The client went away.", { status: 499 });
}

export function answerHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !droppedAnswerHeaders.has(name)) kept[name] = value;
  }
  return kept;
}

export function upstreamError(error: Error): PlimsollError {
  if (PlimsollError.is(error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
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
