import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { PriceList } from "../../prompt/price-rows.ts";
import { createAllowance } from "./allowance.ts";
import type { ModelSummary } from "./bounded-call.ts";
import { createSummariser, type SummariserSettings } from "./summariser.ts";

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
}
type Answer = (response: ServerResponse, asked: Asked) => void;

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A provider on this machine, and the requests that it received. */
async function provider(answer: Answer): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text) };
      asked.push(one);
      answer(response, one);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

const json =
  (body: unknown, status = 200): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
const anthropicAnswer = (text: string): Answer =>
  json({
    type: "message",
    id: "msg_1",
    role: "assistant",
    model: "small",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1_000, output_tokens: 100 },
  });
const chatAnswer = (text: string): Answer =>
  json({
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "small",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
  });

const noPrices: PriceList = { cache: { kind: "unknown" }, source: "test", date: "" };

function prices(input: number, output: number): PriceList {
  return { ...noPrices, prices: { input, output, cacheRead: input, cacheWrite: input } };
}

interface Trial extends Partial<SummariserSettings> {
  readonly now?: () => number;
  readonly signal?: AbortSignal;
  readonly fetch?: typeof globalThis.fetch;
}

function summariserFor(url: string, trial: Trial = {}) {
  const { now = () => 0, signal = new AbortController().signal, fetch, ...settings } = trial;
  const summariser = createSummariser(
    {
      provider: "anthropic",
      model: "small",
      baseUrl: url,
      apiKeyEnv: "SMALL_KEY",
      prices: noPrices,
      ...settings,
    },
    { now, env: { SMALL_KEY: "sk-secret" }, ...(fetch === undefined ? {} : { fetch }) },
  );
  const ask = (): Promise<ModelSummary> =>
    summariser.summarise({
      source: [{ number: 1, speaker: "user", text: "Never touch the tests." }],
      maxTokens: 300,
      signal,
    });
  return { ask, summariser };
}

