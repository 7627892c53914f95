/** A head that fills much of a small window is counted by its provider once, and by the client's own key. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openEngine } from "../../src/engine.ts";
import { countTokensAt } from "../../src/server/proxy/count-tokens.ts";
import { createUpstreamAgent } from "../../src/server/proxy/relay.ts";
import type { Preamble } from "../../src/session/measure/preamble.ts";
import {
  type AskedPreamble,
  createPreambleCounts,
} from "../../src/session/measure/preamble-counts.ts";
import { createTargets } from "../../src/session/measure/target.ts";
import { readSlices } from "../../src/wire/format/slices.ts";
import { wires } from "../../src/wire/wires.ts";
import { called, requestOf, result, said, tokensOfText, tool } from "../generate/bodies.ts";
import { reply, text } from "../harness/answer.ts";
import type { JsonObject } from "../harness/json.ts";
import { ask, bodyOf } from "../harness/raw-client.ts";
import { type Service, startService } from "../harness/service.ts";
import { startUpstream, type Upstream, type UpstreamOptions } from "../harness/upstream.ts";
import { prose } from "../harness/words.ts";

const opened: (Service | Upstream)[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await ("stop" in one ? one.stop() : one.close());
});

const random = diceOf(16);
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

const plainHead: Preamble = {
  bytes: new Uint8Array(),
  system: { tokens: 0, certainty: "exact" },
  tools: { tokens: 0, certainty: "exact" },
};
const body = new TextEncoder().encode('{"model":"claude-sonnet-4-6","messages":[]}');
const slices = readSlices(body);
const askedHead: AskedPreamble = {
  target: createTargets({ providers: { anthropic: { contextWindow: 16_000 } } }, () => 0).resolve(
    "anthropic",
    wires.anthropic,
    { model: "claude-sonnet-4-6" },
  ),
  request: wires.anthropic.body.read(body, slices),
  body,
  slices,
};

test("a count that cannot be meant is not believed, and an endless one is not read", async () => {
  const answers = ['{"input_tokens":1000000000}', '{"input_tokens":1}', " ".repeat(1_000_000)];
  for (const words of answers) {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(words);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const count = countTokensAt({
      agent: createUpstreamAgent(),
      request: { headers: {}, rawHeaders: [] } as unknown as IncomingMessage,
      url: () => new URL(`http://127.0.0.1:${port}/v1/messages`),
      wire: wires.anthropic,
    });
    const counts = createPreambleCounts({ isReportedFor: () => false }, {});
    const head = { ...plainHead, system: { tokens: 9_000, certainty: "estimate" as const } };
    expect(await counts.ratio(head, { ...askedHead, count })).toBe(1);
    server.close();
  }
});

test("a tool that comes and goes moves what is projected by no more than itself", async () => {
  const settings = { contextWindow: 60_000, tokenizer: "approximate", count_tokens: true };
  const engine = await openEngine({
    store: "memory",
    config: { providers: { anthropic: settings } },
  });
  // The provider counts half of what we do.
  const truth = (bytes: number): number => Math.ceil((bytes / 4) * 0.5);
  let counts = 0;
  const messages: JsonObject[] = [said("Look.")];
  for (let turn = 0; turn < 10; turn++) {
    const extra = { ...tool("anthropic", tokensOfText(500)), name: "extra" };
    const given = [tool("anthropic", tokensOfText(50_000)), ...(turn % 4 >= 2 ? [extra] : [])];
    const head = { system: tokensOfText(10_000), tools: given, max_tokens: 8_000 };
    const { body: asked } = requestOf("anthropic", messages, head);
    const received = await engine.receive({
      ...{ tenant: "t", provider: "anthropic", wire: wires.anthropic, body: asked },
      hints: { clientKey: "test:tools", isCompacted: false },
      countTokens: async (counted) => {
        counts++;
        return truth(counted.length);
      },
    });
    const inputTokens = truth((received.body ?? asked).length);
    const { tokensAfter, outcome } = received.fitted;
    expect(outcome, `turn ${turn}`).not.toBe("compacted");
    expect(Math.abs(tokensAfter / inputTokens - 1), `turn ${turn}`).toBeLessThan(0.05);
    const call = called("anthropic", `c${turn}`);
    const usage = { inputTokens, outputTokens: 30 };
    await received.end({
      status: "complete",
      answer: { outcome: "message", choices: [[call]], usage },
    });
    messages.push(call, result("anthropic", `c${turn}`, tokensOfText(1_000)));
  }
  expect(counts).toBe(1);
  await engine.close();
});
