/**
 * A provider that answers at once, as a model does that works on code: with as many calls as the request's header says, or with
 * words alone. It reports tokens by the length of the body. Runs as a child process.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createCodingTexts } from "./coding-texts.ts";
import { greet } from "./processes.ts";

/** About what Plimsoll counts for these texts, so that what it expects of a request is what is reported. */
const bytesPerToken = 3.3;
const texts = createCodingTexts(99);
let calls = 0;

function answerTo(bytes: number, callCount: number): string {
  const content = [
    { type: "text", text: texts.words(120) },
    ...Array.from({ length: callCount }, () => texts.call(`toolu_${calls++}`)),
  ];
  return JSON.stringify({
    id: `msg_${calls}`,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content,
    stop_reason: callCount > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: Math.ceil(bytes / bytesPerToken), output_tokens: 40 + 40 * callCount },
  });
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) bytes += piece.length;
  const answer = answerTo(bytes, Number(request.headers["x-bench-calls"] ?? 0));
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer),
  });
  response.end(answer);
}

const server = createServer((request, response) => {
  respond(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  greet({ port: (server.address() as AddressInfo).port });
});
