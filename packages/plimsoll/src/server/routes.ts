/** Every route of the service, with who may call it. What is not here is refused. scripts/http-reference.mjs makes docs/http.md of it. */

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
    about: "The dashboard ([dashboard.md](dashboard.md)); HEAD: somebody is there.",
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
      '200 `{ status: "ok", version }`; 503 `{ status: "failing", version, problems }` while the store does not take what is said, a sentence for each problem: requests are answered all the same. `notices` says what the disk had spoilt and Plimsoll has mended.',
    query: "any",
    reply: "own",
    handle: ({ world, response }) => sendHealth(world, response),
  }),
  route({
    method: "GET",
    path: "/api/hello",
    who: "everyone",
    about: "200: somebody is there. Clients ask by HEAD.",
    query: "any",
    reply: "own",
    handle: ({ response }) => sendText(response, ""),
  }),
  route({
    method: "GET",
    path: "/metrics",
    who: "owner",
    about: "Prometheus ([metrics.md](metrics.md)).",
    query: "any",
    reply: "own",
    handle: async ({ world: { metrics }, response }) =>
      sendText(response, await metrics.render(), metrics.contentType),
  }),
  route({
    method: "POST",
    path: "/mcp",
    who: "token",
    about: "MCP over streamable HTTP, both protocol generations ([mcp.md](mcp.md)).",
    query: "any",
    reply: "own",
    handle: async ({ world, request, response, caller }) =>
      (await world.mcp()).handle({ request, response, caller }),
  }),
  ...apiRoutes,
];

/** Requests are answered all the same; what is said is not stored while it is not ok. */
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

/** Which of them a path is, `http/route.ts` says. Arguments and bodies are the provider's. */
export const providerRoutes: { readonly [K in ProviderKind]: ProviderRoute<K> } = {
  model: {
    paths: modelPaths.filter(({ isCount }) => isCount !== true).map(({ path }) => `POST ${path}`),
    who: "client",
    about:
      "A conversation: recorded, measured, made to fit, and sent to its provider. Also without `/v1`, and under `/anthropic`, `/openai`, `/p/{provider}`.",
    handle: handleModel,
  },
  count: {
    paths: modelPaths.filter(({ isCount }) => isCount === true).map(({ path }) => `POST ${path}`),
    who: "client",
    about: "Counts what would be sent. Under the same paths.",
    handle: handleCount,
  },
  relay: {
    paths: ["any other path below /v1, /v1beta, /anthropic, /openai, /gemini, /p/{provider}"],
    who: "client",
    about:
      "Relayed untouched; under `/v1` to Anthropic when its version header is set, else to OpenAI; `/v1beta` to Gemini.",
    handle: handleRelay,
  },
};
