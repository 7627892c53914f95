/**
 * Every route of the service, and who may call it. All other paths are refused. scripts/http-reference.mjs makes docs/http.md
 * from this table.
 */

import type { ServerResponse } from "node:http";
import { modelPaths } from "../wire/vendors.ts";
import { apiRoutes } from "./api/api.ts";
import type { ApiWorld } from "./api/world.ts";
import { type Dashboard, serveDashboard } from "./dashboard.ts";
import { sendJson, sendText } from "./http/reply.ts";
import type { Destination } from "./http/route.ts";
import { type Route, routesOn, type Who } from "./http/route-table.ts";
import type { McpRoute } from "./mcp/route.ts";
import {
  type Exchange,
  type Gateway,
  handleCount,
  handleModel,
  handleRelay,
} from "./proxy/model-route.ts";
import type { Metrics } from "./telemetry/metrics.ts";

export interface ServiceWorld extends ApiWorld {
  readonly version: string;
  readonly metrics: Metrics;
  readonly dashboard: Dashboard;
  readonly mcp: () => Promise<McpRoute>;
}

const route = routesOn<ServiceWorld>();

export const ownRoutes: readonly Route<ServiceWorld>[] = [
  route({
    method: "GET",
    path: "/",
    who: "everyone",
    about: "The dashboard ([dashboard.md](dashboard.md)). HEAD answers 200 while the service runs.",
    query: "any",
    reply: "own",
    handle: ({ world: { dashboard, version }, request, response }) => {
      if (dashboard.has("/")) return serveDashboard(dashboard, "/", { request, response });
      const sentence = `Plimsoll ${version} is running. Point your agent's base URL here. The dashboard is not built: \`npm start\` builds it.\n`;
      return sendText(response, request.method === "HEAD" ? "" : sentence);
    },
  }),
  route({
    method: "GET",
    path: "/assets/{file…}",
    who: "everyone",
    about: "The dashboard's files.",
    query: "any",
    reply: "own",
    handle: ({ world: { dashboard }, params, request, response }) =>
      serveDashboard(dashboard, `/assets/${params["file"]}`, { request, response }),
  }),
  route({
    method: "GET",
    path: "/healthz",
    who: "everyone",
    about:
      '200 `{ status: "ok", version }`, or 503 `{ status: "failing", version, problems }` while the store cannot save. Each problem is a sentence. Requests are answered even then. `notices` lists damage on the disk that Plimsoll has repaired.',
    query: "any",
    reply: "own",
    handle: ({ world, response }) => sendHealth(world, response),
  }),
  route({
    method: "GET",
    path: "/api/hello",
    who: "everyone",
    about: "Answers 200 while the service runs. Clients ask with HEAD.",
    query: "any",
    reply: "own",
    handle: ({ response }) => sendText(response, ""),
  }),
  route({
    method: "GET",
    path: "/metrics",
    who: "owner",
    about: "Metrics for Prometheus ([metrics.md](metrics.md)).",
    query: "any",
    reply: "own",
    handle: async ({ world: { metrics }, response }) =>
      sendText(response, await metrics.render(), metrics.contentType),
  }),
  route({
    method: "POST",
    path: "/mcp",
    who: "token",
    about: "MCP over streamable HTTP, in both generations of the protocol ([mcp.md](mcp.md)).",
    query: "any",
    reply: "own",
    handle: async ({ world, request, response, caller }) =>
      (await world.mcp()).handle({ request, response, caller }),
  }),
  ...apiRoutes,
];

/** While the status is "failing", requests are still answered, but their messages are not stored yet. */
function sendHealth({ engine, version }: ServiceWorld, response: ServerResponse): void {
  const { problems, notices } = engine.health;
  const said = { version, ...(notices.length === 0 ? {} : { notices }) };
  if (problems.length === 0) sendJson(response, 200, { status: "ok", ...said });
  else sendJson(response, 503, { status: "failing", ...said, problems });
}

type ProviderKind = Exclude<Destination["kind"], "own" | "unknown">;

export interface ProviderRoute<K extends ProviderKind> {
  readonly paths: readonly string[];
  readonly who: Exclude<Who, "everyone">;
  readonly about: string;
  readonly handle: (
    gateway: Gateway,
    exchange: Exchange,
    destination: Extract<Destination, { kind: K }>,
  ) => Promise<void>;
}

/**
 * The routes of providers. `http/route.ts` decides which of them a path belongs to. The provider defines the arguments and
 * bodies.
 */
export const providerRoutes: { readonly [K in ProviderKind]: ProviderRoute<K> } = {
  model: {
    paths: modelPaths.filter(({ isCount }) => isCount !== true).map(({ path }) => `POST ${path}`),
    who: "client",
    about:
      "Plimsoll records and measures the conversation, makes it fit, and sends it to the provider. These paths also work without `/v1`, and under `/anthropic`, `/openai`, `/gemini` and `/p/{provider}`. Gemini's paths work with any version, and with the paths of Vertex AI.",
    handle: handleModel,
  },
  count: {
    paths: modelPaths.filter(({ isCount }) => isCount === true).map(({ path }) => `POST ${path}`),
    who: "client",
    about:
      "Counts the tokens of the request that Plimsoll would send. This path also works without `/v1`, and under the same prefixes.",
    handle: handleCount,
  },
  relay: {
    paths: ["any other path below /v1, /v1beta, /anthropic, /openai, /gemini, /p/{provider}"],
    who: "client",
    about:
      "Plimsoll passes the request on unchanged. Under `/v1`, it goes to Anthropic if the request has Anthropic's version header, else to OpenAI. Under `/v1beta`, it goes to Gemini.",
    handle: handleRelay,
  },
};
