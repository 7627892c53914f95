/**
 * A provider that looks something up: it calls `read_result` until the last message brings a result, then it is done. Runs as
 * a child process, and says how many bytes each request had.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { greet } from "./processes.ts";

const frame = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5" };
const usage = { input_tokens: 100, output_tokens: 5 };
const looking = JSON.stringify({
  ...frame,
  content: [{ type: "tool_use", id: "toolu_1", name: "read_result", input: { ref_id: "#1" } }],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage,
});
const done = JSON.stringify({
  ...frame,
  content: [{ type: "text", text: "Done." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
});
const resultMark = '"tool_use_id":"toolu_1"';

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  // Only the end is looked at: a provider's own work is not what is measured.
  const wantsMore =
    request.headers["x-bench-look"] === "1" && !body.subarray(-4096).includes(resultMark);
  const answer = wantsMore ? looking : done;
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer),
    "x-bench-bytes": String(body.length),
  });
  response.end(answer);
}

const server = createServer((request, response) => void respond(request, response));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  greet({ port: (server.address() as AddressInfo).port });
});
