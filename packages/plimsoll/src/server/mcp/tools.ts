/** The MCP tools for conversations: their descriptions, and the code that answers their calls. */

import { z } from "zod";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { OwnToolName } from "../../offload/own-definitions.ts";
import { ownToolsBeside, readOwnCall } from "../../offload/own-tools.ts";
import { namedSession } from "../../session/inspect/named-session.ts";
import { type StatusStore, statusOf } from "../../session/inspect/status.ts";
import type { OwnAnswers } from "../../session/lookup/answer-own-call.ts";
import { lastScope } from "../../session/lookup/scope.ts";
import type { CompactionDone } from "../../session/steer/compact-now.ts";
import type { SessionRecord, Store } from "../../store/store.ts";
import { mcpTexts } from "../../text/mcp-texts.ts";
import { given, type McpAnswer, type McpToolFace } from "./tool-face.ts";

/** The store and the functions that the tools use. */
export interface McpHome {
  readonly store: StatusStore &
    Pick<Store, "session" | "sessions" | "sessionsBeginning" | "newestSession" | "head">;
  readonly own: Pick<OwnAnswers, "answer">;
  /** Contract: rejects with a PlimsollError that says what to do. */
  readonly compact: (session: string) => Promise<CompactionDone>;
}

export interface McpCall {
  readonly home: McpHome;
  /** The tenant whose sessions are visible. Undefined for the owner, who sees all sessions. */
  readonly tenant: string | undefined;
  readonly input: JsonObject;
}

export interface McpTool extends McpToolFace {
  /** Contract: rejects with a PlimsollError if the call cannot be answered. */
  readonly answer: (call: McpCall) => Promise<McpAnswer>;
}

/** Maximum number of tokens of an answer. Clients cut a tool's answer at about 25,000 tokens, which include JSON escapes. */
const roomTokens = 20_000;

const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

const answerText = z.object({
  session: z.string().optional().describe("The session of the content, if it had to be looked up."),
  text: z.string(),
});

const count = z.number().int();
const compacted = z.object({
  session: z.string(),
  tokensBefore: count,
  tokensAfter: count,
  messagesBefore: count.describe("Number of messages in the window."),
  messagesAfter: count.describe("Number of messages in the window."),
  strategies: z.array(z.string()),
});

const status = z.object({
  session: z.string(),
  agent: z.string().optional(),
  createdAt: z.string(),
  updatedAt: z.string(),
  turns: count,
  messages: count,
  messagesShown: count.describe("Number of messages that the model still sees."),
  context: z
    .object({
      model: z.string(),
      window: count,
      isWindowGuess: z.literal(true).optional().describe("The size of the window is assumed."),
      limit: count.describe("Maximum number of tokens of a request."),
      used: count,
      remaining: count,
      percentage: z.number().describe("Used tokens, in percent of the limit."),
      certainty: z.enum(["exact", "estimate", "bound"]),
      components: z.object({ system: count, skills: count, tools: count, conversation: count }),
    })
    .optional()
    .describe("Token counts of the conversation as it was last sent."),
  editsMade: count,
  editsThatHold: count,
  handles: z
    .array(z.string())
    .describe("Handles of content that left the window, newest first. read_result opens them."),
  lastCompaction: z
    .object({
      at: z.string(),
      reason: z.string(),
      strategies: z.array(z.string()),
      tokensBefore: count,
      tokensAfter: count,
    })
    .optional(),
});

const own = ownToolsBeside(new Set());
const definitions = new Map(own.definitions.map((definition) => [definition.name, definition]));

function definitionOf(tool: OwnToolName): Pick<McpTool, "name" | "description" | "parameters"> {
  const { description = "", parameters } = definitions.get(tool) ?? { parameters: {} };
  return { name: tool, description, parameters: withSession(parameters) };
}

