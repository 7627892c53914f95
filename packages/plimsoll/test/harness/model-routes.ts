/** The paths of the scripted provider for conversations: the wire of each, its judge, and what the path itself says. */
import type { Issued } from "./issued.ts";
import type { JsonObject, Wire } from "./json.ts";
import type { Finding } from "./judge.ts";
import { judgeAnthropic } from "./judge-anthropic.ts";
import { judgeChat } from "./judge-chat.ts";
import { judgeGemini } from "./judge-gemini.ts";
import { judgeResponses } from "./judge-responses.ts";

export interface ModelRoute {
  readonly wire: Wire;
  readonly judge: (body: unknown, issued: Issued) => Finding[];
  readonly isCount?: boolean;
  /** The fields of a request that the path says. */
  readonly fields?: JsonObject;
  /** A stream of this route is a JSON array. */
  readonly isArray?: boolean;
}

const ROUTES: ReadonlyMap<string, ModelRoute> = new Map<string, ModelRoute>([
  [
    "/v1/messages",
    { wire: "anthropic", judge: (body, issued) => judgeAnthropic(body, "messages", issued) },
  ],
  [
    "/v1/messages/count_tokens",
    { wire: "anthropic", judge: (body) => judgeAnthropic(body, "count_tokens"), isCount: true },
  ],
  ["/v1/chat/completions", { wire: "openai-chat", judge: judgeChat }],
  ["/v1/responses", { wire: "openai-responses", judge: judgeResponses }],
]);

/** Gemini's own service, and Vertex. */
const GEMINI_PATH =
  /^\/v1(?:beta1?)?\/(?:projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/)?models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;

/** Contract: `path` includes the query string. */
export function routeOf(path: string): ModelRoute | undefined {
  const { pathname, searchParams } = new URL(path, "http://localhost");
  const [, model, method] = GEMINI_PATH.exec(pathname) ?? [];
  if (model === undefined) return ROUTES.get(pathname);
  const isCount = method === "countTokens";
  const stream = method === "streamGenerateContent";
  const judged = { model, route: isCount ? "countTokens" : "generateContent" } as const;
  return {
    wire: "gemini",
    judge: (body, issued) => judgeGemini(body, judged, issued),
    isCount,
    fields: { model, stream },
    isArray: stream && searchParams.get("alt") !== "sse",
  };
}
