/** The client side of the proxy benchmark: one connection, kept alive, one request at a time. */

import { Client } from "undici";
import type { ConversationRequest } from "./proxy-conversation.ts";

export interface StreamTimes {
  readonly totalMicroseconds: number;
  /** From the upstream's write to the arrival here, of each chunk. */
  readonly chunkMicroseconds: readonly number[];
}

export interface Answered {
  /** Until the whole answer was there. */
  readonly microseconds: number;
  readonly text: string;
  /** What Plimsoll says that it did, and the tokens before and after. Empty if somebody else answered. */
  readonly action: string;
  readonly tokens: string;
}

export interface Connection {
  /** Microseconds until the whole answer was there. */
  send(request: ConversationRequest): Promise<number>;
  ask(request: ConversationRequest): Promise<Answered>;
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
    { body, session, headers: own }: ConversationRequest,
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
        ...own,
        ...headers,
      },
      body,
    });

  const ask = async (request: ConversationRequest): Promise<Answered> => {
    const begin = performance.now();
    const answer = await post(request);
    const text = await answer.body.text();
    const microseconds = (performance.now() - begin) * 1000;
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
    const said = (name: string): string => String(answer.headers[`x-plimsoll-${name}`] ?? "");
    return { microseconds, text, action: said("action"), tokens: said("tokens") };
  };

  return {
    send: async (request) => (await ask(request)).microseconds,
    ask,
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
