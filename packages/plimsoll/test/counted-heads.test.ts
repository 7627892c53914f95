/** A head that fills much of a small window is counted by its provider once, and by the client's own key. */

import { afterEach, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream, type UpstreamOptions } from "./harness/upstream.ts";
import { prose, seededRandom } from "./harness/words.ts";

const opened: (Service | Upstream)[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await ("stop" in one ? one.stop() : one.close());
});

const random = seededRandom(16);
const system = prose(random, 3000);
const tools = Array.from({ length: 20 }, (_, at) => ({
  name: `tool_${at}`,
  description: prose(random, 300),
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));

interface Talked {
  readonly counts: readonly { readonly key: unknown }[];
  readonly asked: number;
  /** Of the first turn, as Plimsoll measured it before anything was reported. */
  readonly head: number;
}

async function talk(settings: JsonObject, window: UpstreamOptions["window"]): Promise<Talked> {
  const upstream = await startUpstream({
    script: () => reply(text("Noted.")),
    ...(window === undefined ? {} : { window }),
  });
  const model = { contextWindow: 30_000 };
  const anthropic = { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model }, ...settings };
  const service = await startService({ upstreams: {}, config: { providers: { anthropic } } });
  opened.push(upstream, service);
  const history: JsonObject[] = [];
  let session = "";
  for (let turn = 0; turn < 3; turn++) {
    history.push({ role: "user", content: `Question ${turn}.` });
    const body = { ...bodyOf("anthropic", [...history]), system, tools, max_tokens: 500 };
    const asked = await ask(service.url, {
      wire: "anthropic",
      body,
      headers: { "x-plimsoll-session": "counted" },
    });
    session = asked.headers.get("x-plimsoll-session") ?? session;
    history.push({ role: "assistant", content: "Noted." });
  }
  const turns = await service.api<{
    readonly items: readonly {
      readonly measurement: { readonly system: number; readonly tools: number };
    }[];
  }>(`/api/sessions/${session}/turns`);
  const first = turns.items[0]?.measurement;
  const counts = upstream.requests.filter(({ path }) =>
    path.startsWith("/v1/messages/count_tokens"),
  );
  return {
    counts: counts.map(({ headers }) => ({ key: headers["x-api-key"] })),
    asked: upstream.requests.length - counts.length,
    head: (first?.system ?? 0) + (first?.tools ?? 0),
  };
}

test("once for three turns, with the key of the client, and the first turn is measured by it", async () => {
  const { counts, asked, head } = await talk(
    { count_tokens: true },
    { tokens: 30_000, factor: 0.5 },
  );
  expect(asked).toBe(3);
  expect(counts).toEqual([{ key: "key-of-nobody" }]);
  const without = await talk({ count_tokens: false }, { tokens: 30_000, factor: 0.5 });
  expect(without.counts).toEqual([]);
  expect(head).toBeLessThan(without.head * 0.6);
});

test("a server that is not the vendor's is not asked unless the configuration says so", async () => {
  expect((await talk({}, { tokens: 30_000 })).counts).toEqual([]);
});
