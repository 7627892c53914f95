/** The client side of the proxy benchmark: one connection, kept alive, one request at a time. */

import { Client } from "undici";
import type { ConversationRequest } from "./proxy-conversation.ts";

export interface StreamTimes {
  readonly totalMicroseconds: number;
  /** From the upstream's write to the arrival here, of each chunk. */
  readonly chunkMicroseconds: readonly number[];
}

export interface Connection {
  /** Microseconds until the whole answer was there. */
  send(request: ConversationRequest): Promise<number>;
  stream(request: ConversationRequest, options: StreamOptions): Promise<StreamTimes>;
  close(): Promise<void>;
}

export interface StreamOptions {
  readonly chunks: number;
  readonly isPaced: boolean;
}

export function connect(origin: string): Connection {
  const client = new Client(origin, { pipelining: 1 });
  const post = (
    { body, session }: ConversationRequest,
    headers: Readonly<Record<string, string>> = {},
  ): ReturnType<typeof client.request> =>
    client.request({
      path: "/v1/messages",
      method: "POST",
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": "benchmark",
        "x-claude-code-session-id": session,
        ...headers,
      },
      body,
    });

  return {
    send: async (request) => {
      const begin = performance.now();
      const answer = await post(request);
      const text = await answer.body.text();
      const elapsed = (performance.now() - begin) * 1000;
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
      return elapsed;
    },
    stream: async (request, { chunks, isPaced }) => {
      const begin = performance.now();
      const answer = await post(request, {
        "x-bench-chunks": String(chunks),
        "x-bench-pace": isPaced ? "slow" : "fast",
      });
      const arrivals: { readonly at: bigint; readonly bytes: Buffer }[] = [];
      for await (const bytes of answer.body as AsyncIterable<Buffer>)
        arrivals.push({ at: process.hrtime.bigint(), bytes });
      const totalMicroseconds = (performance.now() - begin) * 1000;
      const chunkMicroseconds = arrivals.flatMap(({ at, bytes }) => delays(at, bytes));
      if (chunkMicroseconds.length < chunks * 0.95) throw new Error("The stream was not whole.");
      return { totalMicroseconds, chunkMicroseconds };
    },
    close: () => client.close(),
  };
}

/** The upstream wrote into each chunk when it did so. A chunk that was cut in two is left out. */
function delays(arrivedAt: bigint, bytes: Buffer): readonly number[] {
  const sent = bytes.toString("latin1").matchAll(/"text":"(\d+) and so/g);
  return [...sent].map(([, at]) => Number(arrivedAt - BigInt(at ?? 0)) / 1000);
}
