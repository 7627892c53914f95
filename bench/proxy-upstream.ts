/** A provider that costs next to nothing: a small JSON answer, or a stream of events. Runs as a child process. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { greet } from "./processes.ts";

const usage = { input_tokens: 100, output_tokens: 5 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5" };
const answer = JSON.stringify({
  ...message,
  content: [{ type: "text", text: "Done." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
});

function event(data: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** About 150 bytes. The time of sending is in it, in nanoseconds of the machine's clock. */
function chunk(): string {
  const text = `${process.hrtime.bigint()} and so`;
  return event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
}

function opening(): string {
  return (
    event({ type: "message_start", message: { ...message, content: [], usage } }) +
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })
  );
}

function ending(): string {
  return (
    event({ type: "content_block_stop", index: 0 }) +
    event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }) +
    event({ type: "message_stop" })
  );
}

/** A burst writes as fast as the event loop turns; a paced stream gives every reader time to catch up. */
async function stream(response: ServerResponse, chunks: number, isPaced: boolean): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(opening());
  for (let count = 0; count < chunks; count++) {
    response.write(chunk());
    await (isPaced ? pause(1) : nextTurn());
  }
  response.end(ending());
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for await (const _piece of request) {
    // Only to be taken off the line.
  }
  const chunks = Number(request.headers["x-bench-chunks"] ?? 0);
  if (chunks > 0) {
    await stream(response, chunks, request.headers["x-bench-pace"] === "slow");
    return;
  }
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer),
  });
  response.end(answer);
}

const server = createServer((request, response) => void respond(request, response));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  greet({ port: (server.address() as AddressInfo).port });
});
