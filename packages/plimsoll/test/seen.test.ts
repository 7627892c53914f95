/** What people watch, through the running service: phases while a compaction runs, rows, agents, history, messages, settings, the page itself. */

import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import type { Json, JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

const WINDOW = 8_000;
const LIMIT = 7_000;
const OTHER_TOKEN = "another-token-of-a-tenant-0123456789";
const model = {
  contextWindow: WINDOW,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};

let upstream: Upstream;
let service: Service;
let data: string;
const seen: JsonObject[] = [];
let session = "";
const listening = new AbortController();

async function listen(): Promise<void> {
  const response = await fetch(`${service.url}/events`, {
    headers: { authorization: `Bearer ${OWNER_TOKEN}` },
    signal: listening.signal,
  });
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const line = block.split("\n").find((one) => one.startsWith("data: "));
      if (line !== undefined) seen.push(JSON.parse(line.slice(6)) as JsonObject);
    }
  }
}

async function call(
  method: string,
  path: string,
  { body, token = OWNER_TOKEN }: { readonly body?: Json; readonly token?: string } = {},
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  data = await makeDataFolder();
  service = await startService({
    upstreams: {},
    data,
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
      priority_areas: [{ name: "To Do List", priority: 1, patterns: ["the to do list"] }],
      tokens: { other: OTHER_TOKEN },
    },
  });
  listen().catch(() => undefined);
  const random = diceOf(7);
  const history: JsonObject[] = [];
  for (let turn = 0; turn < 60; turn++) {
    const opening = turn === 0 ? "Keep the to do list as it is. " : "";
    history.push({ role: "user", content: opening + prose(random, 300) });
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...history]), max_tokens: 500 },
      headers: {
        "x-plimsoll-session": "seen",
        "x-plimsoll-agent": "coder",
        "x-plimsoll-priority": "1",
      },
    });
    expect(asked.status, asked.answer).toBe(200);
    session = asked.sessionId;
    history.push(asked.message);
    if (asked.headers.get("x-plimsoll-action") === "compacted") break;
  }
  for (const awaited of ["compaction-end", "turn-end"])
    await eventually(10_000, awaited, async () =>
      seen.find(
        ({ type, outcome }) => type === awaited && (type !== "turn-end" || outcome === "compacted"),
      ),
    );
});

