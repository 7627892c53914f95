/**
 * A turn in which the model may call Plimsoll's tools. The client gets one answer, made from as many rounds with the upstream as
 * necessary. Everything that the client sees passes through the wire's merger. The end of the answer waits until the turn is
 * stored.
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, parseObject } from "../../message/json.ts";
import type { InnerRounds } from "../../session/turn/inner-rounds.ts";
import { overloadedStatuses } from "../../session/turn/next-provider.ts";
import type { ReceivedTurn, TurnResult } from "../../session/turn/turn.ts";
import {
  type FrameWriter,
  type Framing,
  type FramingName,
  framings,
} from "../../wire/format/framing.ts";
import type { Answer, RoundMerger, StreamEvent, Wire } from "../../wire/format/wire.ts";
import { overloaded } from "../../wire/overflow.ts";
import { plainBody } from "../http/unpack.ts";
import { bufferForOverflow } from "./buffer-for-overflow.ts";
import {
  letEnd,
  Opening,
  readWhole,
  SentAnswer,
  StreamReading,
  type Taken,
  unread,
} from "./read-rounds.ts";
import {
  answerHeaders,
  type Call,
  clientLeft,
  framingOf,
  maxBufferMs,
  type OverflowCheck,
  type OverflowVerdict,
  upstreamError,
} from "./relay.ts";

export interface Conversing {
  readonly agent: Pick<Dispatcher, "request">;
  readonly turn: ReceivedTurn;
  readonly rounds: InnerRounds;
  readonly wire: Wire;
  /** The framing that the client asked for. */
  readonly framing: FramingName;
  readonly response: ServerResponse;
  /** Returns the request of the current round. The turn's body changes from round to round. */
  readonly call: () => Call;
  /** Headers that describe the turn as it is now. They may change after an overflow. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Lets another provider answer and end the turn. Called only before the client has received anything. */
  readonly failOver: () => Promise<"answered" | "nobody">;
}

/**
 * Resolves when the answer has been sent, or when the client has gone away. In both cases the turn has ended. Contract: rejects
 * only if nothing has been sent to the client yet. In that case the turn has not ended.
 */
export async function converse(conversing: Conversing): Promise<void> {
  const { response } = conversing;
  const aborting = new AbortController();
  const onClose = (): void => aborting.abort(clientLeft());
  response.once("close", onClose);
  if (response.destroyed) aborting.abort(clientLeft());
  const answer = new ClientAnswer(conversing);
  try {
    for (;;) {
      const next = await takeRound(conversing, answer, aborting.signal);
      if (next === "over") return;
    }
  } catch (error) {
    const hasLeft = aborting.signal.aborted;
    aborting.abort();
    await answer.fail(error, hasLeft);
  } finally {
    answer.close();
    response.off("close", onClose);
  }
}

type AfterRound = "again" | "over";

async function takeRound(
  conversing: Conversing,
  answer: ClientAnswer,
  signal: AbortSignal,
): Promise<AfterRound> {
  const upstream = await ask(conversing, signal);
  const headers = upstream.headers as IncomingHttpHeaders;
  const { statusCode: status } = upstream;
  const body = plainBody(upstream.body, headers);
  const framing = framingOf(status, headers, conversing.framing);
  const begun = { status, headers: withoutEncoding(headers), framing };
  const overflowCheck = bufferForOverflow(conversing.wire, begun, hasNext(conversing, answer));
  const hearing =
    framing !== undefined && status < 400
      ? answer.hearStream({ status, headers, body, overflowCheck }, framing)
      : answer.hearBody({ status, headers, body, overflowCheck });
  const heard = await hearing.catch((error: Error) => {
    throw signal.aborted ? clientLeft() : upstreamError(error);
  });
  switch (heard.kind) {
    case "overflow": {
      const { overflow } = heard;
      if (overflow !== overloaded && (await conversing.turn.overflowed(overflow))) return "again";
      return passUnlessAnswered(conversing, answer, heard);
    }
    case "overloaded":
      return passUnlessAnswered(conversing, answer, heard);
    case "answered": {
      const next = await unlessLeft(conversing.rounds.answered(heard.answer), signal);
      if (next === "again" && !answer.hasFailed) {
        answer.next();
        return "again";
      }
      await answer.end();
      return "over";
    }
    case "passed":
      return "over";
  }
}

