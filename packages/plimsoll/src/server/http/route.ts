/** Finds the route of a request from its method, path and headers. Pure. */

import { type MarkedPath, type RunMark, readRunPath } from "../../message/run-mark.ts";
import type { Vendor } from "../../wire/format/wire.ts";
import {
  type AskedPath,
  hasVersionedPaths,
  isVendor,
  readModelPath,
  vendorOfPath,
} from "../../wire/vendors.ts";

export type Destination =
  /** A conversation that Plimsoll reads. */
  | ConversationRoute<"model">
  /** A request to count the tokens of a conversation. */
  | ConversationRoute<"count">
  /** Any other path of a provider. The request is passed on unchanged. */
  | { readonly kind: "relay"; readonly provider: string; readonly path: string }
  /** A path of the service itself. The table of routes says whether a route exists there. */
  | { readonly kind: "own"; readonly path: string }
  | { readonly kind: "unknown" };

interface ConversationRoute<K> extends Omit<AskedPath, "isCount"> {
  readonly kind: K;
  readonly provider: string;
  readonly path: string;
  /** Set if the path begins with `/run/…`, because `plimsoll run` started the client. */
  readonly run?: RunMark;
}

export interface Routed {
  readonly route: Destination;
  /** The token in a path that begins with /t/{token}. */
  readonly pathToken?: string;
  readonly query: URLSearchParams;
}

export interface RouteInput {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The configured providers, and the vendor whose format each one uses. */
  readonly providers: ReadonlyMap<string, Vendor>;
  /** The first segments of the service's own paths. */
  readonly ownAreas: ReadonlySet<string>;
}

export function routeRequest(input: RouteInput): Routed {
  const url = parseUrl(input.url);
  if (url === undefined) return { route: { kind: "unknown" }, query: new URLSearchParams() };
  const token = /^\/t\/([^/]+)(?=\/)/.exec(url.pathname);
  const path = token === null ? url.pathname : url.pathname.slice(token[0].length);
  const marked = readRunPath(path);
  const route =
    marked === undefined
      ? routePath(input, path, url.search)
      : routeOfRun(input, marked, url.search);
  const pathToken = token?.[1];
  return { route, query: url.searchParams, ...(pathToken === undefined ? {} : { pathToken }) };
}

/** A client that `plimsoll run` started reaches only providers under its address, and none of the service's own paths. */
function routeOfRun(input: RouteInput, { run, path }: MarkedPath, search: string): Destination {
  const route = routeToProvider(input, path.split("/").slice(1), search);
  return route.kind === "model" || route.kind === "count" ? { ...route, run } : route;
}

/** Parses the URL. The parser also resolves dot segments, plain or percent-encoded, so no path can leave its prefix. */
function parseUrl(url: string): URL | undefined {
  return url.startsWith("/")
    ? (URL.parse(`http://plimsoll.invalid${url}`) ?? undefined)
    : undefined;
}

function routePath(input: RouteInput, path: string, search: string): Destination {
  const segments = path.split("/").slice(1);
  // A path that begins with two slashes is not one of the service's own paths.
  return path === "/" || (segments[0] !== "" && input.ownAreas.has(segments[0] ?? ""))
    ? { kind: "own", path }
    : routeToProvider(input, segments, search);
}

function routeToProvider(
  input: RouteInput,
  segments: readonly string[],
  search: string,
): Destination {
  const [first = "", second = ""] = segments;
  if (first === "p") return providerRoute(input, second, segments.slice(2), search);
  if (isVendor(first)) return providerRoute(input, first, segments.slice(1), search);
  const provider = vendorOfPath(segments, input.headers, new URLSearchParams(search));
  return provider === undefined
    ? { kind: "unknown" }
    : providerRoute(input, provider, segments, search);
}

function providerRoute(
  input: RouteInput,
  provider: string,
  rest: readonly string[],
  search: string,
): Destination {
  const vendor = input.providers.get(provider);
  if (vendor === undefined) return { kind: "unknown" };
  const isWhole = /^v\d/.test(rest[0] ?? "") || !hasVersionedPaths(vendor);
  const path = `/${[...(isWhole ? [] : ["v1"]), ...rest].join("/")}`;
  const full = path + search;
  const asked =
    input.method === "POST" ? readModelPath(vendor, path, new URLSearchParams(search)) : undefined;
  if (asked === undefined) return { kind: "relay", provider, path: full };
  const { isCount, ...conversation } = asked;
  return { kind: isCount ? "count" : "model", provider, path: full, ...conversation };
}

/** The upstream URL of a path: the provider's base address, followed by the path. If both have a version, it is not repeated. */
export function upstreamUrl(baseUrl: string, path: string): URL {
  const base = new URL(baseUrl);
  const basePath = base.pathname.replace(/\/+$/, "");
  const version = /\/v\d\w*$/.exec(basePath)?.[0];
  const isRepeated = version !== undefined && (path === version || path.startsWith(`${version}/`));
  const rest = isRepeated ? path.slice(version.length) : path;
  return new URL(`${base.origin}${basePath}${rest}`);
}
