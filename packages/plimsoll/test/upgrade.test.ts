/**
 * Stores of earlier versions, with a compacted live conversation on each wire: after the upgrade the next request of each
 * continues its session, and the provider is sent the very bytes that the earlier version would have sent. The stores and
 * those bytes were written by those versions and are kept in test/old-stores.
 */
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject, Wire } from "./harness/json.ts";
import { withoutOwnTools } from "./harness/own-sent.ts";
import { makeDataFolder, readEdits, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

/** Whoever changes the schema changes this, too, and adds a store of the version before to `old-stores`. */
const SCHEMA_VERSION = 7;

interface Next {
  readonly wire: Wire;
  readonly session: string;
  readonly apiKey: string;
  readonly path: string;
  readonly clientBody: string;
  readonly sentBody: string;
}

describe.each([2, 3, 4, 5, 6])("a store with schema %d", (version) => {
  const folder = join(import.meta.dirname, "old-stores", `schema-${version}`);
  const unpacked = (name: string): Buffer => gunzipSync(readFileSync(join(folder, `${name}.gz`)));
  const { models, next } = JSON.parse(unpacked("next.json").toString()) as {
    readonly models: JsonObject;
    readonly next: readonly Next[];
  };

  let data = "";
  let upstream: Upstream | undefined;
  let service: Service | undefined;

  beforeAll(async () => {
    data = await makeDataFolder();
    await writeFile(join(data, "plimsoll.db"), unpacked("plimsoll.db"), { mode: 0o600 });
    await writeFile(join(data, "key"), readFileSync(join(folder, "key")), { mode: 0o600 });
    upstream = await startUpstream({ script: () => reply(text("Understood.")) });
    const { url } = upstream;
    const providers = {
      anthropic: { baseUrl: url, models },
      openai: { baseUrl: `${url}/v1`, models },
    };
    service = await startService({ upstreams: {}, data, config: { providers } });
  });

  afterAll(async () => {
    await service?.stop();
    await upstream?.close();
    await rm(data, { recursive: true, force: true });
  });

  async function send({ path, apiKey, clientBody }: Next): Promise<Response> {
    const response = await fetch(`${service?.url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        authorization: `Bearer ${apiKey}`,
      },
      body: clientBody,
    });
    await response.text();
    return response;
  }

  test.each(next)(
    "on $wire a conversation goes on in its session, with the same bytes",
    async (one) => {
      const before = upstream?.requests.length ?? 0;
      const response = await send(one);
      expect(response.headers.get("x-plimsoll-session")).toBe(one.session);
      // Plimsoll's own tools are described anew by each version. Everything else is as it was, edits and marks included.
      const sent = (upstream?.requests ?? []).slice(before).map(({ body }) => body.toString());
      expect(sent.map((body) => withoutOwnTools(one.wire, body))).toEqual([
        withoutOwnTools(one.wire, one.sentBody),
      ]);
      if (service !== undefined) expect(await readEdits(service, one.session)).not.toEqual([]);
    },
  );

  test("every session of the old store has a title, and its route knows it by the beginning of its id", async () => {
    const sessions = await service?.api<{
      readonly items: readonly { readonly id: string; readonly title?: string }[];
    }>("/api/sessions");
    for (const { id, title } of sessions?.items ?? []) {
      expect(title).toMatch(/\S/);
      const found = await service?.api<JsonObject>(`/api/sessions/${id.slice(0, 12)}`);
      expect([found?.["id"], found?.["title"]]).toEqual([id, title]);
    }
    expect(sessions?.items.length).toBeGreaterThan(0);
  });

  test("every row of the old store has a seal after the upgrade, and the old file is kept", () => {
    const database = new Database(join(data, "plimsoll.db"), { readonly: true });
    expect(database.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    const tables = ["sessions", "branches", "messages", "turns", "edits", "archive", "events"];
    for (const table of tables) {
      const rows = database.prepare(`SELECT count(*), count(seal) FROM ${table}`).raw().get();
      const [all, sealed] = rows as [number, number];
      expect([table, sealed, all > 0]).toEqual([table, all, true]);
    }
    database.close();
    const kept = new Database(join(data, `plimsoll.db.v${version}.bak`), { readonly: true });
    expect(kept.pragma("user_version", { simple: true })).toBe(version);
    kept.close();
  });
});
