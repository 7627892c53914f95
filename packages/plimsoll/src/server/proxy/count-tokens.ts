/**
 * Asks a provider to count tokens. Uses the headers of a client's request only while that request is running, and keeps none of
 * them.
 */

import type { IncomingMessage } from "node:http";
import type { Agent } from "undici";
import { parseObject } from "../../message/json.ts";
import type { CountTokens } from "../../session/measure/preamble-counts.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { plainHeaders } from "./relay.ts";

/** Maximum size of an answer. No token count is longer than this. */
const maxAnswerBytes = 64 * 1024;
const timeoutMs = 5000;

export interface CountingPlace {
  readonly agent: Agent;
  readonly request: IncomingMessage;
  /** The upstream address of the conversation. */
  readonly url: () => URL;
  readonly wire: Wire;
}

export function countTokensAt({ agent, request, url, wire }: CountingPlace): CountTokens {
  return async (body) => {
    const { counting } = wire.body;
    if (counting === undefined) return undefined;
    const place = counting.place(url());
    const answer = await agent.request({
      origin: place.origin,
      path: `${place.pathname}${place.search}`,
      method: "POST",
      headers: plainHeaders(request, body.length),
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await textOf(answer.body);
    if (answer.statusCode !== 200 || text === undefined) return undefined;
    return counting.read(parseObject(text) ?? null);
  };
}

/** The text of an answer. Undefined if the text is longer than any token count could be. */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
