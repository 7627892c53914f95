/** The table of routes is what the service goes by: each route answers whom it names, and nobody else. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Engine, openEngine } from "../engine.ts";
import type { ApiWorld } from "./api/world.ts";
import { matchesOf, type Route, routesOn, type Who } from "./http/route-table.ts";
import { ownRoutes, providerRoutes } from "./routes.ts";
import { type RunningServer, startServer } from "./server.ts";

const ownerToken = "owner-token-0123456789";
const tenantToken = "tenant-token-0123456789";

let engine: Engine;
let upstream: Server;
const servers: Record<"loopback" | "open", RunningServer | undefined> = {
  loopback: undefined,
  open: undefined,
};
let ownSession = "";
let handle = "";

async function start(host: string): Promise<RunningServer> {
  const { port } = upstream.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  return startServer({
    engine,
    config: {
      tokens: { someone: tenantToken },
      providers: Object.fromEntries(
        ["anthropic", "openai", "gemini"].map((name) => [name, { baseUrl }]),
      ),
    },
    host,
    port: 0,
    token: ownerToken,
    storeKey: new Uint8Array(32),
    configFile: join(tmpdir(), "no-such-folder", "config.yaml"),
    version: "0",
    warn: () => undefined,
  });
}

beforeAll(async () => {
  upstream = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Hi" }],
      }),
    );
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  engine = await openEngine({ store: "memory" });
  servers.loopback = await start("127.0.0.1");
  servers.open = await start("0.0.0.0");
  ownSession = await beginSession();
  handle = "pl_0000000000000000000000";
});
afterAll(async () => {
  await servers.loopback?.close();
  await servers.open?.close();
  await engine.close();
  upstream.close();
});

/** A session of the tenant. */
async function beginSession(): Promise<string> {
  const said = await fetch(`${servers.loopback?.url}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-plimsoll-token": tenantToken },
    body: JSON.stringify({
      model: "m",
      max_tokens: 10,
      messages: [{ role: "user", content: "x" }],
    }),
  });
  await said.text();
  const id = said.headers.get("x-plimsoll-session") ?? "";
  expect(id).not.toBe("");
  return id;
}

const tokens = {
  none: {},
  wrong: { authorization: "Bearer wrong-token-0123456789" },
  tenant: { authorization: `Bearer ${tenantToken}` },
  owner: { authorization: `Bearer ${ownerToken}` },
} as const;
type TokenName = keyof typeof tokens;

/** What the declaration promises to each: the status of a refusal; undefined: it is let in. */
const promised: Readonly<
  Record<Exclude<Who, "client">, Readonly<Record<TokenName, number | undefined>>>
> = {
  everyone: { none: undefined, wrong: undefined, tenant: undefined, owner: undefined },
  token: { none: 401, wrong: 401, tenant: undefined, owner: undefined },
  owner: { none: 401, wrong: 401, tenant: 403, owner: undefined },
};

async function statusOf(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  server: "loopback" | "open" = "loopback",
): Promise<{ readonly status: number; readonly error: unknown; readonly allow: string | null }> {
  const leaving = new AbortController();
  const { port } = servers[server] as RunningServer;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    signal: leaving.signal,
  });
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const body = isJson ? ((await response.json()) as { readonly error?: unknown }) : {};
  leaving.abort();
  return { status: response.status, error: body.error, allow: response.headers.get("allow") };
}

function pathOf({ path }: Route<never>): string {
  return path
    .replace("{id}", ownSession)
    .replace("{handle}", handle)
    .replace("{file…}", "nothing.js");
}

const named = ownRoutes.map((route) => [`${route.method} ${route.path}`, route] as const);

describe.each(named)("%s", (_, route) => {
  test.each(Object.keys(tokens) as TokenName[])("answers %s as it declares", async (token) => {
    const who = route.who as Exclude<Who, "client">;
    const expected = promised[who][token];
    const { status, error } = await statusOf(route.method, pathOf(route), tokens[token]);
    if (expected === undefined) expect([401, 403, 405]).not.toContain(status);
    else {
      expect(status).toBe(expected);
      expect(error).toEqual({
        code: expect.any(String),
        message: expect.stringMatching(/^[A-Z`].+\.$|…`?/s),
      });
    }
  });

  test("takes no other method", async () => {
    const methods = matchesOf(ownRoutes, route.path).map(({ route: other }) => other.method);
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "GET"]) {
      if (methods.includes(method as never)) continue;
      const { status, allow } = await statusOf(method, pathOf(route), tokens.owner);
      expect([method, status, allow]).toEqual([method, 405, methods.join(", ")]);
    }
  });

  test("names an argument that it does not know", async () => {
    if (route.query === "any") return;
    const path = `${pathOf(route)}?nonsense=1`;
    const { status, error } = await statusOf(route.method, path, tokens.owner);
    expect([status, error]).toEqual([
      400,
      {
        code: "USAGE",
        message: expect.stringMatching(/^This route does not take `nonsense`\. It takes .+\.$/),
      },
    ]);
  });
});

describe.each(Object.entries(providerRoutes))("the routes of a provider: %s", (kind, { who }) => {
  const method = kind === "relay" ? "GET" : "POST";
  const path = { model: "/v1/messages", count: "/v1/messages/count_tokens" }[kind] ?? "/v1/models";
  const token = (value: string): Record<string, string> => ({ "x-plimsoll-token": value });

  test("are for clients", () => {
    expect(who).toBe("client");
  });

  test.each([
    ["no token", {}, "open", 401],
    ["a wrong token", token("wrong-token-0123456789"), "open", 401],
    ["a wrong token on this machine", token("wrong-token-0123456789"), "loopback", 401],
    ["a tenant's token", token(tenantToken), "open", undefined],
    ["the owner's token", token(ownerToken), "open", undefined],
    ["no token on this machine", {}, "loopback", undefined],
  ] as const)("with %s", async (_, headers, server, expected) => {
    const { status } = await statusOf(method, path, headers, server);
    if (expected === undefined) expect([401, 403]).not.toContain(status);
    else expect(status).toBe(expected);
  });
});

test("what is in no table is not there: without a token nobody learns that, below /api", async () => {
  for (const path of ["/nope", "/events/x", "/metrics/x", "/mcp/x", "//api/sessions", "/healthz/x"])
    expect([path, (await statusOf("GET", path, tokens.owner)).status]).toEqual([path, 404]);
  for (const path of [
    "/api/nope",
    "/api/sessions/x/y/z",
    `/api/sessions/${ownSession}/nope`,
    "/api/config/x",
  ]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      expect([path, (await statusOf(method, path, tokens.owner)).status]).toEqual([path, 404]);
      expect([path, (await statusOf(method, path, tokens.none)).status]).toEqual([path, 401]);
    }
  }
});

test("a tenant reaches its own session, and not that of another", async () => {
  const path = `/api/sessions/${await beginSession()}`;
  expect((await statusOf("GET", path, tokens.tenant)).status).toBe(200);
  const other = `/api/sessions/${await othersSession()}`;
  for (const method of ["GET", "DELETE"])
    expect((await statusOf(method, other, tokens.tenant)).status).toBe(404);
  expect((await statusOf("GET", other, tokens.owner)).status).toBe(200);
  expect((await statusOf("DELETE", path, tokens.tenant)).status).toBe(200);
  expect((await statusOf("DELETE", path, tokens.tenant)).status).toBe(404);
});

async function othersSession(): Promise<string> {
  const other = await engine.session({});
  await other.append({ role: "user", parts: [{ kind: "text", text: "x" }] });
  await other.prepare({ target: "anthropic/m" });
  await other.commit({ role: "assistant", content: [{ type: "text", text: "y" }] });
  return other.id;
}

test("a tenant that forgets everything loses its own sessions, and nobody else's", async () => {
  const [own, others] = [await beginSession(), await othersSession()];
  const forget = async (body: object): Promise<unknown> => {
    const response = await fetch(`${servers.loopback?.url}/api/forget`, {
      method: "POST",
      headers: { ...tokens.tenant, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, ...((await response.json()) as object) };
  };
  expect(await forget({ sessions: [others] })).toMatchObject({ status: 404 });
  expect(await forget({})).toMatchObject({ status: 400, error: { code: "BODY_INVALID" } });
  expect(await forget({ sessions: [own], all: true })).toMatchObject({ status: 400 });
  expect(await forget({ all: true })).toMatchObject({ status: 200, unfinished: [] });
  expect((await statusOf("GET", `/api/sessions/${own}`, tokens.owner)).status).toBe(404);
  expect((await statusOf("GET", `/api/sessions/${others}`, tokens.owner)).status).toBe(200);
});

test("a route that does not say who may call it does not compile", () => {
  const route = routesOn<ApiWorld>();
  const declared = { method: "GET", path: "/x", about: "", reply: "json" } as const;
  // @ts-expect-error: `who` is missing.
  route({ ...declared, handle: () => 1 });
  // @ts-expect-error: nobody of that kind is known.
  route({ ...declared, who: "anyone", handle: () => 1 });
  // @ts-expect-error: nobody is known where nobody is asked.
  route({ ...declared, who: "everyone", handle: ({ caller }) => caller.tenant });
  // @ts-expect-error: what is no argument cannot be read.
  route({ ...declared, who: "token", handle: ({ query }) => query.limit });
  const query = z.strictObject({ limit: z.string() });
  expect(
    route({ ...declared, who: "token", query, handle: ({ query: { limit } }) => limit }).who,
  ).toBe("token");
});
