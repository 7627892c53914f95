/** `plimsoll mcp`: the MCP server on standard input and output, for the owner of the data folder. */

import { PassThrough, pipeline, type Readable, type Writable } from "node:stream";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type McpServer,
  type RequestId,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { mcpServerOver } from "../../server/mcp/mcp-server.ts";
import type { McpHome } from "../../server/mcp/tools.ts";
import { createOwnAnswers } from "../../session/lookup/answer-own-call.ts";
import { loadWordVectors } from "../../session/models/word-vectors.ts";
import { harmless } from "../../text/unseen.ts";
import { openWork } from "../console/command-work.ts";
import { openToRead } from "../console/open-store.ts";
import { compactStored } from "./steer.ts";

const tokenizerId = "tiktoken:o200k_base";

/** Maximum time for running calls to finish after the input has ended. */
const lastAnswersMs = 30_000;

/** Standard output is used only for the protocol. Everything else is printed to standard error. */
export async function runMcp(flags: Flags, version: string): Promise<void> {
  const settings = loadSettings(flags, process.env);
  const home = createHome(settings);
  const { work, close } = openWork(settings);
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());
  await serveStreams({
    input: process.stdin,
    output: process.stdout,
    server: () => mcpServerOver(home.open, { tenant: undefined, version, work }),
    stopped: stopped.signal,
    lastAnswersMs,
  });
  await home.close();
  await close();
}

export interface ServedStreams {
  readonly input: Readable;
  readonly output: Writable;
  readonly server: () => McpServer;
  /** When aborted, ends the server immediately, even if calls are running. */
  readonly stopped: AbortSignal;
  readonly lastAnswersMs: number;
}

/**
 * Contract: ends when the input or the output ends. Requests that arrived before the end of the input are still answered, if
 * there is time.
 */
export async function serveStreams(streams: ServedStreams): Promise<void> {
  const { input, output, server, stopped } = streams;
  const unanswered = createUnanswered();
  const over = new AbortController();
  // When its input ends, the transport drops running calls. So Plimsoll passes the end of the input on only after these calls are
  // answered.
  const bufferedInput = new PassThrough({
    flush: (done) => {
      const settle = (): Promise<void> => unanswered.settled(streams.lastAnswersMs, over.signal);
      // Waits for the next turn of the event loop, because by then all buffered input has been read.
      setImmediate(() => void settle().then(() => done()));
    },
  });
  const transport = new StdioServerTransport(bufferedInput, output);
  const serving = serveStdio(server, {
    transport,
    onerror: ({ message }) => console.error(harmless(`plimsoll: ${message}`)),
  });
  const ended = Promise.withResolvers<void>();
  const { onclose, onmessage } = transport;
  transport.onclose = () => {
    onclose?.();
    ended.resolve();
  };
  transport.onmessage = (message) => {
    unanswered.received(message);
    onmessage?.(message);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message).finally(() => unanswered.sent(message));
  };
  stopped.addEventListener("abort", () => ended.resolve(), { once: true });
  // If the input breaks off, the buffered input ends too, and the transport reports the break.
  pipeline(input, bufferedInput, () => undefined);
  await ended.promise;
  over.abort();
  await serving.close();
  bufferedInput.destroy();
}

interface Unanswered {
  received(message: JSONRPCMessage): void;
  sent(message: JSONRPCMessage): void;
  /** Resolves when all requests are answered, when `mostMs` have passed, or when `over` is aborted. Contract: never rejects. */
  settled(mostMs: number, over: AbortSignal): Promise<void>;
}

/** A request that never ends, because it reports changes for as long as the client listens. */
const endless = "subscriptions/listen";

/** The requests of one client that have not been answered yet. */
function createUnanswered(): Unanswered {
  const open = new Set<RequestId>();
  let onIdle: (() => void) | undefined;
  const remove = (id: unknown): void => {
    open.delete(id as RequestId);
    if (open.size === 0) onIdle?.();
  };
  return {
    received: (message) => {
      if (isJSONRPCRequest(message) && message.method !== endless) open.add(message.id);
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled")
        remove(message.params?.["requestId"]);
    },
    sent: (message) => {
      if (isJSONRPCResponse(message)) remove(message.id);
    },
    settled: (mostMs, over) => {
      if (open.size === 0 || over.aborted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, mostMs);
      over.addEventListener("abort", () => resolve(), { once: true });
      onIdle = resolve;
      return promise.finally(() => clearTimeout(timer));
    },
  };
}

interface Home {
  /** Opens the store on the first call. Contract: if opening fails, the next call tries again. */
  readonly open: () => Promise<McpHome>;
  readonly close: () => Promise<void>;
}

interface OpenHome extends McpHome {
  readonly close: () => Promise<void>;
}

/** Clients start their MCP servers before anything is recorded, so the store is opened only with the first call. */
function createHome(settings: Settings): Home {
  let opening: Promise<OpenHome> | undefined;
  return {
    open: () => {
      opening ??= openHome(settings).catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    close: async () => {
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
}

async function openHome(settings: Settings): Promise<OpenHome> {
  const tokenizer = await loadTokenizer(tokenizerId);
  const vectors = await loadWordVectors();
  const store = await openToRead(settings);
  const own = createOwnAnswers({
    store,
    count: (text) => tokenizer.count(text).tokens,
    pageBytes: settings.config.agent?.read_result_bytes,
    ...(vectors === undefined ? {} : { vectors }),
  });
  return {
    store,
    own,
    compact: (session) => compactStored(settings, session),
    close: async () => {
      await own.close();
      await store.close();
    },
  };
}