/** Whether another provider can still answer, because the client has received nothing. */
function hasNext({ turn }: Conversing, { isFresh }: ClientAnswer): boolean {
  return isFresh && turn.nextTargets.length > 0;
}

/** Passes the provider's refusal on, unless another provider answers instead. */
async function passUnlessAnswered(
  { failOver }: Conversing,
  answer: ClientAnswer,
  refused: Pick<Extract<Heard, { readonly kind: "overloaded" | "overflow" }>, "pass" | "answer">,
): Promise<AfterRound> {
  const isAnswered = answer.isFresh && (await failOver()) === "answered";
  if (!isAnswered) await answer.pass(refused.pass, refused.answer);
  return "over";
}

/** Resolves with the result of `work`. Rejects as soon as the client leaves, because a lookup may take a while. */
function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(clientLeft());
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

/** The headers without `content-encoding`, because the body was already unpacked. */
function withoutEncoding(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { "content-encoding": _encoding, ...rest } = headers;
  return rest;
}

async function ask(
  { agent, call }: Conversing,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { url, method, headers, body } = call();
  try {
    return await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: [...headers],
      body: body as Uint8Array,
      signal,
    });
  } catch (error) {
    throw signal.aborted ? clientLeft() : upstreamError(error as Error);
  }
}

interface Upstream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  readonly overflowCheck: OverflowCheck | undefined;
}

/** An answer of the upstream that can be sent to the client as it is. */
interface Passing {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
}

type Heard =
  | { readonly kind: "answered"; readonly answer: Answer }
  | {
      readonly kind: "overflow";
      readonly overflow: Extract<OverflowVerdict, { kind: "overflow" }>["overflow"];
      readonly pass: Passing;
      /** The part of the answer that was read, if the answer came as a stream. */
      readonly answer?: Answer;
    }
  /** The provider cannot answer now. Nothing was sent to the client. */
  | { readonly kind: "overloaded"; readonly pass: Passing; readonly answer: Answer }
  /** The answer was sent to the client as it came, and the turn has ended. */
  | { readonly kind: "passed" };

/** The answer that the client sees, while Plimsoll puts it together from the rounds. */
class ClientAnswer {
  readonly #conversing: Conversing;
  readonly #merger: RoundMerger;
  readonly #sentAnswer: SentAnswer;
  /** Writes in the framing of the first round, which may differ from the one that the client asked for. */
  #writer: FrameWriter | undefined;
  readonly #responses: JsonObject[] = [];
  /** The last complete JSON body, as it came. */
  #body: Passing | undefined;
  /** True if the answer is a stream. */
  #isStreaming = false;
  /** True if the client has received part of the answer. A later failure then cannot be reported by an HTTP status. */
  #hasSpoken = false;
  /**
   * Opening events, held back until the first content from the model arrives. Until then, an error of the provider can still
   * replace them.
   */
  #unsent:
    | { readonly status: number; readonly headers: IncomingHttpHeaders; text: string }
    | undefined;
  #openTimer: NodeJS.Timeout | undefined;
  /**
   * True if the opening events have waited long enough. They are then sent, so that the client sees that the connection is alive.
   */
  #isLate = false;
  #hasFailed = false;

  constructor(conversing: Conversing) {
    this.#conversing = conversing;
    this.#merger = conversing.wire.rounds.open(conversing.rounds.isOwn);
    this.#sentAnswer = new SentAnswer(conversing.wire.answer.open());
  }

  /** True if the client was told that the answer failed. Nothing more can be sent. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** True as long as the client has received nothing, and no round is complete. */
  get isFresh(): boolean {
    return !this.#hasSpoken && !this.#isStreaming && this.#responses.length === 0;
  }

