/** The service on one port: model routes, API, events, MCP and metrics. Limits and shutdown are here. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BoundedMap } from "../bounds/bounded-map.ts";
import type { Config } from "../config/schema.ts";
import type { Engine } from "../engine.ts";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { baseUrls, type ServedVendor } from "../wire/vendors.ts";
import { wires } from "../wire/wires.ts";
import { answerApi } from "./api/api.ts";
import { answerConfig } from "./api/config.ts";
import { serveEvents } from "./api/events.ts";
import { steerSession } from "./api/steer.ts";
import { type Dashboard, loadDashboard, serveDashboard } from "./dashboard.ts";
import {
  type Access,
  checkBearer,
  checkModelCaller,
  checkOrigin,
  checkOwner,
  isLoopbackHost,
  maxKnownTenants,
} from "./http/checks.ts";
import { sendError, sendJson, sendText } from "./http/reply.ts";
import { type Routed, routeRequest, upstreamUrl } from "./http/route.ts";
import type { McpRoute } from "./mcp/route.ts";
import { type Gateway, handleCount, handleModel, handleRelay } from "./proxy/model-route.ts";
import { createUpstreamAgent } from "./proxy/relay.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";

export interface ServerOptions {
  readonly engine: Engine;
  readonly config: Config;
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly storeKey: Uint8Array;
  /** Path of the user's own configuration file, whether or not it exists. */
  readonly configFile: string;
  readonly version: string;
  readonly warn: (message: string) => void;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Gives running answers some time to finish. */
  close(): Promise<void>;
}

/** Maximum time for a client to send its headers or its body (threat T15). */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 120_000;
const maxConnections = 10_000;
/** Running answers get this long to finish, well within the time that supervisors allow before they kill a process. */
const shutdownMs = 2500;

interface Service extends ServerOptions {
  readonly access: Access;
  readonly metrics: Metrics;
  readonly dashboard: Dashboard;
  readonly mcp: () => Promise<McpRoute>;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  readonly gateway: Gateway;
  readonly providers: ReadonlyMap<string, ServedVendor>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const agent = createUpstreamAgent();
  const upstreams = upstreamsOf(options.config);
  const metrics = createMetrics(options.engine, new Set(upstreams.keys()));
  const mcp = openMcp(options);
  const closing = new AbortController();
  const service: Service = {
    ...options,
    access: {
      ownerToken: options.token,
      tokens: new Map(Object.entries(options.config.tokens ?? {})),
      storeKey: options.storeKey,
      knownTenants: new BoundedMap({ entries: maxKnownTenants }),
      isLoopback: isLoopbackHost(options.host),
      allowedHosts: (options.config.server?.allowed_hosts ?? []).map((host) => host.toLowerCase()),
    },
    metrics,
    dashboard: loadDashboard(),
    mcp: mcp.route,
    closing: closing.signal,
    providers: new Map([...upstreams].map(([name, { wire }]) => [name, wire])),
    gateway: {
      engine: options.engine,
      agent,
      warn: options.warn,
      observeOverhead: metrics.observeOverhead,
      upstream: (provider, path) => upstreamUrl(upstreams.get(provider)?.baseUrl ?? "", path),
    },
  };
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxHeaderSize: 64 * 1024,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2000,
    },
    (request, response) => void handle(service, request, response),
  );
  server.maxConnections = maxConnections;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    port,
    close: async () => {
      closing.abort();
      await mcp.close();
      await closeServer(server);
      await agent.destroy();
    },
  };
}

/** MCP is loaded with its first request, because most services never get one. */
function openMcp({ engine, version, warn }: ServerOptions): {
  readonly route: () => Promise<McpRoute>;
  readonly close: () => Promise<void>;
} {
  let opening: Promise<McpRoute> | undefined;
  const open = async (): Promise<McpRoute> =>
    (await import("./mcp/route.ts")).createMcpRoute(engine, { version, warn });
  return {
    route: () => {
      opening ??= open();
      return opening;
    },
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

/** The base URL of each provider, by its name. */
export function upstreamsOf(
  config: Config,
): ReadonlyMap<string, { readonly wire: ServedVendor; readonly baseUrl: string }> {
  const upstreams = new Map(
    Object.entries(baseUrls).map(([name, baseUrl]) => [
      name,
      { wire: name as ServedVendor, baseUrl },
    ]),
  );
  for (const [name, settings] of Object.entries(config.providers ?? {})) {
    const vendor = upstreams.get(name);
    const wire = settings.wire ?? vendor?.wire ?? "openai";
    const baseUrl = settings.baseUrl ?? vendor?.baseUrl;
    if (baseUrl === undefined) {
      throw new PlimsollError(
        "CONFIG_INVALID",
        `providers.${name} needs a baseUrl, the address to which its requests are sent.`,
      );
    }
    upstreams.set(name, { wire, baseUrl });
  }
  return upstreams;
}

function listen(server: Server, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const isTaken = "code" in cause && cause.code === "EADDRINUSE";
      const message = isTaken
        ? `Port ${port} on ${host} is already in use. Stop the program that uses it, or choose another port with --port.`
        : `Cannot listen on ${host}:${port}: ${errorMessage(cause)}.`;
      reject(new PlimsollError("LISTEN_FAILED", message, { cause }));
    });
    server.listen(port, host, resolve);
  });
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), shutdownMs);
  await closed;
  clearTimeout(timer);
}

