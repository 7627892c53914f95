/**
 * What the running service tells a collector and Prometheus of its turns: names and attributes by the conventions, figures that
 * add up, nothing of what was said unless somebody asks for it, and no harm where the collector is away.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { type Answer, call, reply, text } from "./harness/answer.ts";
import type { JsonObject, Wire } from "./harness/json.ts";
import { figure } from "./harness/metrics-page.ts";
import { resultsIn, toolNamesIn } from "./harness/own-judge.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

/* A collector, and what it was told */

type Value = string | number | boolean | readonly Value[];
interface Span {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly milliseconds: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, Value>>;
}
interface Point {
  readonly attributes: Readonly<Record<string, Value>>;
  readonly value: number;
  readonly bounds: readonly number[];
}

interface Received {
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

interface Collector {
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** A hanging one takes everything and says nothing. */
async function startCollector({ isHanging = false } = {}): Promise<Collector> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    received.push({ path: request.url ?? "", headers: request.headers, body });
    if (!isHanging) response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: OTLP as JSON, whose shape the assertions check.
type Otlp = any;

function plain(value: Otlp): Value {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plain);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}

function attributesOf(list: Otlp): Record<string, Value> {
  return Object.fromEntries(list.map(({ key, value }: Otlp) => [key, plain(value)]));
}

function bodies({ received }: Collector, path: string): readonly Otlp[] {
  return received.filter((one) => one.path === path).map(({ body }) => JSON.parse(body));
}

function spansIn(collector: Collector): readonly Span[] {
  return bodies(collector, "/v1/traces")
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }: Otlp) => scopeSpans)
    .flatMap(({ spans }: Otlp) => spans)
    .map((span: Otlp) => ({
      ...span,
      milliseconds: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      isError: span.status.code === 2,
      attributes: attributesOf(span.attributes),
    }));
}

/** Of the last export: counts add up over the life of the service. */
function pointsIn(collector: Collector, name: string): readonly Point[] {
  const last = bodies(collector, "/v1/metrics").at(-1);
  return (last?.resourceMetrics ?? [])
    .flatMap(({ scopeMetrics }: Otlp) => scopeMetrics)
    .flatMap(({ metrics }: Otlp) => metrics)
    .filter((metric: Otlp) => metric.name === name)
    .flatMap((metric: Otlp) => (metric.histogram ?? metric.sum).dataPoints)
    .map((point: Otlp) => ({
      attributes: attributesOf(point.attributes),
      value: point.sum ?? point.asDouble ?? Number(point.asInt),
      bounds: point.explicitBounds ?? [],
    }));
}

/* A service, and what it is asked */

const SECRET = "cinnabar";
const MODEL = "claude-sonnet-4-6";
const USAGE = { input: 100, cached: 30, created: 20, output: 7 };
const tools = [
  { name: "read_file", description: "Reads a file.", input_schema: { type: "object" } },
];

function answerTo({ wire, body }: ScriptRequest): Answer {
  const asked = JSON.stringify(body);
  if (asked.includes("Fail now."))
    return { kind: "failure", status: 500, body: { error: { message: `No ${SECRET}.` } } };
  const isAsking = asked.includes("Look it up.") && resultsIn(wire, body).length === 0;
  if (isAsking && toolNamesIn(wire, body).includes("recall"))
    return { ...reply(call("call_1", "recall", { query: SECRET })), usage: USAGE };
  return { ...reply(text(`Noted, ${SECRET}.`)), usage: USAGE };
}

function serviceWith(upstream: Upstream, env: Readonly<Record<string, string>>): Promise<Service> {
  const model = {
    contextWindow: 8_000,
    maxOutputTokens: 500,
    contextWindowBufferTokens: 500,
    tokenizer: "tiktoken:o200k_base",
  };
  return startService({
    upstreams: {},
    env,
    config: {
      own_tools: "first-request",
      providers: {
        anthropic: { baseUrl: upstream.url, models: { [MODEL]: model } },
        openai: { baseUrl: `${upstream.url}/v1` },
      },
    },
  });
}

class Talk {
  readonly #service: Service;
  readonly #wire: Wire;
  readonly #random = diceOf(11);
  readonly #history: JsonObject[] = [];
  session = "";
  turns = 0;

