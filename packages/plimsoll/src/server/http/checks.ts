/** Access checks on every route: Host, Origin, content type and token (threats T6, T20). */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { BoundedMap } from "../../bounds/bounded-map.ts";
import { PlimsollError } from "../../message/error.ts";
import { base62 } from "../../message/handle.ts";

export interface Access {
  readonly ownerToken: string;
  /** Further tokens, by name. Each token gives access only to its own tenant. */
  readonly tokens: ReadonlyMap<string, string>;
  /** Key of the hash that represents a client's credential. The credential itself is never stored. */
  readonly storeKey: Uint8Array;
  /** Tenants by credential. These checks fill the map, which is kept only in memory. */
  readonly knownTenants: BoundedMap<string, string>;
  readonly isLoopback: boolean;
  readonly allowedHosts: readonly string[];
}

/** The caller of a route. The owner sees the data of every tenant, and any other caller sees only one tenant. */
export interface Caller {
  readonly tenant: string;
  readonly isOwner: boolean;
  /**
   * True if the caller sent no token and was identified only by its credential for the provider. Possible only on this machine.
   */
  readonly isByCredential?: true;
}

export const ownerTenant = "owner";
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" || host === "::1" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host)
  );
}

/**
 * Refuses requests from pages of other sites. Such a page may resolve its name to this machine, but it still sends that name as
 * Host. A script on another site sends its own Origin. The port does not matter for either check.
 */
export function checkOrigin(request: IncomingMessage, access: Access): void {
  const host = request.headers.host ?? "";
  if (!allowsHost(nameOf(host), access)) {
    throw forbidden(
      `The Host header "${host.slice(0, 100)}" does not name this service. Use 127.0.0.1 or localhost, or add the name to server.allowed_hosts.`,
    );
  }
  const { origin } = request.headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    throw forbidden(`Requests from the origin "${origin.slice(0, 100)}" are not allowed.`);
  }
}

/** Whether a Host header may contain this name. Unlike a name, an IP address cannot be redirected to another machine. */
function allowsHost(name: string, access: Access): boolean {
  if (loopbackNames.includes(name) || access.allowedHosts.includes(name)) return true;
  return !access.isLoopback && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}

/** Accepts only JSON. A form on another site can send only three content types, and JSON is not one of them. */
export function checkJson(request: IncomingMessage): void {
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || type.endsWith("+json")) return;
  throw new PlimsollError(
    "UNSUPPORTED_MEDIA_TYPE",
    "Send the body as content-type application/json.",
    {
      status: 415,
    },
  );
}

/** Checks the token for /api, /events, /mcp and /metrics. */
export function checkBearer(request: IncomingMessage, access: Access): Caller {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  const caller = bearer === undefined ? undefined : callerOfToken(bearer, access);
  if (caller !== undefined) return caller;
  throw unauthorized(
    "Send the token as `Authorization: Bearer …`. `plimsoll doctor` shows where it is.",
  );
}

/** Checks that the caller is the owner, for routes that show figures of all tenants. */
export function checkOwner(caller: Caller): Caller {
  if (!caller.isOwner)
    throw forbidden("This needs the owner's token. `plimsoll doctor` shows where it is.");
  return caller;
}

/** Checks the caller of a model route. On these routes, the client's own credential is meant for the provider. */
export function checkModelCaller(
  request: IncomingMessage,
  access: Access,
  pathToken?: string,
): Caller {
  const header = request.headers["x-plimsoll-token"];
  const token = pathToken ?? (typeof header === "string" ? header : undefined);
  if (token !== undefined) {
    const caller = callerOfToken(token, access);
    if (caller !== undefined) return caller;
    throw unauthorized(
      "Plimsoll does not know the token in this request. `plimsoll doctor` shows where the right token is.",
    );
  }
  if (!access.isLoopback) {
    throw unauthorized("Send a Plimsoll token in x-plimsoll-token, or in the path as /t/{token}/…");
  }
  return { tenant: tenantOfCredential(request, access), isOwner: false, isByCredential: true };
}

function callerOfToken(token: string, access: Access): Caller | undefined {
  if (isSame(token, access.ownerToken)) return { tenant: ownerTenant, isOwner: true };
  for (const [name, known] of access.tokens) {
    if (isSame(token, known)) return { tenant: `token:${name}`, isOwner: false };
  }
  return undefined;
}

/** Compares hashes, because comparing two texts of different lengths would reveal the length of the token. */
function isSame(left: string, right: string): boolean {
  const digest = (text: string): Buffer =>
    createHmac("sha256", "plimsoll token").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/**
 * Maximum number of credentials to remember. Plimsoll remembers them because the keyed hash takes longer than all other checks.
 */
export const maxKnownTenants = 10_000;

function tenantOfCredential(request: IncomingMessage, access: Access): string {
  const { headers } = request;
  const credential =
    headers["x-api-key"] ??
    headers.authorization ??
    headers["x-goog-api-key"] ??
    keyInQuery(request.url ?? "");
  if (credential === undefined) return "local";
  const name = String(credential);
  const known = access.knownTenants.get(name);
  if (known !== undefined) return known;
  const mac = createHmac("sha256", access.storeKey).update(`tenant\0${name}`).digest();
  return access.knownTenants.set(name, `key:${base62(mac.subarray(0, 16))}`);
}

/** The key of clients that put it into the address, as Google's API allows. */
function keyInQuery(url: string): string | undefined {
  const query = url.indexOf("?");
  return query < 0
    ? undefined
    : (new URLSearchParams(url.slice(query + 1)).get("key") ?? undefined);
}

function forbidden(message: string): PlimsollError {
  return new PlimsollError("FORBIDDEN", message, { status: 403 });
}

function unauthorized(message: string): PlimsollError {
  return new PlimsollError("UNAUTHORIZED", message, { status: 401 });
}
