/**
 * `/mcp`: MCP over HTTP, for clients with a handshake (2025) and without one (2026-07-28). Every request gets a new server, so a
 * client has no stream to GET and no session to DELETE.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server";
import type { Engine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { type Caller, checkJson } from "../http/checks.ts";
import { homeIn, mcpServerOver } from "./mcp-server.ts";

export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

export interface McpRoute {
  /** Contract: rejects with a PlimsollError that has the HTTP status. */
  handle(exchange: McpExchange): Promise<void>;
  /** Ends open streams. */
  close(): Promise<void>;
}

/** Maximum size of a body. The longest calls contain the description of a ticket. */
const maxBodyBytes = 1024 * 1024;
/** A larger body is read up to this size and dropped, because most clients read no answer before they have sent everything. */
const readBytesMost = 64 * 1024 * 1024;
/** Maximum number of streams on which clients wait for changes. Plimsoll has no changes to report. */
const maxSubscriptions = 100;
/** Maximum number of characters of a warning, because a warning may quote the client's input. */
const warningMax = 300;

export function createMcpRoute(
  engine: Engine,
  { version, warn }: { readonly version: string; readonly warn: (message: string) => void },
): McpRoute {
  const home = homeIn(engine);
  // Creates a new server for each request. If two clients shared a server, it would send the answers of one to the other
  // (CVE-2026-25536).
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const caller = callerOf(authInfo);
      const tenant = caller.isOwner ? undefined : caller.tenant;
      return mcpServerOver(home, { version, tenant, work: engine.work.of(caller) });
    },
    { maxSubscriptions, onerror: ({ message }) => warn(`MCP: ${message.slice(0, warningMax)}`) },
  );
  return {
    handle: async ({ request, response, caller }) => {
      checkJson(request);
      const body = await readBody(request);
      const leaving = new AbortController();
      response.once("close", () => leaving.abort());
      const answer = await handler.fetch(
        new Request("http://127.0.0.1/mcp", {
          method: "POST",
          headers: headersOf(request),
          body,
          signal: leaving.signal,
        }),
        { authInfo: authInfoOf(caller) },
      );
      await send(answer, response, leaving.signal);
    },
    close: () => handler.close(),
  };
}

const ownerScope = "owner";

/** The caller in the form that MCP uses, without the token. */
function authInfoOf({ tenant, isOwner }: Caller): AuthInfo {
  return { token: "", clientId: tenant, scopes: isOwner ? [ownerScope] : [] };
}

/** Contract: throws if the request has no caller, so that nobody is the owner by default. */
function callerOf(authInfo: AuthInfo | undefined): Caller {
  if (authInfo === undefined)
    throw new PlimsollError(
      "UNAUTHORIZED",
      "Plimsoll cannot tell who sent this request. Send a token as `Authorization: Bearer …`.",
      { status: 401 },
    );
  return { tenant: authInfo.clientId, isOwner: authInfo.scopes.includes(ownerScope) };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers["content-length"] ?? 0) > readBytesMost) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  // The connection stays open, so that a client that sends too much still receives the error.
  const arriving = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of arriving) {
    length += chunk.length;
    if (length > readBytesMost) break;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  if (length > maxBodyBytes) throw tooLarge();
  return new Uint8Array(Buffer.concat(chunks));
}

function tooLarge(): PlimsollError {
  return new PlimsollError(
    "BODY_TOO_LARGE",
    `The body is larger than ${maxBodyBytes} bytes. Send a smaller one.`,
    { status: 413 },
  );
}

/** Only the headers of the protocol, without credentials. */
function headersOf({ headers }: IncomingMessage): Headers {
  const known = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isKnown = name === "accept" || name === "content-type" || name.startsWith("mcp-");
    if (isKnown && value !== undefined) known.set(name, String(value));
  }
  return known;
}

async function send(
  answer: Response,
  response: ServerResponse,
  leaving: AbortSignal,
): Promise<void> {
  if (leaving.aborted) return;
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  if (answer.body === null) {
    response.end();
    return;
  }
  try {
    await pipeline(Readable.fromWeb(answer.body), response);
  } catch (error) {
    if (!leaving.aborted) throw error;
  }
}