  /** Stops the timer that would send the opening events. */
  close(): void {
    clearTimeout(this.#openTimer);
    if (!this.#hasSpoken) this.#unsent = undefined;
  }

  next(): void {
    if (this.#isStreaming) this.#merger.next();
  }

  async hearStream(
    { status, headers, body, overflowCheck }: Upstream,
    framing: Framing,
  ): Promise<Heard> {
    this.#writer ??= framing.createWriter();
    this.#openTimer ??= setTimeout(() => {
      this.#isLate = true;
      this.#open();
    }, maxBufferMs);
    const reading = new StreamReading(this.#conversing.wire.answer.open(), this.#merger, framing);
    const opening = new Opening(overflowCheck, () => {
      void this.#say(status, headers, reading.taken());
    });
    const overflowed = (verdict: Extract<OverflowVerdict, { kind: "overflow" }>): Heard => ({
      kind: "overflow",
      overflow: verdict.overflow,
      pass: { status, headers, bytes: Buffer.concat(opening.pieces) },
      answer: reading.answer(),
    });
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: false })) {
        reading.push(chunk as Uint8Array);
        const verdict = opening.look(chunk as Uint8Array);
        if (verdict === "wait") continue;
        if (verdict.kind === "overflow") return overflowed(verdict);
        await this.#say(status, headers, reading.taken());
        if (reading.hasEnded) break;
      }
    } finally {
      opening.close();
      if (reading.hasEnded) letEnd(body);
      else body.destroy();
    }
    const verdict = opening.end();
    if (verdict.kind === "overflow") return overflowed(verdict);
    await this.#say(status, headers, reading.taken());
    return { kind: "answered", answer: reading.answer() };
  }

  async hearBody({ status, headers, body, overflowCheck }: Upstream): Promise<Heard> {
    const { wire } = this.#conversing;
    const bytes = await readWhole(body);
    const pass = { status, headers, bytes };
    overflowCheck?.push(bytes);
    const verdict = overflowCheck?.end() ?? { kind: "pass" };
    if (verdict.kind === "overflow") return { kind: "overflow", overflow: verdict.overflow, pass };
    const json = parseObject(new TextDecoder().decode(bytes));
    const answer = json === undefined ? unread : wire.answer.read(json);
    const isAnswer = status < 400 && json !== undefined && answer.outcome === "message";
    // The client's answer cannot continue with a JSON body after a streamed round, or with a body that is not an answer.
    const isBroken = this.#isStreaming || (!isAnswer && this.#responses.length > 0);
    if (isBroken && status < 400)
      throw new PlimsollError("UPSTREAM_FAILED", "The upstream's answer could not be read.", {
        status: 502,
      });
    if (overloadedStatuses.has(status)) return { kind: "overloaded", pass, answer };
    if (!isAnswer || json === undefined) {
      await this.pass(pass, answer);
      return { kind: "passed" };
    }
    this.#responses.push(json);
    this.#body = pass;
    return { kind: "answered", answer };
  }

  /**
   * Passes the provider's answer on as it is. If the client has already received part of a stream, sends an error event of this
   * wire instead.
   */
  async pass(passing: Passing, read?: Answer): Promise<void> {
    const { status, headers, bytes } = passing;
    const json = parseObject(new TextDecoder().decode(bytes));
    const errorAnswer =
      read ?? (json === undefined ? unread : this.#conversing.wire.answer.read(json));
    const message = errorAnswer.error?.message ?? `The upstream answered with status ${status}.`;
    if (this.#hasSpoken) {
      await this.#sendFailure(Math.max(status, 400), message);
      return;
    }
    this.close();
    const hasFailed = status >= 400 || errorAnswer.outcome === "error";
    await this.#endTurn({
      status: hasFailed ? "failed" : "incomplete",
      answer: errorAnswer,
      ...(hasFailed ? { error: message } : {}),
    });
    this.#reply(status, headers, bytes);
  }

  /** Called when the last round is complete. Stores the turn, and then sends the end of the answer to the client. */
  async end(): Promise<void> {
    const { wire, rounds, response } = this.#conversing;
    if (!this.#isStreaming) {
      const [first, ...others] = this.#responses;
      if (first === undefined || this.#body === undefined) return;
      const merged = wire.rounds.merge([first, ...others], rounds.isOwn);
      const isAsItCame = others.length === 0 && sameJson(merged, first);
      await this.#endTurn({ status: "complete", answer: wire.answer.read(merged) });
      const { status, headers, bytes } = this.#body;
      this.#reply(status, headers, isAsItCame ? bytes : Buffer.from(JSON.stringify(merged)));
      return;
    }
    const last = this.#merger.end();
    for (const event of last) this.#sentAnswer.take(event);
    const answer = this.#sentAnswer.finish();
    const isWhole = last.length > 0 || this.#hasFailed;
    await this.#endTurn({
      status: statusOf(answer, isWhole),
      answer,
      ...(answer.error === undefined ? {} : { error: answer.error.message }),
    });
    this.#open();
    if (isWhole) response.end(this.#written(last));
    else breakOff(response);
  }

  /** Ends the answer and the turn, because Plimsoll failed or the client left. */
  async fail(error: unknown, hasLeft: boolean): Promise<void> {
    const message = errorMessage(error);
    this.close();
    if (!this.#hasSpoken && !hasLeft) throw error;
    if (hasLeft) {
      const answer = this.#isStreaming ? { answer: this.#sentAnswer.finish() } : {};
      await this.#endTurn({ status: "aborted", ...answer, error: message });
      return;
    }
    const status = PlimsollError.is(error) ? error.status : 502;
    await this.#sendFailure(status, message);
  }

  async #sendFailure(status: number, message: string): Promise<void> {
    const { wire, response } = this.#conversing;
    this.#hasFailed = true;
    await this.#endTurn({ status: "failed", answer: this.#sentAnswer.finish(), error: message });
    response.end(this.#written([wire.errors.event(status, message)]));
  }

  #frameWriter(): FrameWriter {
    this.#writer ??= framings[this.#conversing.framing].createWriter();
    return this.#writer;
  }

  /** The last events, and the end of the stream. */
  #written(events: readonly StreamEvent[]): string {
    const writer = this.#frameWriter();
    return writer.write(events) + writer.end();
  }

  #endTurn(result: TurnResult): Promise<unknown> {
    return this.#conversing.turn.end(result);
  }

  #reply(status: number, headers: IncomingHttpHeaders, bytes: Uint8Array): void {
    const { response, headers: ours } = this.#conversing;
    const { "content-length": _length, ...kept } = answerHeaders(withoutEncoding(headers));
    response.writeHead(status, { ...kept, ...ours(), "content-length": bytes.length });
    response.end(bytes);
  }

  #open(): void {
    clearTimeout(this.#openTimer);
    const { response, headers: ours } = this.#conversing;
    const unsent = this.#unsent;
    const isOpen = this.#hasSpoken || response.headersSent || response.destroyed;
    if (isOpen || unsent === undefined) return;
    this.#hasSpoken = true;
    const { "content-length": _length, ...kept } = answerHeaders(withoutEncoding(unsent.headers));
    response.writeHead(unsent.status, { ...kept, ...ours() });
    response.flushHeaders();
    if (unsent.text !== "") response.write(unsent.text);
  }

  /** Waits until the client has received the data. A slow client thus slows down the upstream, and no data piles up in memory. */
  async #say(
    status: number,
    headers: IncomingHttpHeaders,
    { events, isAlive }: Taken,
  ): Promise<void> {
    const { response } = this.#conversing;
    this.#isStreaming = true;
    const progress = events.map((event) => this.#sentAnswer.take(event));
    this.#hasFailed ||= progress.includes("terminal");
    const writer = this.#frameWriter();
    const text = `${writer.write(events)}${isAlive ? writer.alive : ""}`;
    if (!this.#hasSpoken) {
      this.#unsent ??= { status, headers, text: "" };
      this.#unsent.text += text;
      if (this.#isLate || progress.some((step) => step !== "opening")) this.#open();
      return;
    }
    if (text === "" || response.destroyed || response.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.once("drain", done);
      response.once("close", done);
    });
  }
}

function statusOf({ outcome }: Answer, isWhole: boolean): TurnResult["status"] {
  if (outcome === "error") return "failed";
  return isWhole && outcome === "message" ? "complete" : "incomplete";
}

function sameJson(one: JsonObject, other: JsonObject): boolean {
  return isObject(one) && JSON.stringify(one) === JSON.stringify(other);
}

/** Sends the data already written, and then ends the connection without the final empty chunk. */
function breakOff(response: ServerResponse): void {
  response.write("", () => response.destroy());
}
