/** The service's own routes: events and how to catch up, tenants and their tokens, measurement, metrics. */

import { readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { ask, bodyOf, modelHeaders, sendRaw } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  readLog,
  readSessions,
  type Service,
  startService,
  type View,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";

const tenantToken = "token-of-the-first-team-0123456789";
const otherToken = "token-of-the-other-team-0123456789";
let upstream: Upstream;
let service: Service;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted.")) });
  service = await startService({
    upstreams: { anthropic: upstream.url, openai: upstream.url },
    config: { tokens: { team: tenantToken, other: otherToken } },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

const user = (content: string) => ({ role: "user", content });
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function say(
  words: string,
  headers: Record<string, string> = {},
  path = "/v1/messages",
): Promise<string> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { ...modelHeaders("anthropic"), "content-type": "application/json", ...headers },
    body: JSON.stringify(bodyOf("anthropic", [user(words)])),
  });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-plimsoll-session") ?? "";
}

interface SeenEvent {
  readonly id?: number;
  readonly type: string;
  readonly session: string;
}

/** Opens the event stream; the result reads until `count` events have come. */
async function openEvents(
  path: string,
  token: string,
  lastEventId?: number,
): Promise<(count: number) => Promise<SeenEvent[]>> {
  const abort = new AbortController();
  const response = await fetch(service.url + path, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
    },
    signal: abort.signal,
  });
  return (count) =>
    within(
      10_000,
      `${count} events`,
      readEvents(response, count).finally(() => abort.abort()),
    );
}

async function readEvents(response: Response, count: number): Promise<SeenEvent[]> {
  const seen: SeenEvent[] = [];
  let rest = "";
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    rest += new TextDecoder().decode(chunk);
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks.filter((lines) => lines.includes("data:"))) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      const event = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "{}") as SeenEvent;
      seen.push({
        ...(id === undefined ? {} : { id: Number(id) }),
        type: event.type,
        session: event.session,
      });
    }
    if (seen.length >= count) break;
  }
  return seen;
}

describe("events", () => {
  test("a turn is announced when it begins, and again when it is stored", async () => {
    const read = await openEvents("/events", OWNER_TOKEN);
    await say("announce this");
    const seen = await read(4);
    expect(seen.map(({ type }) => type)).toEqual([
      "turn-start",
      "session-start",
      "branch-start",
      "turn-end",
    ]);
    expect(seen.map(({ id }) => id !== undefined)).toEqual([false, true, true, true]);
  });

  test("a reader that was away gets what it missed, once and in order", async () => {
    const session = await say("while you were away");
    const path = `/events?session=${session}`;
    const all = await (await openEvents(path, OWNER_TOKEN, 0))(3);
    expect(all.map(({ type }) => type)).toEqual(["session-start", "branch-start", "turn-end"]);
    const rest = await (await openEvents(path, OWNER_TOKEN, all[1]?.id))(1);
    expect(rest.map(({ id }) => id)).toEqual([all[2]?.id]);
  });

  test("a tenant sees the events of its own sessions only", async () => {
    const mine = await say("of the team", { "x-plimsoll-token": tenantToken });
    await say("of others", { "x-plimsoll-token": otherToken });
    const seen = await (await openEvents("/events", tenantToken, 0))(3);
    expect(new Set(seen.map(({ session }) => session))).toEqual(new Set([mine]));
  });
});

