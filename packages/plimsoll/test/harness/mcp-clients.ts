/** The official MCP clients of both generations, over both transports, with one interface. */
import { fileURLToPath } from "node:url";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { childEnvironment } from "./child-environment.ts";
import { isObject, type JsonObject } from "./json.ts";

/** The two generations: with a handshake, and without one. */
export const GENERATIONS = ["2025", "2026-07-28"] as const;
type Generation = (typeof GENERATIONS)[number];

/** Where the server is: an address and a token, or a data folder. */
export type McpPlace =
  | { readonly url: string; readonly token: string }
  | { readonly data: string; readonly env?: Readonly<Record<string, string>> };

export interface McpTold {
  readonly isError: boolean;
  /** Text of the only block. */
  readonly text: string;
  readonly structured: JsonObject | undefined;
}

export interface McpCallOptions {
  /** Ends the call before its answer. The promise then rejects. */
  readonly signal?: AbortSignal;
  /** In milliseconds. Starts anew with each notification of progress. */
  readonly timeout?: number;
  readonly onprogress?: () => void;
}

export interface McpClient {
  /** The tools, as the client returns them. */
  list(): Promise<readonly JsonObject[]>;
  call(name: string, input?: JsonObject, options?: McpCallOptions): Promise<McpTold>;
  /** Id of the child process, if there is one. */
  readonly pid: number | undefined;
  readonly version: string | undefined;
  close(): Promise<void>;
}

export const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));

const identity = { name: "plimsoll-test", version: "1.0.0" };

function stdioOf(place: Extract<McpPlace, { data: string }>): {
  command: string;
  args: string[];
  env: Record<string, string>;
  stderr: "ignore";
} {
  const env = childEnvironment({ HOME: place.data, ...place.env });
  const args = [PROGRAM, "mcp", "--data", place.data];
  return { command: process.execPath, args, env, stderr: "ignore" };
}

function initOf({ token }: { readonly token: string }): {
  requestInit: { headers: Record<string, string> };
} {
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}

export function connectMcp(generation: Generation, place: McpPlace): Promise<McpClient> {
  return generation === "2025" ? connectOld(place) : connectModern(place);
}

async function connectOld(place: McpPlace): Promise<McpClient> {
  const client = new OldClient(identity);
  const transport =
    "url" in place
      ? new OldHttp(new URL(`${place.url}/mcp`), initOf(place))
      : new OldStdio(stdioOf(place));
  // The package's types were built without exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    list: async () => (await client.listTools()).tools as unknown as readonly JsonObject[],
    call: async (name, input = {}, options = {}) =>
      told(
        await client.callTool({ name, arguments: input }, undefined, {
          ...options,
          resetTimeoutOnProgress: true,
        }),
      ),
    pid: transport instanceof OldStdio ? (transport.pid ?? undefined) : undefined,
    version: transport instanceof OldHttp ? transport.protocolVersion : "2025",
    close: () => client.close(),
  };
}

async function connectModern(place: McpPlace): Promise<McpClient> {
  const client = new ModernClient(identity, {
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  const transport =
    "url" in place
      ? new ModernHttp(new URL(`${place.url}/mcp`), initOf(place))
      : new ModernStdio(stdioOf(place));
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools as unknown as readonly JsonObject[],
    call: async (name, input = {}, options = {}) =>
      told(
        await client.callTool(
          { name, arguments: { ...input } },
          { ...options, resetTimeoutOnProgress: true },
        ),
      ),
    pid: transport instanceof ModernStdio ? (transport.pid ?? undefined) : undefined,
    version: client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  };
}

function told(result: unknown): McpTold {
  const { content, structuredContent, isError } = result as JsonObject;
  const [block] = Array.isArray(content) ? content : [];
  if (!isObject(block) || typeof block["text"] !== "string")
    throw new Error(`No text in ${JSON.stringify(result)}.`);
  return {
    isError: isError === true,
    text: block["text"],
    structured: isObject(structuredContent) ? structuredContent : undefined,
  };
}
