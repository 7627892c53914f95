/**
 * Asks an upstream again that is overloaded, before the client has seen anything. Two retry loops multiply, so Plimsoll leaves
 * this to clients that do it themselves.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { pauseAfter } from "../../bounds/growing-pause.ts";
import { type RetryPolicy, retryPolicyOf, upstreamRetriesOf } from "../../config/retry.ts";
import type { Config } from "../../config/schema.ts";
import { retriesItself } from "../../message/client-name.ts";

/** The policy for a request, or undefined if its first answer is final. */
export function upstreamPolicy(
  config: Config,
  headers: IncomingHttpHeaders,
  client: string | undefined,
): RetryPolicy | undefined {
  const mode = upstreamRetriesOf(config);
  // The SDKs of Anthropic and OpenAI count their own attempts in this header.
  const isCounted = headers["x-stainless-retry-count"] !== undefined;
  if (mode === "never" || (mode === "auto" && (isCounted || retriesItself(client))))
    return undefined;
  const policy = retryPolicyOf(config);
  return policy.attempts > 1 ? policy : undefined;
}

/** Whether the upstream may answer the same request later. 529 is Anthropic's "overloaded". */
export function isTemporary(status: number, headers: IncomingHttpHeaders): boolean {
  if (headers["x-should-retry"] === "false") return false;
  return status === 429 || status >= 500;
}

/** The pause before the next attempt: as long as the upstream says, at most `maxMs`, or else growing. */
export function pauseBefore(
  policy: RetryPolicy,
  failures: number,
  headers: IncomingHttpHeaders,
  now: number,
): number {
  const asked = retryAfterMs(headers, now);
  return asked === undefined ? pauseAfter(policy, failures) : Math.min(policy.maxMs, asked);
}

function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (exact >= 0) return exact;
  const written = headers["retry-after"];
  if (written === undefined || written.trim() === "") return undefined;
  const seconds = Number(written);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(written);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export interface UpstreamRetry {
  readonly policy: RetryPolicy;
  /** Receives a sentence before each further attempt. */
  readonly tell: (sentence: string) => void;
}

/** A dispatcher that answers only with the last attempt. Contract: the body of each request is bytes, not a stream. */
export function withRetries(
  agent: Dispatcher,
  retry: UpstreamRetry,
): Dispatcher.ComposedDispatcher {
  return agent.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, new Attempts(handler, retry, (again) => dispatch(options, again))),
  );
}

/** Maximum size of the answer that is read and dropped before the next attempt. Beyond that, the connection is closed. */
const droppedBytesMax = 64 * 1024;

class Attempts implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #retry: UpstreamRetry;
  readonly #send: (handler: Dispatcher.DispatchHandler) => void;
  readonly #steering = new Steering();
  #attempt = 1;
  /** The pause before the next attempt, once the upstream has refused this one. */
  #pauseMs: number | undefined;
  #droppedBytes = 0;

  constructor(
    handler: Dispatcher.DispatchHandler,
    retry: UpstreamRetry,
    send: (handler: Dispatcher.DispatchHandler) => void,
  ) {
    this.#handler = handler;
    this.#retry = retry;
    this.#send = send;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#steering.use(controller);
    if (this.#attempt === 1) this.#handler.onRequestStart?.(this.#steering, context);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    const { policy, tell } = this.#retry;
    if (status >= 200 && this.#attempt < policy.attempts && isTemporary(status, headers)) {
      this.#pauseMs = pauseBefore(policy, this.#attempt - 1, headers, Date.now());
      this.#droppedBytes = 0;
      tell(
        `The upstream answered ${status}. Plimsoll asks it again in ${this.#pauseMs / 1000} s (attempt ${this.#attempt + 1} of ${policy.attempts}).`,
      );
      return;
    }
    this.#handler.onResponseStart?.(this.#steering, status, headers, statusMessage);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#pauseMs === undefined) {
      this.#handler.onResponseData?.(this.#steering, chunk);
      return;
    }
    this.#droppedBytes += chunk.length;
    if (this.#droppedBytes > droppedBytesMax)
      controller.abort(new Error("The rest of the answer is not needed."));
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#pauseMs === undefined) this.#handler.onResponseEnd?.(this.#steering, trailers);
    else this.#wait(this.#pauseMs);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#pauseMs === undefined || this.#steering.aborted)
      this.#handler.onResponseError?.(this.#steering, error);
    else this.#wait(this.#pauseMs);
  }

  #wait(pauseMs: number): void {
    const fail = (error: Error): void => {
      clearTimeout(timer);
      this.#handler.onResponseError?.(this.#steering, error);
    };
    const timer = setTimeout(() => {
      this.#steering.onAbort = undefined;
      this.#pauseMs = undefined;
      this.#attempt++;
      try {
        this.#send(this);
      } catch (error) {
        fail(error as Error);
      }
    }, pauseMs);
    this.#steering.onAbort = fail;
  }
}

/** Steers the attempt that is under way. Between two attempts, an abort ends the waiting. */
class Steering implements Dispatcher.DispatchController {
  #current: Dispatcher.DispatchController | undefined;
  #reason: Error | null = null;
  /** Set between two attempts. */
  onAbort: ((reason: Error) => void) | undefined;

  use(controller: Dispatcher.DispatchController): void {
    this.#current = controller;
    if (this.#reason !== null) controller.abort(this.#reason);
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get rawHeaders(): NonNullable<Dispatcher.DispatchController["rawHeaders"]> | null {
    return this.#current?.rawHeaders ?? null;
  }

  get paused(): boolean {
    return this.#current?.paused === true;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  abort(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    const { onAbort } = this;
    this.onAbort = undefined;
    if (onAbort === undefined) this.#current?.abort(reason);
    else onAbort(reason);
  }

  pause(): void {
    this.#current?.pause();
  }

  resume(): void {
    this.#current?.resume();
  }
}
