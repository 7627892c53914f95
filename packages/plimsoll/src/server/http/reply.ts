/** The service's own answers: JSON, text, and errors in the format that the caller knows. */

import type { ServerResponse } from "node:http";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { Wire } from "../../wire/format/wire.ts";

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}

export function sendText(
  response: ServerResponse,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  response.writeHead(200, {
    "content-type": type,
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

/** Sends an error: in the wire's own format on its routes, and as `{ error: { code, message } }` elsewhere. */
export function sendError(response: ServerResponse, error: unknown, wire?: Wire): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known = PlimsollError.is(error)
    ? error
    : new PlimsollError("INTERNAL", `Plimsoll failed: ${errorMessage(error)}`);
  const body = wire?.errors.body(known.status, known.message) ?? {
    error: { code: known.code, message: known.message },
  };
  // The rest of a refused body is never read, so the connection cannot be used again.
  if (!response.req.complete) response.setHeader("connection", "close");
  // Tells clients not to retry, because the same request would fail again.
  if (wire !== undefined && known.status < 500) response.setHeader("x-should-retry", "false");
  sendJson(response, known.status, body);
}