async function handle(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const routed = routeRequest({
    method: request.method ?? "GET",
    url: request.url ?? "/",
    headers: request.headers,
    providers: service.providers,
  });
  const wire = "wire" in routed.route ? wires[routed.route.wire] : undefined;
  response.on("error", (error) =>
    service.warn(`An answer could not be sent: ${errorMessage(error)}`),
  );
  try {
    checkOrigin(request, service.access);
    refuseWebSocket(request);
    await answer(service, routed, { request, response });
  } catch (error) {
    if (request.destroyed && !request.complete) {
      response.destroy();
      return;
    }
    if (!PlimsollError.is(error))
      service.warn(`A request failed: ${error instanceof Error ? error.stack : error}`);
    sendError(response, error, wire);
  }
}

/** Codex tries a WebSocket first and understands this answer as "use HTTP". */
function refuseWebSocket(request: IncomingMessage): void {
  if (request.headers.upgrade?.toLowerCase() !== "websocket") return;
  throw new PlimsollError("NOT_FOUND", "WebSockets are not supported. Use HTTP.", { status: 426 });
}

function checkReading(request: IncomingMessage): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  throw new PlimsollError("METHOD_NOT_ALLOWED", "This path accepts only GET.", { status: 405 });
}

/** The service still answers requests while it is failing, but it does not store them. */
function sendHealth({ engine, version }: Service, response: ServerResponse): void {
  const { problems, notices } = engine.health;
  const versionAndNotices = { version, ...(notices.length === 0 ? {} : { notices }) };
  if (problems.length === 0) sendJson(response, 200, { status: "ok", ...versionAndNotices });
  else sendJson(response, 503, { status: "failing", ...versionAndNotices, problems });
}

async function answer(
  service: Service,
  { route, query, pathToken }: Routed,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const { engine, access, metrics, gateway } = service;
  const mayWrite = ["model", "count", "relay", "unknown", "api", "mcp"].includes(route.kind);
  if (!mayWrite) checkReading(request);
  switch (route.kind) {
    case "model":
      return handleModel(
        gateway,
        { request, response, caller: checkModelCaller(request, access, pathToken) },
        route,
      );
    case "count":
      return handleCount(
        gateway,
        { request, response, caller: checkModelCaller(request, access, pathToken) },
        route,
      );
    case "relay":
      return handleRelay(
        gateway,
        { request, response, caller: checkModelCaller(request, access, pathToken) },
        route,
      );
    case "health":
      return sendHealth(service, response);
    case "hello":
      return sendText(response, "");
    case "metrics":
      checkOwner(checkBearer(request, access));
      return sendText(response, await metrics.render(), metrics.contentType);
    case "events":
      return serveEvents(
        engine,
        { request, response, caller: checkBearer(request, access), closing: service.closing },
        query,
      );
    case "mcp": {
      const caller = checkBearer(request, access);
      return (await service.mcp()).handle({ request, response, caller });
    }
    case "api": {
      const caller = checkBearer(request, access);
      if (
        route.segments.join("/") === "config" &&
        ["GET", "HEAD", "PUT"].includes(request.method ?? "")
      )
        return sendJson(
          response,
          200,
          await answerConfig(engine, { request, caller, file: service.configFile }),
        );
      if (request.method === "POST") {
        const answer = await steerSession(engine, { request, segments: route.segments, caller });
        return sendJson(response, 200, answer);
      }
      checkReading(request);
      return sendJson(
        response,
        200,
        await answerApi(engine, { segments: route.segments, query, caller }),
      );
    }
    case "page":
      return serveDashboard(service.dashboard, route.path, { request, response });
    case "root":
      if (service.dashboard.has("/"))
        return serveDashboard(service.dashboard, "/", { request, response });
      return sendText(
        response,
        request.method === "HEAD"
          ? ""
          : `Plimsoll ${service.version} is running. Point your agent's base URL here. The dashboard is not built: \`npm start\` builds it.\n`,
      );
    case "unknown":
      throw new PlimsollError("NOT_FOUND", "There is nothing at this path.", { status: 404 });
  }
}