afterAll(async () => {
  listening.abort();
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

describe("a compaction is watched while it runs", () => {
  const phases = (): readonly JsonObject[] =>
    seen.filter(({ type }) => type === "context-breaking-update");

  test("it begins with detection, tells of each strategy, and ends with success, before its turn ends", () => {
    const names = phases().map(({ phase }) => phase);
    expect(names[0]).toBe("detection");
    expect(names.at(-1)).toBe("success");
    expect(names).toContain("hybrid");
    const last = phases().at(-1);
    const types = seen.map(({ type, turn }) => `${type} ${turn}`);
    expect(types.indexOf(`context-breaking-update ${last?.["turn"]}`)).toBeLessThan(
      types.indexOf(`turn-end ${last?.["turn"]}`),
    );
  });

  test("progress is how full the window is, and falls with the success", () => {
    const [first, last] = [phases()[0], phases().at(-1)];
    expect(first?.["progress"]).toBeGreaterThanOrEqual(90);
    expect(Number(last?.["progress"])).toBeLessThan(Number(first?.["progress"]));
    expect(last?.["message"]).toMatch(/^Context reduced to [\d,]+ \/ [\d,]+ tokens$/);
  });

  test("the highest area that the conversation mentions is named", () => {
    const named = phases().flatMap(({ priority }) => (priority === undefined ? [] : [priority]));
    expect(named.length).toBeGreaterThan(0);
    for (const priority of named) expect(priority).toEqual({ level: 1, area: "To Do List" });
  });

  test("a fresh start by hand is a recovery without a share, then a handover", async () => {
    const before = phases().length;
    const reset = await call("POST", `/api/sessions/${session}/reset`, { body: {} });
    expect(reset.status).toBe(200);
    const after = phases().slice(before);
    expect(after.map(({ phase }) => phase)).toEqual(["recovery", "handover"]);
    expect(after[0]?.["progress"]).toBe(-1);
    expect((await call("POST", `/api/sessions/${session}/undo`, { body: {} })).status).toBe(200);
  });

  test("phases are never stored: who comes back does not see them again", async () => {
    const response = await fetch(`${service.url}/events?session=${session}`, {
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, "last-event-id": "0" },
      signal: AbortSignal.timeout(1500),
    });
    let all = "";
    try {
      for await (const chunk of response.body ?? []) all += new TextDecoder().decode(chunk);
    } catch (error) {
      expect((error as Error).name).toBe("TimeoutError");
    }
    expect(all).toContain("compaction-end");
    expect(all).not.toContain("context-breaking-update");
  });
});

describe("what is shown of sessions", () => {
  test("a row of the list has the last turn with its priority and figures", async () => {
    const { body } = await call("GET", "/api/sessions");
    const [row] = body["items"] as JsonObject[];
    expect(row).toMatchObject({ id: session, agent: "coder" });
    expect(row?.["lastTurn"]).toMatchObject({ limit: LIMIT, window: WINDOW, priority: 1 });
  });

  test("agents are told apart by the name that their clients give", async () => {
    const { body } = await call("GET", "/api/agents");
    expect(body["items"]).toMatchObject([{ agent: "coder", sessions: 1, newest: session }]);
  });

  test("the history has a point for each turn, the oldest first, and says which was compacted", async () => {
    const { body } = await call("GET", `/api/sessions/${session}/turns`);
    const items = body["items"] as JsonObject[];
    const times = items.map(({ at }) => Number(at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(items.at(-1)).toMatchObject({ outcome: "compacted", limit: LIMIT });
    for (const { measurement } of items)
      expect((measurement as JsonObject)["total"]).toBeLessThanOrEqual(LIMIT);
  });

  test("a diff as text gathers what is the same, and shows what is not", async () => {
    const { body } = await call("GET", `/api/sessions/${session}/diff?from=0&form=text`);
    const rows = body["rows"] as JsonObject[];
    expect(rows.some(({ kind }) => kind === "same")).toBe(true);
    const changed = rows.filter(({ kind }) => kind !== "same");
    expect(changed.length).toBeGreaterThan(0);
    expect(JSON.stringify(changed)).toContain('"parts"');
    for (const [index, row] of rows.entries())
      if (row["kind"] === "same") expect(rows[index + 1]?.["kind"]).not.toBe("same");
  });

  test("a picture at a checkpoint, and messages that are not there", async () => {
    const { body } = await call("GET", `/api/sessions/${session}/checkpoints`);
    const [point] = body["items"] as JsonObject[];
    const then = await call("GET", `/api/sessions/${session}/window?at=${point?.["id"]}`);
    expect(then.status).toBe(200);
    const wrong = await call("GET", `/api/sessions/${session}/messages?first=99999`);
    expect(wrong).toMatchObject({ status: 404, body: { error: { code: "POINT_UNKNOWN" } } });
    const unknown = await call("GET", `/api/sessions/${session}/window?at=cp_99999`);
    expect(unknown.status).toBe(404);
  });

  test("another tenant sees none of it", async () => {
    for (const view of ["turns", "window", "messages?first=1", "diff?from=0&form=text"]) {
      const { status } = await call("GET", `/api/sessions/${session}/${view}`, {
        token: OTHER_TOKEN,
      });
      expect(status).toBe(404);
    }
    const { body } = await call("GET", "/api/agents", { token: OTHER_TOKEN });
    expect(body["items"]).toEqual([]);
  });
});

describe("settings", () => {
  const read = async (): Promise<JsonObject> => (await call("GET", "/api/config")).body;
  const file = (): Promise<string> => readFile(join(data, "config.yaml"), "utf8").catch(() => "");

  test("they are the defaults until somebody saves, and hold for the next turn then", async () => {
    const before = await read();
    expect(before["progress"]).toEqual({
      show: true,
      detail: "normal",
      auto_hide_seconds: 3,
      highlight_p1: true,
    });
    const limits = { ...(before["limits"] as JsonObject), per_agent: { coder: 4_000 } };
    const saved = await call("PUT", "/api/config", {
      body: { revision: before["revision"] ?? "", limits },
    });
    expect(saved.status, JSON.stringify(saved.body)).toBe(200);
    expect(saved.body["limits"]).toEqual(limits);
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [{ role: "user", content: "Hello." }]), max_tokens: 500 },
      headers: { "x-plimsoll-agent": "coder" },
    });
    const { items } = (await call("GET", `/api/sessions/${asked.sessionId}/turns`)).body;
    expect((items as JsonObject[])[0]).toMatchObject({ limit: 4_000 });
  });

  test("who saves over newer settings is refused, and nothing is written", async () => {
    const { revision, progress } = await read();
    const change = { ...(progress as JsonObject), detail: "detailed" };
    const first = await call("PUT", "/api/config", {
      body: { revision: revision ?? "", progress: change },
    });
    expect(first.status).toBe(200);
    const text = await file();
    const second = await call("PUT", "/api/config", {
      body: { revision: revision ?? "", progress: { ...change, detail: "minimal" } },
    });
    expect(second).toMatchObject({ status: 409, body: { error: { code: "CONFIG_CHANGED" } } });
    expect(await file()).toBe(text);
  });

  test("what is wrong is named, and nothing is written", async () => {
    const { revision, progress, limits } = await read();
    const text = await file();
    const wrongs: readonly [JsonObject, RegExp][] = [
      [{ progress: { ...(progress as JsonObject), auto_hide_seconds: 11 } }, /auto_hide_seconds/],
      [{ limits: { ...(limits as JsonObject), default_limit: 10 } }, /default_limit/],
      [{ limits: { ...(limits as JsonObject), per_agent: { x: -1 } } }, /per_agent\.x/],
      [{ providers: {} }, /providers/],
    ];
    for (const [change, named] of wrongs) {
      const { status, body } = await call("PUT", "/api/config", {
        body: { revision: revision ?? "", ...change },
      });
      expect(status).toBe(400);
      expect((body["error"] as JsonObject)["message"]).toMatch(named);
    }
    expect(await file()).toBe(text);
  });

  test("comments and everything else of the file stay", async () => {
    const place = (await read())["file"] as string;
    await writeFile(place, `# mine\n${await readFile(place, "utf8")}`);
    const { revision, progress } = await read();
    const saved = await call("PUT", "/api/config", {
      body: { revision: revision ?? "", progress: { ...(progress as JsonObject), show: false } },
    });
    expect(saved.status).toBe(200);
    const text = await readFile(place, "utf8");
    expect(text).toContain("# mine");
    expect(text).toContain(upstream.url);
  });

  test("only the owner reads and writes them", async () => {
    for (const method of ["GET", "PUT"])
      expect((await call(method, "/api/config", { token: OTHER_TOKEN })).status).toBe(403);
  });
});

describe("the page", () => {
  test("it was built, and is served under a policy that lets nothing foreign in", async () => {
    expect(existsSync(new URL("../dashboard/index.html", import.meta.url))).toBe(true);
    const response = await fetch(`${service.url}/`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|(src|href)="(https?:)?\/\//);
    const scripts = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(scripts.length).toBeGreaterThan(0);
    for (const path of scripts) {
      const asset = await fetch(`${service.url}${path}`);
      expect(asset.status).toBe(200);
      expect(asset.headers.get("cache-control")).toContain("immutable");
      expect(asset.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("paths that climb out, and files that are not there, are nothing", async () => {
    for (const path of ["/assets/../package.json", "/assets/%2e%2e/index.html", "/assets/none.js"])
      expect((await fetch(`${service.url}${path}`)).status).toBe(404);
  });
});