describe("a summary is asked for", () => {
  test("in Anthropic's form", async () => {
    const { url, asked } = await provider(anthropicAnswer("## Rules\n- #1 Never touch the tests."));
    expect(await summariserFor(url).ask()).toEqual({
      kind: "text",
      text: "## Rules\n- #1 Never touch the tests.",
      usage: { inputTokens: 1_000, outputTokens: 100 },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      path: "/v1/messages",
      headers: {
        "x-api-key": "sk-secret",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
      },
      body: { model: "small", max_tokens: 300, messages: [{ role: "user" }] },
    });
    expect(asked[0]?.body["system"]).toContain("memory of a conversation");
    expect(JSON.stringify(asked[0]?.body["messages"])).toContain("Never touch the tests.");
    expect(asked[0]?.body).not.toHaveProperty("tools");
  });

  test.each([
    ["openai", "max_completion_tokens"],
    ["compatible", "max_tokens"],
    ["ollama", "max_tokens"],
  ] as const)("in the form of %s, with its limit in %s", async (name, limit) => {
    const { url, asked } = await provider(chatAnswer("## State\n- All is well."));
    expect(await summariserFor(url, { provider: name }).ask()).toMatchObject({
      kind: "text",
      text: "## State\n- All is well.",
      usage: { inputTokens: 1_000, outputTokens: 100 },
    });
    expect(asked[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: "Bearer sk-secret" },
      body: { model: "small", messages: [{ role: "system" }, { role: "user" }] },
    });
    expect(Object.entries(asked[0]?.body ?? {})).toContainEqual([limit, 300]);
    expect(Object.keys(asked[0]?.body ?? {}).sort()).toEqual(["messages", limit, "model"].sort());
  });

  test("in Gemini's form, with the model in the path", async () => {
    const { url, asked } = await provider(
      json({
        candidates: [
          {
            content: { role: "model", parts: [{ text: "## State\n- All is well." }] },
            finishReason: "STOP",
          },
        ],
        usageMetadata: {
          promptTokenCount: 1_000,
          candidatesTokenCount: 90,
          thoughtsTokenCount: 10,
        },
      }),
    );
    expect(await summariserFor(url, { provider: "gemini" }).ask()).toMatchObject({
      kind: "text",
      text: "## State\n- All is well.",
      usage: { inputTokens: 1_000, outputTokens: 100 },
    });
    expect(asked[0]).toMatchObject({
      path: "/v1/models/small:generateContent",
      headers: { "x-goog-api-key": "sk-secret" },
      body: { contents: [{ role: "user" }], generationConfig: { maxOutputTokens: 300 } },
    });
    expect(JSON.stringify(asked[0]?.body["systemInstruction"])).toContain(
      "memory of a conversation",
    );
    expect(asked[0]?.body).not.toHaveProperty("model");
  });

  test("without a key where the server is one's own", async () => {
    const { url, asked } = await provider(chatAnswer("x y"));
    const answer = await summariserFor(url, { provider: "ollama", apiKeyEnv: "NONE" }).ask();
    expect(answer.kind).toBe("text");
    expect(asked[0]?.headers).not.toHaveProperty("authorization");
  });

  test.each(["/", "///", "?version=2"])(
    "at the same path when the base ends in %s",
    async (end) => {
      const { url, asked } = await provider(chatAnswer("x y"));
      await summariserFor(`${url}${end}`, { provider: "compatible" }).ask();
      const query = end.startsWith("?") ? end : "";
      expect(asked[0]?.path).toBe(`/v1/chat/completions${query}`);
    },
  );

  test("and what the model thought, or called, is no part of the summary", async () => {
    const blocks = [
      { type: "thinking", thinking: "let me see", signature: "s" },
      { type: "text", text: "## State\n" },
      { type: "text", text: "- All is well." },
    ];
    const { url } = await provider(json({ type: "message", content: blocks, usage: {} }));
    expect(await summariserFor(url).ask()).toMatchObject({ text: "## State\n- All is well." });
  });

  test("and counts as the worst case where the provider reports half of its usage", async () => {
    const message = { role: "assistant", content: "x y" };
    const { url } = await provider(
      json({ choices: [{ message }], usage: { prompt_tokens: 1_000 } }),
    );
    const answer = await summariserFor(url, { provider: "compatible" }).ask();
    expect(answer).toMatchObject({ kind: "text", usage: { outputTokens: 300 } });
  });

  test("with no more tokens than the settings allow", async () => {
    const { url, asked } = await provider(chatAnswer("x y"));
    await summariserFor(url, { provider: "compatible", maxTokens: 50 }).ask();
    expect(asked[0]?.body["max_tokens"]).toBe(50);
  });
});

