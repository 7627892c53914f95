/**
 * Asks an upstream once more after it has answered a client's request, with the headers of that request. Keeps them only as long
 * as the turn and its one question last, and quotes them in no error.
 */

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Agent } from "undici";
import { errorMessage } from "../../message/error.ts";
import type { AskAgain } from "../../session/models/session-summariser.ts";
import { createJsonReader, createStreamReader } from "../../wire/format/answer-reader.ts";
import { credentialsOf, withoutCredentials } from "../../wire/format/credentials.ts";
import type { FramingName } from "../../wire/format/framing.ts";
import type { Answer, Wire } from "../../wire/format/wire.ts";
import { plainBody } from "../http/unpack.ts";
import { framingOf, plainHeaders } from "./relay.ts";

/** Maximum size of an answer in bytes. Answers within the token limit are much smaller, even as a stream. */
const maxAnswerBytes = 4_000_000;

export interface AskedPlace {
  readonly agent: Agent;
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly wire: Wire;
  /** The framing that the client asked for. */
  readonly framing: FramingName;
}

export function askAgainAt({ agent, request, url, wire, framing }: AskedPlace): AskAgain {
  return async (body, signal) => {
    try {
      const answer = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: plainHeaders(request, body.length),
        body,
        signal,
      });
      const headers = answer.headers as IncomingHttpHeaders;
      const stream = framingOf(answer.statusCode, headers, framing);
      const reader =
        stream === undefined ? createJsonReader(wire) : createStreamReader(wire, stream);
      await readInto(reader, plainBody(answer.body, headers));
      return accepted(answer.statusCode, reader.finish());
    } catch (error) {
      const credentials = credentialsOf(request.rawHeaders, request.url ?? "");
      throw new Error(withoutCredentials(errorMessage(error), credentials));
    }
  };
}

async function readInto(
  reader: { push(chunk: Uint8Array): unknown },
  body: Readable,
): Promise<void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > maxAnswerBytes)
      throw new Error(`the provider's answer has more than ${maxAnswerBytes} bytes`);
    reader.push(chunk as Uint8Array);
  }
}

function accepted(status: number, answer: Answer): Answer {
  if (status >= 200 && status < 300) return answer;
  const words = answer.error?.message ?? "";
  const redirect = status >= 300 && status < 400 ? "Plimsoll does not follow redirects" : words;
  throw new Error(`the provider answered ${status}${redirect === "" ? "" : `: ${redirect}`}`);
}
