/**
 * The service on one port: model routes, API, events, MCP and metrics. This file sets the time limits and shuts the service down.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BoundedMap } from "../bounds/bounded-map.ts";
import type { Config } from "../config/schema.ts";
import { openSettingsFile } from "../config/settings-file.ts";
import type { Engine } from "../engine.ts";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { createPrices } from "../session/measure/prices.ts";
import type { Vendor, Wire } from "../wire/format/wire.ts";
import { baseUrls } from "../wire/vendors.ts";
import { wires } from "../wire/wires.ts";
import { loadDashboard } from "./dashboard.ts";
import { type Access, checkOrigin, isLoopbackHost, maxKnownTenants } from "./http/checks.ts";
import { authorise, dispatch } from "./http/dispatch.ts";
import { sendError } from "./http/reply.ts";
import { type Routed, routeRequest, upstreamUrl } from "./http/route.ts";
import { areasOf } from "./http/route-table.ts";
import type { McpRoute } from "./mcp/route.ts";
import { createFailOverAllowances } from "./proxy/fail-over.ts";
import type { Exchange, Gateway } from "./proxy/model-route.ts";
import { createUpstreamAgent } from "./proxy/relay.ts";
import { ownRoutes, providerRoutes, type ServiceWorld } from "./routes.ts";
import { createMetrics } from "./telemetry/metrics.ts";

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
  /** Resolves when no request has been open for so many milliseconds. An open event stream is an open request. */
  unused(milliseconds: number): Promise<void>;
  /** Stops the service. Running answers get some time to finish. */
  close(): Promise<void>;
}

/** Maximum time for a client to send its headers, and to send its body (threat T15). */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 120_000;
const maxConnections = 10_000;
/** Time for running answers to finish. Supervisors wait much longer than this before they kill a process. */
const shutdownMs = 2500;

interface Service extends ServerOptions, ServiceWorld {
  readonly access: Access;
  readonly gateway: Gateway;
  readonly providers: ReadonlyMap<string, Vendor>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const agent = createUpstreamAgent();
  const upstreams = upstreamsOf(options.config);
  const upstream = (provider: string, path: string): URL =>
    upstreamUrl(upstreams.get(provider)?.baseUrl ?? "", path);
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
    settingsFile: openSettingsFile(options.configFile),
    dashboard: loadDashboard(),
    mcp: mcp.route,
    closing: closing.signal,
    providers: new Map([...upstreams].map(([name, { wire }]) => [name, wire])),
    gateway: {
      engine: options.engine,
      agent,
      warn: options.warn,
      observeOverhead: metrics.observeOverhead,
      failOver: {
        agent,
        upstream,
        pricesOf: createPrices(options.config),
        allowances: createFailOverAllowances(),
        config: () => options.config,
        env: process.env,
      },
      upstream,
    },
  };
  const use = watchUse();
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxHeaderSize: 64 * 1024,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2000,
    },
    (request, response) => {
      use.begin(response);
      void handle(service, request, response);
    },
  );
  server.maxConnections = maxConnections;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    port,
    unused: use.unused,
    close: async () => {
      closing.abort();
      await mcp.close();
      await closeServer(server);
      await agent.destroy();
    },
  };
}

interface Use {
  begin(response: ServerResponse): void;
  unused: RunningServer["unused"];
}

/** Notes when a request is open. */
function watchUse(): Use {
  let open = 0;
  let lastEnd = Date.now();
  const end = (): void => {
    open -= 1;
    lastEnd = Date.now();
  };
  return {
    begin: (response) => {
      open += 1;
      response.once("close", end);
    },
    unused: (milliseconds) =>
      new Promise((resolve) => {
        const look = (): void => {
          const left = open > 0 ? milliseconds : lastEnd + milliseconds - Date.now();
          if (left <= 0) resolve();
          else setTimeout(look, left).unref();
        };
        look();
      }),
  };
}

/** Loads MCP with the first MCP request, because most services never get one. */
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
): ReadonlyMap<string, { readonly wire: Vendor; readonly baseUrl: string }> {
  const upstreams = new Map(
    Object.entries(baseUrls).map(([name, baseUrl]) => [name, { wire: name as Vendor, baseUrl }]),
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

const ownAreas = areasOf(ownRoutes);

async function handle(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let wire: Wire | undefined;
  response.on("error", (error) =>
    service.warn(`An answer could not be sent: ${errorMessage(error)}`),
  );
  try {
    const routed = routeRequest({
      method: request.method ?? "GET",
      url: request.url ?? "/",
      headers: request.headers,
      providers: service.providers,
      ownAreas,
    });
    wire = "wire" in routed.route ? wires[routed.route.wire] : undefined;
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

/** Refuses WebSockets. Codex tries a WebSocket first, and understands this answer as "use HTTP". */
function refuseWebSocket(request: IncomingMessage): void {
  if (request.headers.upgrade?.toLowerCase() !== "websocket") return;
  throw new PlimsollError("NOT_FOUND", "WebSockets are not supported. Use HTTP.", { status: 426 });
}

async function answer(
  service: Service,
  { route, query, pathToken }: Routed,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const { access, gateway } = service;
  const exchangeFor = (who: "client" | "token" | "owner"): Exchange => ({
    request,
    response,
    caller: authorise(who, request, access, pathToken),
  });
  switch (route.kind) {
    case "model":
      return providerRoutes.model.handle(gateway, exchangeFor(providerRoutes.model.who), route);
    case "count":
      return providerRoutes.count.handle(gateway, exchangeFor(providerRoutes.count.who), route);
    case "relay":
      return providerRoutes.relay.handle(gateway, exchangeFor(providerRoutes.relay.who), route);
    case "own": {
      const token = pathToken === undefined ? {} : { pathToken };
      const asked = { request, response, path: route.path, query, ...token };
      return dispatch(ownRoutes, service, access, asked);
    }
    case "unknown":
      throw new PlimsollError("NOT_FOUND", "There is nothing at this path.", { status: 404 });
  }
}
