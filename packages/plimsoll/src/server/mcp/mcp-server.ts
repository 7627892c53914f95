/** An MCP server with Plimsoll's tools, for one client or one request. */

import {
  type CallToolResult,
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Engine } from "../../engine.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject } from "../../message/json.ts";
import { mcpTexts } from "../../text/mcp-texts.ts";
import type { McpAnswer, McpToolFace } from "./tool-face.ts";
import { type McpHome, mcpTools } from "./tools.ts";
import { type McpWork, workTools } from "./work-tools.ts";

interface ServerFor {
  readonly tenant: string | undefined;
  readonly version: string | undefined;
  /** The tasks and tickets of this tenant. */
  readonly work: McpWork;
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

/** `open` is called for each call of a tool that reads conversations. If it fails, only that call fails. */
export function mcpServerOver(
  open: () => Promise<McpHome>,
  { tenant, version = "0.0.0", work }: ServerFor,
): McpServer {
  const server = new McpServer(
    { name: "plimsoll", title: "Plimsoll", version },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: mcpTexts.instructions,
      cacheHints: { "tools/list": lasting, "server/discover": lasting },
    },
  );
  for (const tool of mcpTools)
    register(server, tool, async (input) => tool.answer({ home: await open(), tenant, input }));
  for (const tool of workTools)
    register(server, tool, (input, signal) => tool.answer({ work, input, signal }));
  return server;
}

type Answering = (input: JsonObject, signal: AbortSignal) => Promise<McpAnswer>;

function register(server: McpServer, tool: McpToolFace, answering: Answering): void {
  const { title, description, annotations, output, whileItRuns = mcpTexts.stillWorking } = tool;
  server.registerTool(
    tool.name,
    {
      title,
      description,
      annotations,
      inputSchema: fromJsonSchema(tool.parameters, anyObject),
      outputSchema: output,
    },
    async (input, { mcpReq }) => {
      const stop = reportProgress(mcpReq, whileItRuns);
      try {
        const answer = answering(isObject(input) ? input : {}, mcpReq.signal);
        return resultOf(await answer.catch(failed));
      } finally {
        stop();
      }
    },
  );
}

/** Clients wait about a minute for an answer, and longer as long as they hear of progress. */
const progressMs = 1000;

/** Tells the client every second that the call still runs, if the client asked for it. Returns a function that ends this. */
function reportProgress({ _meta, notify }: ServerContext["mcpReq"], message: string): () => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let seconds = 0;
  const timer = setInterval(() => {
    seconds++;
    const params = { progressToken, progress: seconds, message };
    // A client that has left gets no progress.
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  }, progressMs);
  return () => clearInterval(timer);
}

/** Cache settings for answers that are the same for every client and change only with Plimsoll's version. */
const lasting = { ttlMs: 3_600_000, cacheScope: "public" } as const;

/** Accepts any object. The tools read their arguments leniently, field by field, and describe any mistake in a sentence. */
const anyObject: jsonSchemaValidator = {
  getValidator: () => (input) => ({
    valid: true,
    data: input as never,
    errorMessage: undefined,
  }),
};

/** Only Plimsoll's own sentences may go to a model. Other messages may reveal file names. */
function failed(error: unknown): McpAnswer {
  const reason = PlimsollError.is(error) ? errorMessage(error) : "Something went wrong here.";
  return { kind: "failed", sentence: reason };
}

/** Returns the answer as structured content and as text, for clients that do not support structured content. */
function resultOf(answer: McpAnswer): CallToolResult {
  if (answer.kind === "failed")
    return { content: [{ type: "text", text: answer.sentence }], isError: true };
  const { content } = answer;
  return { content: [{ type: "text", text: JSON.stringify(content) }], structuredContent: content };
}
