/** `plimsoll mcp`: the MCP server on standard input and output, for the owner of the data folder. */

import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { loadTokenizer } from "../budget/tokenizer.ts";
import { mcpServerOver } from "../server/mcp-server.ts";
import type { McpHome } from "../server/mcp-tools.ts";
import { type Flags, loadSettings, type Settings } from "../session/config.ts";
import { createOwnAnswers } from "../session/own-answers.ts";
import { loadWordVectors } from "../session/word-vectors.ts";
import { openToRead } from "./open-store.ts";
import { compactStored } from "./steer.ts";
import { harmless } from "./terminal.ts";

const tokenizerId = "tiktoken:o200k_base";

/** Standard output is the protocol's alone: everything else is said on standard error. */
export async function runMcp(flags: Flags, version: string): Promise<void> {
  const home = createHome(loadSettings(flags, process.env));
  const transport = new StdioServerTransport();
  const ended = Promise.withResolvers<void>();
  const serving = serveStdio(() => mcpServerOver(home.open, { tenant: undefined, version }), {
    transport,
    onerror: ({ message }) => console.error(harmless(`plimsoll: ${message}`)),
  });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    ended.resolve();
  };
  process.once("SIGINT", () => ended.resolve());
  process.once("SIGTERM", () => ended.resolve());
  await ended.promise;
  await serving.close();
  await home.close();
}

interface Home {
  /** Contract: what could not be opened is tried anew the next time. */
  readonly open: () => Promise<McpHome>;
  readonly close: () => Promise<void>;
}

interface OpenHome extends McpHome {
  readonly close: () => Promise<void>;
}

/** Clients start their servers before anything is recorded: the store is opened with the first call. */
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