function withSession(parameters: JsonObject): JsonObject {
  const properties = parameters["properties"];
  const session: JsonValue = {
    type: "string",
    description: mcpTexts.session,
  };
  return { ...parameters, properties: { ...(isObject(properties) ? properties : {}), session } };
}

/** The tools, always in this order, because a changed list invalidates the prompt cache of the client's model. */
export const mcpTools: readonly McpTool[] = [
  {
    ...definitionOf("read_result"),
    title: "Read what left the window",
    output: answerText,
    annotations: reads,
    answer: async (call) => {
      const asked = readOwnCall("read_result", textOf(call.input));
      // A handle is enough to find its session. The number of a message is not, because every session has its own numbers.
      const isNumber = asked.kind === "read_result" && asked.refId.startsWith("#");
      // Only the owner may open a handle without naming its session.
      const mustChoose = isNumber || isNamed(call) || call.tenant !== undefined;
      const session = mustChoose ? (await chosenSession(call)).id : undefined;
      return answerOwn(call, session, asked);
    },
  },
  {
    ...definitionOf("recall"),
    title: "Search what was said",
    output: answerText,
    annotations: reads,
    answer: async (call) => {
      const asked = readOwnCall("recall", textOf(call.input));
      return answerOwn(call, (await chosenSession(call)).id, asked);
    },
  },
  {
    ...definitionOf("compact_context"),
    title: "Make room in the window",
    output: compacted,
    annotations: { ...reads, readOnlyHint: false, idempotentHint: false },
    answer: async (call) => {
      const session = await chosenSession(call);
      const { tokensBefore, tokensAfter, messagesBefore, messagesAfter, strategies } =
        await call.home.compact(session.id);
      return given({
        session: session.id,
        tokensBefore,
        tokensAfter,
        messagesBefore,
        messagesAfter,
        strategies,
      });
    },
  },
  {
    name: "session_status",
    title: "Show how full the window is",
    description: mcpTexts.sessionStatus,
    parameters: withSession({ type: "object", required: [], additionalProperties: false }),
    output: status,
    annotations: reads,
    answer: async (call) => given(await statusOf(call.home.store, await chosenSession(call))),
  },
];

/** The arguments as JSON, without `session`, because this file chooses the session. */
function textOf({ session: _, ...input }: JsonObject): string {
  return JSON.stringify(input);
}

async function answerOwn(
  { home, tenant }: McpCall,
  session: string | undefined,
  asked: ReturnType<typeof readOwnCall>,
): Promise<McpAnswer> {
  const scope = session === undefined ? undefined : await lastScope(home.store, session);
  const { text, isError } = await home.own.answer({ tenant, session, scope, roomTokens }, asked);
  if (isError) return { kind: "failed", sentence: text };
  return given({ ...(session === undefined ? {} : { session }), text });
}

function whichSession(): PlimsollError {
  return new PlimsollError("USAGE", mcpTexts.severalSessions, { status: 400 });
}

/** Whether the call names a session. Null and an empty text mean that it does not, because some models fill in every field. */
function isNamed({ input: { session } }: McpCall): boolean {
  return session !== undefined && session !== null && session !== "";
}

/**
 * The session that the call names, or the newest one. A session of another tenant is reported as missing, so that nobody learns
 * that it exists.
 */
async function chosenSession(call: McpCall): Promise<SessionRecord> {
  const { home, tenant, input } = call;
  const { session: id } = input;
  if (!isNamed(call)) {
    // The newest session may belong to another person with the same token.
    const several = tenant === undefined ? [] : await home.store.sessions({ tenant, limit: 2 });
    if (several.length > 1) throw whichSession();
    const newest = await home.store.newestSession(tenant);
    if (newest !== undefined) return newest;
    throw new PlimsollError("NOT_FOUND", mcpTexts.noSession);
  }
  return namedSession(home.store, {
    id: typeof id === "string" ? id : "",
    tenant,
    otherwise: mcpTexts.unknownSession,
  });
}
