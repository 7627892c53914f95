/** An MCP server with Plimsoll's tools, for one client or one request. */

import {
  type CallToolResult,
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
} from "@modelcontextprotocol/server";
import type { Engine } from "../../engine.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject } from "../../message/json.ts";
import { type McpAnswer, type McpHome, type McpTool, mcpTools } from "./tools.ts";

interface ServerFor {
  readonly tenant: string | undefined;
  readonly version: string | undefined;
}

/** Lets the MCP tools work on an engine that is already open. */
export function homeIn({
  store,
  own,
  steering,
}: Pick<Engine, "store" | "own" | "steering">): () => Promise<McpHome> {
  const home: McpHome = { store, own, compact: (session) => steering.compact(session, {}) };
  return () => Promise.resolve(home);
}

/** `open` is called for each tool call. If it fails, only that call fails. */
export function mcpServerOver(
  open: () => Promise<McpHome>,
  { tenant, version = "0.0.0" }: ServerFor,
): McpServer {
  const server = new McpServer(
    { name: "plimsoll", title: "Plimsoll", version },
    {
      capabilities: { tools: { listChanged: false } },
      instructions,
      cacheHints: { "tools/list": lasting, "server/discover": lasting },
    },
  );
  for (const tool of mcpTools) {
    const { title, description, annotations, output } = tool;
    server.registerTool(
      tool.name,
      {
        title,
        description,
        annotations,
        inputSchema: fromJsonSchema(tool.parameters, anyObject),
        outputSchema: output,
      },
      async (input) => resultOf(await answered(tool, open, { tenant, input })),
    );
  }
  return server;
}

/** Cache settings for answers that are the same for every client and change only with Plimsoll's version. */
const lasting = { ttlMs: 3_600_000, cacheScope: "public" } as const;

const instructions =
  "Plimsoll keeps conversations inside their model's window, and stores everything that it moves out. Use read_result to read a handle (pl_…) or a message number (#12) from the conversation, recall to search everything that was said, session_status to see how full the window is, and compact_context to make room.";

/** Accepts any object. The tools read their arguments leniently, field by field, and describe any mistake in a sentence. */
const anyObject: jsonSchemaValidator = {
  getValidator: () => (input) => ({
    valid: true,
    data: input as never,
    errorMessage: undefined,
  }),
};

async function answered(
  tool: McpTool,
  open: () => Promise<McpHome>,
  { tenant, input }: { readonly tenant: string | undefined; readonly input: unknown },
): Promise<McpAnswer> {
  try {
    return await tool.answer({ home: await open(), tenant, input: isObject(input) ? input : {} });
  } catch (error) {
    // Only Plimsoll's own sentences may go to a model. Other messages may reveal file names.
    const reason = PlimsollError.is(error) ? errorMessage(error) : "Something went wrong here.";
    return { kind: "failed", sentence: reason };
  }
}

/** Returns the answer as structured content and as text, for clients that do not support structured content. */
function resultOf(answer: McpAnswer): CallToolResult {
  if (answer.kind === "failed")
    return { content: [{ type: "text", text: answer.sentence }], isError: true };
  const { content } = answer;
  return { content: [{ type: "text", text: JSON.stringify(content) }], structuredContent: content };
}