  constructor(service: Service, wire: Wire = "anthropic") {
    this.#service = service;
    this.#wire = wire;
  }

  async say(words: string): Promise<Asked> {
    this.#history.push({ role: "user", content: words });
    const fields = this.#wire === "anthropic" ? { tools, max_tokens: 500 } : {};
    const body = bodyOf(this.#wire, this.#history, fields);
    const asked = await ask(this.#service.url, { wire: this.#wire, body });
    this.session = asked.sessionId;
    this.turns++;
    this.#history.push(asked.message);
    return asked;
  }

  async untilCompacted(): Promise<void> {
    for (let turn = 0; turn < 60; turn++) {
      const asked = await this.say(`${SECRET} ${prose(this.#random, 400)}`);
      if (asked.headers.get("x-plimsoll-action") === "compacted") return;
    }
    throw new Error("60 turns, and nothing was compacted.");
  }
}

async function metricsOf(service: Service): Promise<string> {
  const headers = { authorization: `Bearer ${OWNER_TOKEN}` };
  return (await fetch(`${service.url}/metrics`, { headers })).text();
}

function namesIn(page: string): ReadonlyMap<string, string> {
  return new Map(
    [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", kind = ""]) => [name, kind]),
  );
}

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream({ script: answerTo });
});
afterAll(() => upstream.close());

describe("a collector and Prometheus", () => {
  let collector: Collector;
  let page = "";
  let compactions = 0;
  const talks: Talk[] = [];

  beforeAll(async () => {
    collector = await startCollector();
    const service = await serviceWith(upstream, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=of-the-collector",
      OTEL_SERVICE_NAME: "load-line",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    });
    const [long, failing] = [new Talk(service), new Talk(service, "openai-chat")];
    talks.push(long, failing);
    try {
      await long.untilCompacted();
      await long.say("Look it up.");
      await failing.say("Fail now.");
      const path = `/api/sessions/${long.session}/receipts`;
      compactions = await eventually(5_000, "a receipt", async () => {
        const { items } = await service.api<{ items: readonly unknown[] }>(path);
        return items.length > 0 ? items.length : undefined;
      });
      page = await metricsOf(service);
    } finally {
      await service.stop();
    }
  });
  afterAll(() => collector.close());

  const chats = (): readonly Span[] =>
    spansIn(collector).filter(({ name }) => name.startsWith("chat "));

  test("every turn is one span of the client's kind, by the names of the convention", () => {
    const [long, failing] = talks;
    expect(chats()).toHaveLength((long?.turns ?? 0) + (failing?.turns ?? 0));
    const [first] = chats();
    expect(first).toMatchObject({ name: `chat ${MODEL}`, kind: 3, isError: false });
    expect(first?.parentSpanId).toBeUndefined();
    expect(first?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": MODEL,
      "gen_ai.response.finish_reasons": ["end_turn"],
      "gen_ai.conversation.id": long?.session,
      "gen_ai.usage.input_tokens": 150,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 30,
      "gen_ai.usage.cache_creation.input_tokens": 20,
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(upstream.url).port),
      "plimsoll.outcome": "passthrough",
      "plimsoll.status": "complete",
    });
    expect(first?.attributes).not.toHaveProperty("error.type");
  });

  test("a turn that failed is an error, and not in the provider's words", () => {
    const failed = chats().filter(({ isError }) => isError);
    expect(failed.map(({ attributes }) => attributes)).toEqual([
      expect.objectContaining({ "error.type": "failed", "gen_ai.provider.name": "openai" }),
    ]);
  });

  test("a compaction stands below its turn, with what it did", () => {
    const found = spansIn(collector).filter(({ name }) => name === "plimsoll.compact");
    expect(found).toHaveLength(compactions);
    for (const { attributes, parentSpanId, traceId } of found) {
      const turn = chats().find(({ spanId }) => spanId === parentSpanId);
      expect(turn).toMatchObject({ traceId, attributes: { "plimsoll.outcome": "compacted" } });
      const before = Number(attributes["plimsoll.compaction.tokens_before"]);
      expect(attributes["plimsoll.compaction.tokens_after"]).toBeLessThan(before);
      expect(attributes["plimsoll.compaction.strategies"]).not.toEqual([]);
      expect(attributes["plimsoll.compaction.reason"]).toMatch(/^(compact|forced|cold|pays)$/);
    }
  });

  test("a lookup stands below its turn, which counts all of its rounds", () => {
    const found = spansIn(collector).filter(({ name }) => name === "execute_tool recall");
    const [lookup] = found;
    expect(found).toHaveLength(1);
    expect(lookup?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "recall",
    });
    const turn = chats().find(({ spanId }) => spanId === lookup?.parentSpanId);
    expect(turn?.attributes).toMatchObject({
      "plimsoll.inner_rounds": 1,
      "gen_ai.usage.input_tokens": 300,
      "gen_ai.usage.output_tokens": 14,
    });
    expect(turn?.milliseconds).toBeGreaterThanOrEqual(lookup?.milliseconds ?? Number.NaN);
  });

  test("nothing of what was said, asked, answered or refused leaves the service", () => {
    for (const { body } of collector.received) {
      expect(body).not.toContain(SECRET);
      expect(body).not.toContain("Look it up");
    }
  });

  test("figures have the buckets of the convention, add up, and know no session", () => {
    const turns = chats().filter(({ isError }) => !isError).length;
    const points = pointsIn(collector, "gen_ai.client.token.usage");
    const byType = new Map(points.map((point) => [point.attributes["gen_ai.token.type"], point]));
    expect(byType.get("input")?.value).toBe((turns + 1) * 150);
    expect(byType.get("output")?.value).toBe((turns + 1) * 7);
    expect(byType.get("input")?.bounds.slice(0, 4)).toEqual([1, 4, 16, 64]);
    expect(byType.get("input")?.bounds.at(-1)).toBe(67_108_864);
    const durations = pointsIn(collector, "gen_ai.client.operation.duration");
    expect(durations.map(({ attributes }) => attributes["error.type"]).sort()).toEqual([
      "failed",
      undefined,
    ]);
    expect(durations[0]?.bounds.slice(0, 3)).toEqual([0.01, 0.02, 0.04]);
    expect(durations[0]?.bounds.at(-1)).toBe(81.92);
    const counted = pointsIn(collector, "plimsoll.compaction.count");
    expect(counted.reduce((sum, { value }) => sum + value, 0)).toBe(compactions);
    for (const { path, body } of collector.received)
      if (path === "/v1/metrics") expect(body).not.toMatch(/(ses|turn|br)_\w{22}/);
  });

  test("the environment says who the service is and what the collector wants to see", () => {
    for (const { headers } of collector.received)
      expect(headers["x-collector-key"]).toBe("of-the-collector");
    const [sent] = bodies(collector, "/v1/traces");
    expect(attributesOf(sent.resourceSpans[0].resource.attributes)).toMatchObject({
      "service.name": "load-line",
      "service.version": expect.stringMatching(/^\d/),
      "service.instance.id": expect.stringMatching(/./),
      "deployment.environment.name": "test",
    });
  });

  test("Prometheus counts the same turns by provider, and compactions with their time", () => {
    const lines = page.split("\n").filter((line) => line.startsWith("plimsoll_requests_total{"));
    const counts = lines.map((line) => Number(line.split(" ").at(-1)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(chats().length);
    const failed =
      'plimsoll_requests_total{provider="openai",outcome="passthrough",status="failed"}';
    expect(figure(page, failed)).toBe(1);
    const untouched = chats().filter(
      ({ attributes }) => attributes["plimsoll.outcome"] === "passthrough",
    );
    expect(figure(page, 'plimsoll_passthrough_total{reason="fits"}')).toBe(untouched.length);
    expect(figure(page, "plimsoll_compaction_duration_seconds_count")).toBe(compactions);
    expect(figure(page, "plimsoll_tokens_saved_total")).toBeGreaterThan(0);
    expect(figure(page, "plimsoll_archive_bytes")).toBeGreaterThan(0);
    for (const kind of ["sessions", "requests", "facts"])
      expect(figure(page, `plimsoll_memory_bytes{kind="${kind}"}`)).toBeGreaterThan(0);
    expect(figure(page, 'plimsoll_own_calls_total{tool="recall",failed="false"}')).toBe(1);
    expect(page).not.toMatch(/ses_|turn_/);
  });

  test("the documentation lists every metric, and every attribute that was exported", async () => {
    const docs = await readFile(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
    const listed = [...docs.matchAll(/^\| `(plimsoll_\w+)` \| (\w+) \|/gm)];
    expect(new Map(listed.map(([, name = "", kind = ""]) => [name, kind]))).toEqual(namesIn(page));
    const names = new Set(spansIn(collector).flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].filter((name) => !docs.includes(`\`${name}\``))).toEqual([]);
  });

  test("the Grafana dashboard asks for nothing that is not there", async () => {
    const file = new URL("../../../examples/grafana/plimsoll.json", import.meta.url);
    const { panels } = JSON.parse(await readFile(file, "utf8"));
    const asked = panels.flatMap(({ targets = [] }: Otlp) => targets).map(({ expr }: Otlp) => expr);
    const queried = new Set<string>(
      asked.flatMap((expr: string) => expr.match(/plimsoll_\w+/g) ?? []),
    );
    const known = [...namesIn(page)].flatMap(([name, kind]) =>
      kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    expect(queried.size).toBeGreaterThan(10);
    expect([...queried].filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe("what was said", () => {
  test("is told where somebody asks for it: what was new in each turn, and its answer, cut", async () => {
    const collector = await startCollector();
    const service = await serviceWith(upstream, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
      OTEL_BSP_SCHEDULE_DELAY: "10",
    });
    try {
      const talk = new Talk(service);
      await talk.say(`First ${SECRET}.`);
      await talk.say(`Second ${"x".repeat(10_000)}.`);
      // What stops at once may have no time to read what was said last.
      await eventually(5_000, "two spans", async () => spansIn(collector)[1]);
    } finally {
      await service.stop();
    }
    const told = spansIn(collector).map(({ attributes }) => ({
      input: JSON.parse(String(attributes["gen_ai.input.messages"])),
      output: JSON.parse(String(attributes["gen_ai.output.messages"])),
    }));
    await collector.close();
    const answer = { type: "text", content: `Noted, ${SECRET}.` };
    expect(told).toMatchObject([
      {
        input: [{ role: "user", parts: [{ type: "text", content: `First ${SECRET}.` }] }],
        output: [{ role: "assistant", parts: [answer], finish_reason: "end_turn" }],
      },
      { input: [{ role: "user", parts: [{ type: "text" }] }], output: [{ parts: [answer] }] },
    ]);
    expect(told[1]?.input[0].parts[0].content).toHaveLength(8_193);
    expect(collector.received.map(({ path }) => path)).not.toContain("/v1/metrics");
  });
});

describe("a collector that is not there", () => {
  test.each([
    { name: "refuses connections", isHanging: false },
    { name: "takes everything and never answers", isHanging: true },
  ])(
    "changes nothing for clients, and does not hold the service: it $name",
    async ({ isHanging }) => {
      const collector = await startCollector({ isHanging });
      if (!isHanging) await collector.close();
      const service = await serviceWith(upstream, {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_TIMEOUT: "60000",
        OTEL_BSP_SCHEDULE_DELAY: "10",
        OTEL_METRIC_EXPORT_INTERVAL: "20",
      });
      try {
        const talk = new Talk(service);
        for (const words of ["One.", "Two.", "Three."])
          expect((await talk.say(words)).status).toBe(200);
        process.kill(service.pid, "SIGTERM");
        // Long before the exporters give up by themselves.
        await eventually(10_000, "the end of the service", async () => isGone(service.pid));
      } finally {
        await service.stop();
        await collector.close();
      }
      expect(service.stderr).not.toMatch(/unhandled|Error:/i);
    },
  );

  test("is told to the operator, once", async () => {
    const collector = await startCollector();
    await collector.close();
    const service = await serviceWith(upstream, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
      OTEL_BSP_SCHEDULE_DELAY: "10",
    });
    try {
      const talk = new Talk(service);
      await eventually(20_000, "a failure, and turns behind it", async () => {
        await talk.say("One more.");
        return talk.turns > 20 && service.stderr.includes("ECONNREFUSED") ? true : undefined;
      });
    } finally {
      await service.stop();
    }
    expect(service.stderr.match(/telemetry could not be exported: .*ECONNREFUSED.*/g)).toHaveLength(
      1,
    );
  });
});

function isGone(pid: number): true | undefined {
  try {
    process.kill(pid, 0);
    return undefined;
  } catch {
    return true;
  }
}
