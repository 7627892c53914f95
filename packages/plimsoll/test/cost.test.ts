/** What turns have cost, as the program, the API and the metrics tell it: measured by a provider's own words, or unknown. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, reply, text } from "./harness/answer.ts";
import type { Usage } from "./harness/answer-parts.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject, Wire } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const tenantToken = "a-token-of-somebody-else";
let upstream: Upstream;
let service: Service;
let answer: Answer = reply(text("Aye."));

beforeAll(async () => {
  upstream = await startUpstream({ script: () => answer });
  service = await startService({
    upstreams: {},
    config: {
      tokens: { other: tenantToken },
      providers: {
        anthropic: {
          baseUrl: upstream.url,
          models: {
            "my-model": { prices: { input: 10, output: 20, cache_read: 1, cache_write: 12 } },
          },
        },
        openai: { baseUrl: `${upstream.url}/v1` },
        gemini: {
          baseUrl: upstream.url,
          models: { "gemini-2.5-pro": { prices: { input: 10, output: 20, cache_read: 1 } } },
        },
      },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

interface Cost {
  readonly turns: number;
  readonly sessions: number;
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly freshTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly savedUsd: number | null;
  readonly measured: { readonly usage: number; readonly cache: number };
  readonly models: readonly { readonly model: string; readonly prices?: JsonObject }[];
}

async function turnWith(wire: Wire, model: string, usage: Usage): Promise<string> {
  answer = { ...reply(text("Aye.")), usage };
  const body = { ...bodyOf(wire, [{ role: "user", content: `Hello ${model}.` }]), model };
  return (await ask(service.url, { wire, body })).sessionId;
}

function costOf(session: string): Promise<Cost> {
  return service.api<Cost>(`/api/sessions/${session}/cost`);
}

function run(...words: string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  const env = childEnvironment({ HOME: service.data });
  return new Promise((resolve) => {
    const args = [program, ...words, "--data", service.data];
    const child = execFile(process.execPath, args, { env }, (_error, stdout) =>
      resolve({ code: child.exitCode ?? -1, stdout }),
    );
  });
}

describe("what a turn costs", () => {
  test("is what the provider reported, at the price of each kind of token", async () => {
    const usage = { input: 100, cached: 3_000, created: 2_000, output: 50 };
    const session = await turnWith("anthropic", "my-model", usage);
    const cost = await costOf(session);
    expect(cost).toMatchObject({
      turns: 1,
      sentTokens: 5_100,
      cachedTokens: 3_000,
      writtenTokens: 2_000,
      freshTokens: 100,
      outputTokens: 50,
      measured: { usage: 1, cache: 1 },
    });
    expect(cost.usd).toBeCloseTo((100 * 10 + 3_000 * 1 + 2_000 * 12 + 50 * 20) / 1e6, 10);
  });

  test("includes the thoughts of Gemini, which it counts beside the answer", async () => {
    const usage = { input: 1_000, cached: 600, output: 50, reasoning: 30 };
    const session = await turnWith("gemini", "gemini-2.5-pro", usage);
    const cost = await costOf(session);
    expect(cost).toMatchObject({
      sentTokens: 1_000,
      cachedTokens: 600,
      freshTokens: 400,
      outputTokens: 50,
    });
    expect(cost.usd).toBeCloseTo((400 * 10 + 600 * 1 + 50 * 20) / 1e6, 10);
  });

  test("is known of usual models, with source and date", async () => {
    const session = await turnWith("openai-chat", "gpt-4.1", {
      input: 1_000,
      cached: 600,
      output: 10,
    });
    const cost = await costOf(session);
    expect(cost).toMatchObject({ sentTokens: 1_000, cachedTokens: 600, freshTokens: 400 });
    expect(cost.usd).toBeCloseTo((400 * 2 + 600 * 0.5 + 10 * 8) / 1e6, 10);
    expect(cost.models).toEqual([expect.objectContaining({ model: "openai/gpt-4.1" })]);
    expect(cost.models[0]?.prices).toEqual({
      source: expect.stringMatching(/./),
      date: expect.stringMatching(/^2026-/),
    });
  });

  test("is unknown where no price is, and never nothing", async () => {
    const session = await turnWith("openai-chat", "nobody-knows-me", { input: 10, output: 1 });
    expect(await costOf(session)).toMatchObject({ usd: null, savedUsd: null, sentTokens: 10 });
    const { stdout } = await run("cost", session);
    expect(stdout).toContain("unknown");
    expect(stdout).toContain("prices unknown. Set providers.");
    const all = await service.api<Cost>("/api/cost");
    expect(all.usd).toBeNull();
  });
});

describe("where it is told", () => {
  test("the program says the same as the API", async () => {
    const session = await turnWith("anthropic", "my-model", { input: 7, output: 3 });
    const { code, stdout } = await run("cost", session, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(
      // The program reads the same store, without the service's configuration.
      { ...(await costOf(session)), ...{ usd: null, savedUsd: null }, models: expect.anything() },
    );
    const table = await run("cost", "--all");
    expect(table.stdout).toMatch(/anthropic\/my-model/);
    expect(table.stdout).toMatch(/^all +\d/m);
  });

  test("nobody sees what others pay", async () => {
    await turnWith("anthropic", "my-model", { input: 7, output: 3 });
    const response = await fetch(`${service.url}/api/cost`, {
      headers: { authorization: `Bearer ${tenantToken}` },
    });
    expect(await response.json()).toMatchObject({ turns: 0, sessions: 0, models: [] });
  });

  test("the metrics add it up, and count what has no price", async () => {
    const figures = async (): Promise<readonly [number, number]> => {
      const response = await fetch(`${service.url}/metrics`, {
        headers: { authorization: `Bearer ${OWNER_TOKEN}` },
      });
      const page = await response.text();
      const figure = (pattern: RegExp): number => Number(pattern.exec(page)?.[1] ?? 0);
      return [
        figure(/^plimsoll_cost_usd_total\{model="my-model"\} (\S+)$/m),
        figure(/^plimsoll_unpriced_turns_total (\S+)$/m),
      ];
    };
    const before = await figures();
    await turnWith("anthropic", "my-model", { input: 1_000, output: 100 });
    await turnWith("openai-chat", "nobody-knows-me", { input: 1_000, output: 100 });
    const after = await figures();
    expect(after[0] - before[0]).toBeCloseTo((1_000 * 10 + 100 * 20) / 1e6, 10);
    expect(after[1] - before[1]).toBe(1);
  });
});
