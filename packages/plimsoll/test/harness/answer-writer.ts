/** Writes the answers of the scripted provider, in pieces and compressed if configured, and records their bytes. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { constants, createGzip, type Gzip, gzipSync } from "node:zlib";
import type { RawBytes, Reply } from "./answer-parts.ts";
import { isString, type Json } from "./json.ts";
import { pause } from "./waiting.ts";

export interface WriterOptions {
  /** Cuts the bytes of a stream into pieces of this size, and writes each piece separately. */
  readonly chunkBytes?: number;
  /** Compresses answers for clients whose accept-encoding allows it. */
  readonly gzip?: boolean;
}

/** How fast a stream is sent, and whether it stops early. */
type Pace = Pick<Reply, "early" | "delayBetweenEventsMs">;

/** Writes one answer and records its bytes. */
export class AnswerWriter {
  readonly #recorded: Recorded;
  readonly #response: ServerResponse;
  readonly #chunkBytes: number;
  readonly #isGzip: boolean;

  constructor(recorded: Recorded, response: ServerResponse, options: WriterOptions) {
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

  async stream(
    events: readonly string[],
    pace: Pace = {},
    type = "text/event-stream; charset=utf-8",
  ): Promise<void> {
    const { early, delayBetweenEventsMs = 0 } = pace;
    const encoder = this.#isGzip ? createGzip() : undefined;
    this.#start(200, {
      "content-type": type,
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

  async raw({ headers, pieces }: RawBytes): Promise<void> {
    this.#start(200, headers);
    for await (const piece of pieces) {
      if (this.#response.destroyed) return;
      if (!this.#response.write(piece)) await drained(this.#response);
    }
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

  /** Resolves when the bytes have left the process, or when the client has disconnected. */
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

/** Resolves when there is room to write again, or when the client has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

/** Compresses these bytes and flushes, so that each event is sent at once. */
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

/** The mutable side of an UpstreamRequest. */
export interface Recorded extends UpstreamRequest {
  number: number;
  status: number;
  tokens: number;
  isOverflow: boolean;
  answer: Buffer;
  plainAnswer: Buffer;
}

export interface UpstreamRequest {
  /** Number of the request, from 1, in order of arrival. */
  readonly number: number;
  readonly method: string;
  /** Path with the query string. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as it came, still compressed if it was compressed. */
  readonly body: Buffer;
  /** Resolves when the answer is finished or the connection is closed. */
  readonly closed: Promise<void>;
  /** Status of the answer; 0 until there is one. */
  readonly status: number;
  /** The provider's token count of the request, if it counts. */
  readonly tokens: number;
  readonly isOverflow: boolean;
  /** The bytes answered so far, as sent and before compression. */
  readonly answer: Buffer;
  readonly plainAnswer: Buffer;
}