describe("tenants", () => {
  test("the token in the path and in the header are the same tenant, and none of it reaches the upstream", async () => {
    const before = upstream.requests.length;
    await say("by header", { "x-plimsoll-token": tenantToken });
    await say("by path", {}, `/t/${tenantToken}/v1/messages`);
    const response = await fetch(`${service.url}/api/sessions`, bearer(tenantToken));
    const { items } = (await response.json()) as { items: readonly { tenant: string }[] };
    expect(items.length).toBeGreaterThanOrEqual(2);
    expect(new Set(items.map(({ tenant }) => tenant))).toEqual(new Set(["token:team"]));
    for (const request of upstream.requests.slice(before)) {
      expect(JSON.stringify([request.path, request.headers])).not.toContain(tenantToken);
    }
  });

  test("an unknown token is refused, and a session of others is not there", async () => {
    const theirs = await say("not yours", { "x-plimsoll-token": otherToken });
    expect((await fetch(`${service.url}/api/sessions/${theirs}`, bearer(tenantToken))).status).toBe(
      404,
    );
    expect(
      (await fetch(`${service.url}/api/sessions/${theirs}/log`, bearer(tenantToken))).status,
    ).toBe(404);
    expect((await fetch(`${service.url}/api/sessions/${theirs}`, bearer(OWNER_TOKEN))).status).toBe(
      200,
    );
    const refused = await fetch(`${service.url}/t/not-a-token-at-all/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({
      type: "error",
      error: { type: "authentication_error" },
    });
  });

  test("100 forged session ids and handles open nothing", async () => {
    const forged = [
      "../../etc/passwd",
      "%2e%2e%2f",
      "ses_",
      `ses_${"0".repeat(22)}`,
      `pl_${"a".repeat(22)}`,
      "pl_'; DROP TABLE archive; --",
      "\u0000",
      "ｓｅｓ_１",
      "con",
      "x".repeat(5000),
    ];
    for (let round = 0; round < 10; round++) {
      for (const id of forged) {
        const name = encodeURIComponent(id + (round === 0 ? "" : round));
        for (const path of [
          `/api/sessions/${name}`,
          `/api/sessions/${name}/log`,
          `/api/archive/${name}`,
        ]) {
          expect((await fetch(service.url + path, bearer(OWNER_TOKEN))).status).toBe(404);
        }
      }
    }
  });
});

test("a client's credential is nowhere in what is kept", async () => {
  const secret = "sk-ant-planted-canary-0123456789";
  await say("keep this, but not my key", {
    "x-api-key": secret,
    authorization: `Bearer ${secret}`,
  });
  const files = await readdir(service.data);
  expect(files).toContain("plimsoll.db");
  for (const file of files)
    expect((await readFile(join(service.data, file))).includes(secret)).toBe(false);
  expect(service.stdout + service.stderr).not.toContain(secret);
  expect(upstream.requests.at(-1)?.headers["x-api-key"]).toBe(secret);
});

test.each([
  ["PLIMSOLL_TOKEN", OWNER_TOKEN, () => "PLIMSOLL_TOKEN"],
  ["the data folder", "", (data: string) => join(data, "token")],
])(
  "the owner's token, from %s, is not in what is printed for a file or a journal, but where it is",
  async (_, token, place) => {
    const own = await startService({ upstreams: {}, env: { PLIMSOLL_TOKEN: token } });
    try {
      await eventually(5000, "the second line", async () => /^dashboard/m.exec(own.stdout)?.[0]);
      const made = (await readFile(join(own.data, "token"), "utf8")).trim();
      expect(own.stdout).toContain(`dashboard ${own.url}/ (its token is in ${place(own.data)})\n`);
      for (const secret of [made, OWNER_TOKEN])
        expect(own.stdout + own.stderr).not.toContain(secret);
    } finally {
      await own.stop();
    }
  },
);

test("a redirect is handed on, not followed", async () => {
  const elsewhere = createServer((_request, response) =>
    response.writeHead(302, { location: `${upstream.url}/v1/messages` }).end(),
  );
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const own = await startService({
    upstreams: { anthropic: `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}` },
  });
  const before = upstream.requests.length;
  const response = await fetch(`${own.url}/v1/messages`, {
    method: "POST",
    redirect: "manual",
    headers: modelHeaders("anthropic"),
    body: JSON.stringify(bodyOf("anthropic", [user("go")])),
  });
  expect([response.status, response.headers.get("location"), upstream.requests.length]).toEqual([
    302,
    `${upstream.url}/v1/messages`,
    before,
  ]);
  await own.stop();
  elsewhere.close();
});

describe("what can be seen of a session", () => {
  test("its view, its measurement by component, and its log, page by page", async () => {
    const messages = [user("first"), { role: "assistant", content: "one" }, user("second")];
    const body = {
      ...bodyOf("anthropic", messages),
      system: "Be brief.",
      tools: [{ name: "t", input_schema: { type: "object" } }],
    };
    const { sessionId: id } = await ask(service.url, { wire: "anthropic", body });
    const view = await service.api<View>(`/api/sessions/${id}/view`);
    expect(view.messages).toEqual([
      ...messages,
      { role: "assistant", content: [{ type: "text", text: "Noted." }] },
    ]);
    const measurement = await service.api<{
      used: number;
      limit: number;
      components: Record<string, number>;
    }>(`/api/sessions/${id}/measurement`);
    expect(Object.values(measurement.components).reduce((sum, tokens) => sum + tokens, 0)).toBe(
      measurement.used,
    );
    expect(
      [measurement.components["system"], measurement.components["tools"]].every(
        (tokens) => (tokens ?? 0) > 0,
      ),
    ).toBe(true);
    const paged = await readLog(service, id, 1);
    expect(paged.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(paged).toEqual(await readLog(service, id, 100));
    const wrong = await fetch(
      `${service.url}/api/sessions/${id}/log?limit=many`,
      bearer(OWNER_TOKEN),
    );
    expect([wrong.status, await wrong.json()]).toEqual([
      400,
      { error: { code: "USAGE", message: "`limit` must be a whole number." } },
    ]);
  });

  test("sessions are paged without gaps", async () => {
    const all = (await readSessions(service)).map(({ id }) => id);
    const paged: string[] = [];
    for (let after = ""; ; ) {
      const page = await service.api<{ items: readonly { id: string }[]; next?: string }>(
        `/api/sessions?limit=2${after}`,
      );
      paged.push(...page.items.map(({ id }) => id));
      if (page.next === undefined) break;
      after = `&after=${page.next}`;
    }
    expect(paged).toEqual(all);
  });

  test("metrics count turns and know no session", async () => {
    const response = await fetch(`${service.url}/metrics`, bearer(OWNER_TOKEN));
    const metrics = await response.text();
    expect(metrics).toMatch(
      /plimsoll_requests_total\{provider="anthropic",outcome="passthrough",status="complete"\} \d+/,
    );
    expect(metrics).toContain("plimsoll_context_tokens");
    expect(metrics).not.toContain("ses_");
  });
});

describe("a slow world", () => {
  /** Sends for ever, as fast as it may, and counts what went out. */
  async function startHose(): Promise<{ server: Server; url: string; sent: () => number }> {
    let sent = 0;
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      const chunk = Buffer.from(`: ${"x".repeat(65_533)}\n`);
      const pump = (): void => {
        while (!response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", pump);
        }
      };
      pump();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      server,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      sent: () => sent,
    };
  }

  test("a reader that stops reading stops the upstream, and its leaving ends it", async () => {
    const hose = await startHose();
    const own = await startService({ upstreams: { anthropic: hose.url } });
    const socket: Socket = connect(own.port, "127.0.0.1");
    const body = JSON.stringify(bodyOf("anthropic", [user("pour")], { stream: true }));
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    socket.pause();
    let last = -1;
    await eventually(15_000, "a standstill", async () => {
      const now = hose.sent();
      const isStill = now === last && now > 0;
      last = now;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return isStill ? true : undefined;
    });
    expect(hose.sent()).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
    await eventually(5000, "the upstream to be let go", async () => {
      const connections = await new Promise<number>((resolve) =>
        hose.server.getConnections((_error, count) => resolve(count)),
      );
      return connections === 0 ? true : undefined;
    });
    await own.stop();
    hose.server.close();
  });

  test("half-open connections do not keep others out", async () => {
    const sockets = Array.from({ length: 300 }, () => connect(service.port, "127.0.0.1"));
    for (const socket of sockets) {
      socket.on("error", () => socket.destroy());
      socket.write("POST /v1/messages HTTP/1.1\r\nhost: local");
    }
    for (let turn = 0; turn < 5; turn++) await say(`still here ${turn}`);
    for (const socket of sockets) socket.destroy();
  });
});

describe("a service that is told to stop, or hurt", () => {
  test("a dropped WebSocket, again and again, does not end it", async () => {
    for (let attempt = 0; attempt < 20; attempt++) {
      const socket = connect(service.port, "127.0.0.1");
      socket.on("error", () => socket.destroy());
      await new Promise((resolve) => socket.once("connect", resolve));
      socket.write(
        "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n",
      );
      socket.resetAndDestroy();
    }
    await say("still there");
    const upgrade = await sendRaw(service.port, {
      method: "GET",
      path: "/v1/responses",
      headers: { host: "localhost", connection: "Upgrade", upgrade: "websocket" },
    });
    expect(upgrade.status).toBe(426);
  });

  test("a turn that still streams when it stops is in the log afterwards", async () => {
    const slow = await startUpstream({
      script: () => ({
        ...reply(text(...Array.from({ length: 400 }, (_, index) => `word ${index} `))),
        delayBetweenEventsMs: 100,
      }),
    });
    const own = await startService({
      upstreams: { anthropic: slow.url },
      data: await makeDataFolder(),
    });
    const events = await fetch(`${own.url}/events`, bearer(OWNER_TOKEN));
    const response = await fetch(`${own.url}/v1/messages`, {
      method: "POST",
      headers: modelHeaders("anthropic"),
      body: JSON.stringify(bodyOf("anthropic", [user("tell me everything")], { stream: true })),
    });
    const session = response.headers.get("x-plimsoll-session") ?? "";
    await response.body?.getReader().read();
    await own.stop();
    await events.body?.cancel().catch(() => undefined);
    const again = await startService({ upstreams: { anthropic: slow.url }, data: own.data });
    const log = await readLog(again, session);
    expect(log.map(({ role, incomplete }) => [role, incomplete])).toEqual([
      ["user", undefined],
      ["assistant", true],
    ]);
    await again.stop();
    await rm(own.data, { recursive: true });
    await slow.close();
  });

  test.each(["POST", "PUT", "DELETE"])(
    "%s changes nothing that is only for reading",
    async (method) => {
      for (const path of ["/healthz", "/metrics", "/events", "/", "/api/sessions", "/api/hello"]) {
        expect((await fetch(service.url + path, { method, ...bearer(OWNER_TOKEN) })).status).toBe(
          405,
        );
      }
    },
  );

  test("whether anybody is there can be asked without a token", async () => {
    for (const path of ["/", "/api/hello"]) {
      const { status } = await fetch(service.url + path, { method: "HEAD" });
      expect([path, status]).toEqual([path, 200]);
    }
    expect((await fetch(`${service.url}/api/hello/me`, { method: "HEAD" })).status).toBe(401);
  });

  test("figures over all tenants are the owner's", async () => {
    expect((await fetch(`${service.url}/metrics`, bearer(tenantToken))).status).toBe(403);
  });
});