describe("it fails in words, and never throws, when", () => {
  test.each(["anthropic", "compatible"] as const)(
    "%s answers 500, and is not asked twice",
    async (name) => {
      const { url, asked } = await provider(
        json({ type: "error", error: { message: "boom with sk-secret" } }, 500),
      );
      const answer = await summariserFor(url, { provider: name }).ask();
      expect(answer).toEqual({
        kind: "failed",
        reason: "the model's server answered 500: boom with [credential]",
      });
      expect(asked).toHaveLength(1);
    },
  );

  test("an error comes as plain text, or at length", async () => {
    const { url } = await provider((response) => {
      response.writeHead(502, { "content-type": "text/html" });
      response.end(`<h1>sk-secret</h1>${"x".repeat(10_000)}`);
    });
    const answer = await summariserFor(url).ask();
    expect(answer).toMatchObject({ kind: "failed" });
    const reason = answer.kind === "failed" ? answer.reason : "";
    expect(reason).toMatch(/^the model's server answered 502: <h1>\[credential\]<\/h1>x/);
    expect(reason.length).toBeLessThanOrEqual(300);
  });

  test("an error comes with a status that says that all is well", async () => {
    const { url } = await provider(json({ error: { message: "the model is busy" } }));
    expect(await summariserFor(url, { provider: "compatible" }).ask()).toEqual({
      kind: "failed",
      reason: "the model's server said: the model is busy",
    });
  });

  test.each([301, 302, 307, 308])(
    "the server sends a redirect %i, which is not followed",
    async (status) => {
      const other = await provider(chatAnswer("stolen"));
      const { url } = await provider((response) => {
        response.writeHead(status, { location: `${other.url}/chat/completions` });
        response.end();
      });
      const answer = await summariserFor(url, { provider: "compatible" }).ask();
      expect(answer).toMatchObject({ kind: "failed" });
      expect(JSON.stringify(answer)).toContain(`${status}: Plimsoll does not follow redirects`);
      expect(other.asked).toEqual([]);
    },
  );

  test("a key that cannot be sent in a header is refused, and the error does not quote it", async () => {
    const key = "sk-one\nsk-two";
    const summariser = createSummariser(
      {
        provider: "anthropic",
        model: "small",
        baseUrl: "http://127.0.0.1:1",
        apiKeyEnv: "KEY",
        prices: noPrices,
      },
      { now: () => 0, env: { KEY: ` ${key}\n` } },
    );
    const signal = new AbortController().signal;
    const answer = await summariser.summarise({ source: [], maxTokens: 10, signal });
    expect(answer.kind).toBe("failed");
    expect(JSON.stringify(answer)).not.toMatch(/sk-one|sk-two/);
  });

  test("the address holds a password, which no word repeats", async () => {
    const answer = await summariserFor("http://me:hunter22@127.0.0.1:1/v1").ask();
    expect(answer).toEqual({
      kind: "failed",
      reason:
        "The summariser's baseUrl must not contain a user name or a password. Put the key into SMALL_KEY.",
    });
  });

  test("the answer has no end", async () => {
    const { url } = await provider((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void => {
        while (!response.destroyed && response.write(" ".repeat(100_000)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect(await summariserFor(url).ask()).toEqual({
      kind: "failed",
      reason: "the model's answer has more than 4000000 bytes",
    });
  });

  test("the provider hangs", async () => {
    const { url } = await provider(() => undefined);
    expect(await summariserFor(url, { timeoutMs: 150 }).ask()).toEqual({
      kind: "failed",
      reason: "it took too long",
    });
  });

  test("the provider hangs in the middle of its answer", async () => {
    const { url } = await provider((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"type":"message","content":[');
    });
    expect(await summariserFor(url, { timeoutMs: 300 }).ask()).toMatchObject({ kind: "failed" });
  });

  test("whatever fetches does not heed the signal", async () => {
    const fetch = () => new Promise<never>(() => undefined);
    expect(await summariserFor("http://127.0.0.1:1/v1", { fetch, timeoutMs: 150 }).ask()).toEqual({
      kind: "failed",
      reason: "it took too long",
    });
  });

  test("it is called off", async () => {
    const { url } = await provider(() => undefined);
    const controller = new AbortController();
    const answer = summariserFor(url, { signal: controller.signal }).ask();
    controller.abort();
    expect(await answer).toEqual({ kind: "failed", reason: "it was cancelled" });
  });

  test.each([
    ["no JSON", "<html>busy</html>"],
    ["half of it", '{"type":"message","content":'],
    ["nothing", ""],
    ["something else", '{"hello":"world"}'],
  ])("the answer is garbage: %s", async (_, body) => {
    const { url } = await provider((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(body);
    });
    expect((await summariserFor(url).ask()).kind).toBe("failed");
    expect((await summariserFor(url, { provider: "compatible" }).ask()).kind).toBe("failed");
  });

  test("the answer says nothing", async () => {
    const { url } = await provider(chatAnswer(" \n "));
    expect(await summariserFor(url, { provider: "compatible" }).ask()).toEqual({
      kind: "failed",
      reason: "the answer was empty",
    });
  });

  test("nobody listens", async () => {
    const answer = await summariserFor("http://127.0.0.1:1/v1").ask();
    expect(answer).toMatchObject({ kind: "failed" });
    expect(JSON.stringify(answer)).toMatch(/fetch failed: .+/);
  });

  test("there is no key, or no address", async () => {
    const noKey = await summariserFor("http://127.0.0.1:1/v1", { apiKeyEnv: "NONE" }).ask();
    expect(noKey).toEqual({ kind: "failed", reason: "The summariser needs a key. Set NONE." });
    const { summarise } = createSummariser(
      { provider: "compatible", model: "small", apiKeyEnv: "NONE", prices: noPrices },
      { now: () => 0, env: {} },
    );
    const task = { source: [], maxTokens: 10, signal: new AbortController().signal };
    expect(await summarise(task)).toMatchObject({ kind: "failed" });
  });
});

test("an answer that never ends is cut", async () => {
  const { url } = await provider(chatAnswer("word ".repeat(100_000)));
  const answer = await summariserFor(url, { provider: "compatible" }).ask();
  expect(answer.kind === "text" && answer.text.length).toBeLessThanOrEqual(300 * 16);
});

describe("the allowance", () => {
  test("has so many calls an hour, and counts those that failed", async () => {
    let time = 0;
    const { url, asked } = await provider(json({}, 500));
    const { ask } = summariserFor(url, { maxCallsPerHour: 2, now: () => time });
    await ask();
    await ask();
    expect(await ask()).toEqual({
      kind: "failed",
      reason: "the limit of 2 calls per hour is reached",
    });
    expect(asked).toHaveLength(2);
    time = 3_600_000;
    await ask();
    expect(asked).toHaveLength(3);
  });

  test("has so much money a day, by what the provider reports", async () => {
    let time = 0;
    const { url, asked } = await provider(anthropicAnswer("fine, thanks"));
    const { ask, summariser } = summariserFor(url, {
      now: () => time,
      prices: prices(1, 10),
      maxUsdPerDay: 0.008,
    });
    expect((await ask()).kind).toBe("text");
    expect(summariser.spentUsdToday()).toBeCloseTo(0.002);
    expect((await ask()).kind).toBe("text");
    expect((await ask()).kind).toBe("text");
    expect(await ask()).toEqual({
      kind: "failed",
      reason: "the limit of 0.008 USD per day would be exceeded",
    });
    expect(asked).toHaveLength(3);
    time = 86_400_000;
    expect((await ask()).kind).toBe("text");
    expect(summariser.spentUsdToday()).toBeCloseTo(0.002);
  });

  test("sets the worst case aside, so that calls at the same time cannot exceed it", () => {
    const allowance = createAllowance({ maxUsdPerDay: 1, maxCallsPerHour: 9 }, () => 0);
    const [one, other, third] = [allowance.ask(0.4), allowance.ask(0.4), allowance.ask(0.4)];
    expect([one.kind, other.kind, third.kind]).toEqual(["granted", "granted", "refused"]);
    if (one.kind === "granted") one.settle(0.1);
    expect(allowance.spentUsdToday()).toBeCloseTo(0.5);
    if (other.kind === "granted") other.settle(undefined);
    expect(allowance.spentUsdToday()).toBeCloseTo(0.5);
    expect(allowance.ask(0.4).kind).toBe("granted");
  });

  test("without a price counts calls only", () => {
    const allowance = createAllowance({ maxCallsPerHour: 1 }, () => 0);
    expect(allowance.ask(undefined).kind).toBe("granted");
    expect(allowance.ask(undefined)).toMatchObject({ kind: "refused" });
  });

  test("refuses a model without a price if there is a limit in money, and says what to do", async () => {
    const { url, asked } = await provider(anthropicAnswer("fine, thanks"));
    expect(await summariserFor(url, { maxUsdPerDay: 5 }).ask()).toEqual({
      kind: "failed",
      reason:
        "no price is known for the model, so the limit of 5 USD per day cannot be kept: set the model's prices",
    });
    expect(asked).toEqual([]);
  });
});
