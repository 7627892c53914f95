/**
 * What a proxy costs at least. `pass`: bytes go through as they come. `parse`: request and JSON answer are
 * parsed and written again, as gateways do. Runs as a child process: mode and origin of the upstream.
 */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { greet } from "./processes.ts";

const [mode = "pass", origin = ""] = process.argv.slice(2);
const agent = new Agent({ connections: 512, pipelining: 1 });
const dropped = new Set(["connection", "host", "keep-alive", "transfer-encoding"]);

function kept(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const rest: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !dropped.has(name)) rest[name] = value;
  }
  return rest;
}

function writtenAgain(json: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(json.toString("utf8"))));
}

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isParsing = mode === "parse";
  const body = isParsing ? writtenAgain(await buffer(request)) : request;
  const headers = kept(request.headers);
  if (Buffer.isBuffer(body)) headers["content-length"] = String(body.length);
  const path = request.url ?? "/";
  const answer = await agent.request({ origin, path, method: "POST", headers, body });
  const isJson = String(answer.headers["content-type"]).includes("json");
  if (!isParsing || !isJson) {
    response.writeHead(answer.statusCode, kept(answer.headers));
    answer.body.pipe(response);
    return;
  }
  const again = writtenAgain(await buffer(answer.body));
  const length = { "content-length": String(again.length) };
  response.writeHead(answer.statusCode, { ...kept(answer.headers), ...length });
  response.end(again);
}

const server = createServer((request, response) => {
  forward(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  greet({ port: (server.address() as AddressInfo).port });
});
