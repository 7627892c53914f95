/** Which door a request came through: pure, from method, path and headers. */

import type { WireName } from "../../wire/format/wire.ts";

export type ProviderWire = "anthropic" | "openai" | "gemini";

export type Route =
  /** A conversation that Plimsoll reads. */
  | {
      readonly kind: "model";
      readonly provider: string;
      readonly wire: WireName;
      readonly path: string;
    }
  /** How many tokens would it be? */
  | {
      readonly kind: "count";
      readonly provider: string;
      readonly wire: WireName;
      readonly path: string;
    }
  /** Anything else of a provider's: passed on untouched. */
  | { readonly kind: "relay"; readonly provider: string; readonly path: string }
  | { readonly kind: "api"; readonly segments: readonly string[] }
  /** A file of the dashboard. */
  | { readonly kind: "page"; readonly path: string }
  | { readonly kind: OwnKind | "unknown" };

/** hello: a client asks whether anybody is there. */
type OwnKind = "root" | "health" | "metrics" | "events" | "mcp" | "hello";

/** Paths of the service itself, beside `/api` and the files of the dashboard. */
export const ownPaths: ReadonlyMap<string, OwnKind> = new Map([
  ["/", "root"],
  ["/healthz", "health"],
  ["/metrics", "metrics"],
  ["/events", "events"],
  ["/mcp", "mcp"],
  ["/api/hello", "hello"],
]);

export interface Routed {
  readonly route: Route;
  /** From a path that begins with /t/{token}. */
  readonly pathToken?: string;
  readonly query: URLSearchParams;
}

export interface RouteInput {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly hasAnthropicVersion: boolean;
  /** The providers of the configuration, and which format each speaks. */
  readonly providers: ReadonlyMap<string, ProviderWire>;
}

export const modelPaths: readonly {
  readonly wire: ProviderWire;
  readonly path: string;
  readonly name: WireName;
  readonly isCount?: true;
}[] = [
  { wire: "anthropic", path: "/v1/messages", name: "anthropic" },
  { wire: "anthropic", path: "/v1/messages/count_tokens", name: "anthropic", isCount: true },
  { wire: "openai", path: "/v1/chat/completions", name: "openai-chat" },
  { wire: "openai", path: "/v1/responses", name: "openai-responses" },
];

export function routeRequest(input: RouteInput): Routed {
  const url = parseUrl(input.url);
  if (url === undefined) return { route: { kind: "unknown" }, query: new URLSearchParams() };
  const token = /^\/t\/([^/]+)(?=\/)/.exec(url.pathname);
  const path = token === null ? url.pathname : url.pathname.slice(token[0].length);
  const route = routePath(input, path, url.search);
  const pathToken = token?.[1];
  return { route, query: url.searchParams, ...(pathToken === undefined ? {} : { pathToken }) };
}

/** The URL parser also resolves dot segments, plain and percent-encoded: no path climbs out of its prefix. */
function parseUrl(url: string): URL | undefined {
  return url.startsWith("/")
    ? (URL.parse(`http://plimsoll.invalid${url}`) ?? undefined)
    : undefined;
}

function routePath(input: RouteInput, path: string, search: string): Route {
  const own = ownPaths.get(path);
  if (own !== undefined) return { kind: own };
  const segments = path.split("/").slice(1);
  if (segments[0] === "api") return { kind: "api", segments: segments.slice(1) };
  if (segments[0] === "assets") return { kind: "page", path };
  return routeToProvider(input, segments, search);
}

function routeToProvider(input: RouteInput, segments: readonly string[], search: string): Route {
  const [first = "", second = ""] = segments;
  if (first === "p") return providerRoute(input, second, segments.slice(2), search);
  if (first === "anthropic" || first === "openai" || first === "gemini") {
    return providerRoute(input, first, segments.slice(1), search);
  }
  const provider = providerOfPath(input, segments);
  return provider === undefined
    ? { kind: "unknown" }
    : providerRoute(input, provider, segments, search);
}

/** Paths without a provider's name, with and without their version. */
function providerOfPath(input: RouteInput, segments: readonly string[]): string | undefined {
  const isVersioned = segments[0] === "v1";
  const [first = "", second = ""] = isVersioned ? segments.slice(1) : segments;
  if (first === "messages") return "anthropic";
  if (first === "responses" || (first === "chat" && second === "completions")) return "openai";
  if (segments[0] === "v1beta") return "gemini";
  if (!isVersioned && first !== "models") return undefined;
  return input.hasAnthropicVersion ? "anthropic" : "openai";
}

function providerRoute(
  input: RouteInput,
  provider: string,
  rest: readonly string[],
  search: string,
): Route {
  const wire = input.providers.get(provider);
  if (wire === undefined) return { kind: "unknown" };
  const isVersioned = /^v\d/.test(rest[0] ?? "");
  const path = `/${[...(isVersioned || wire === "gemini" ? [] : ["v1"]), ...rest].join("/")}`;
  const model = modelPaths.find((known) => known.wire === wire && known.path === path);
  const full = path + search;
  return model !== undefined && input.method === "POST"
    ? { kind: model.isCount ? "count" : "model", provider, wire: model.name, path: full }
    : { kind: "relay", provider, path: full };
}

/** Below the provider's base address; a version that the address already ends with is not repeated. */
export function upstreamUrl(baseUrl: string, path: string): URL {
  const base = new URL(baseUrl);
  const basePath = base.pathname.replace(/\/+$/, "");
  const version = /\/v\d\w*$/.exec(basePath)?.[0];
  const isRepeated = version !== undefined && (path === version || path.startsWith(`${version}/`));
  const rest = isRepeated ? path.slice(version.length) : path;
  return new URL(`${base.origin}${basePath}${rest}`);
}
