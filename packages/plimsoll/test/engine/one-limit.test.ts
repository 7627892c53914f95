/** Beside a large head the limit gives way: whoever tells the limit of such a request tells the one that the guard used. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { seededCounters } from "../../src/budget/counters.ts";
import { runInspect } from "../../src/cli/commands/inspect.ts";
import { openEngine } from "../../src/engine.ts";
import { openPlimsoll } from "../../src/index.ts";
import { priceListOf } from "../../src/prompt/prices.ts";
import { recordingOf } from "../../src/replay/recording.ts";
import { replayAll } from "../../src/replay/replay.ts";
import { scriptOf } from "../../src/replay/turns.ts";
import type { Draft } from "../../src/session/draft/draft.ts";
import { createDebug, debugGuard, type Evaluation } from "../../src/session/fit/debug.ts";
import { listedRow, type RowState, stateWord, usualSettings } from "../../src/watch/row-state.ts";
import { called, requestOf, result, said, tokensOfText, tool } from "../generate/bodies.ts";
import { receive } from "../generate/rehearsal.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-limit-"));
afterAll(() => rmSync(folder, { recursive: true }));
const window = 40_000;
const model = "small";
const config = {
  providers: {
    anthropic: { models: { [model]: { contextWindow: window, tokenizer: "approximate" } } },
  },
};
const configFile = join(folder, "config.yaml");
const requestFile = join(folder, "request.json");
const data = join(folder, "data");
const { body } = requestOf(
  "anthropic",
  [said("Look."), called("anthropic", "c1"), result("anthropic", "c1", "There it is.")],
  { model, tools: [tool("anthropic", tokensOfText(29_000))], max_tokens: 10_000 },
);
let guarded = 0;
let session = "";
let watched: RowState;

beforeAll(async () => {
  writeFileSync(configFile, JSON.stringify(config));
  writeFileSync(requestFile, body);
  const engine = await openEngine({ data, config });
  const turn = await receive(engine, "anthropic", body);
  guarded = turn.fitted.limit;
  session = turn.session;
  await turn.end({ status: "complete" });
  const [lastTurn] = await engine.inspect.turns(session, 1);
  const counts = { branches: 1, messages: 3, turns: 1, createdAt: 0, updatedAt: 0 };
  const row = { id: session, tenant: "t", wire: "anthropic", ...counts };
  watched = listedRow({ ...row, ...(lastTurn && { lastTurn }) }, undefined, usualSettings);
  await engine.close();
  expect(guarded).toBeGreaterThan(turn.fitted.target.limit.limit);
});

test.each([
  ["a file", () => requestFile],
  ["a session", () => session],
])("inspect of %s", async (_what, nameOf) => {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await runInspect(nameOf(), { json: true, config: configFile, data });
  const { limit } = JSON.parse(String(printed.mock.calls[0]?.[0])) as { limit: number };
  printed.mockRestore();
  expect(limit).toBe(guarded);
});

test("whoever watches a session with a large head is not told that it is near its limit", () => {
  expect(watched.limit).toBe(guarded);
  expect(stateWord(watched)).toBe("normal");
});

const target = { key: "anthropic/small", provider: "anthropic", model };
const limit = { window, named: window, buffer: 5_000, maxOutput: 10_000, reserve: 10_000 };
const draft = (windowSource: string): Draft =>
  ({
    turn: { id: "turn_1", at: 0 },
    path: { length: 3 },
    branch: { record: {} },
    targets: [{ ...target, limit: { ...limit, limit: 25_000, windowSource } }],
  }) as unknown as Draft;

test.each([
  ["a large head", "model", 26_200, 26_100],
  ["a window that nobody knows", "fallback", 90_000, 10],
])("what CONTEXT_DEBUG tells of a request that fits: %s", (_what, source, tokens, head) => {
  const told: string[] = [];
  const seen = {
    projection: {
      tokens,
      least: tokens,
      most: tokens,
      head,
      counters: seededCounters(tokens, { committed: 0, schema: 0, reasoning: 0 }),
    },
    verdict: { kind: "fits" },
    measurement: { tools: 0, total: tokens },
    guard: { own: {} },
  } as unknown as Evaluation;
  debugGuard(
    createDebug(true, (line) => told.push(line)),
    draft(source),
    seen,
  );
  expect(told.find((line) => line.includes("provider-eval"))).toContain("blocked: []");
  if (source === "model")
    expect(told.find((line) => line.includes("evaluate-target"))).toContain("limit: 33050");
});

test("a turn of the library that goes is not over the limit that it tells", async () => {
  const plimsoll = await openPlimsoll({ store: "memory", config });
  const turns = await plimsoll.session();
  await turns.append({ role: "user", content: "Look." });
  const { outcome, limit: of } = await turns.prepare({
    target: `anthropic/${model}`,
    system: tokensOfText(28_000),
    maxOutputTokens: 10_000,
  });
  await plimsoll.close();
  expect(outcome.kind).toBe("passthrough");
  expect(of.limit).toBeGreaterThan(outcome.tokensAfter);
});

test("a conversation whose head the proxy would serve is replayed", async () => {
  const recording = recordingOf(JSON.parse(new TextDecoder().decode(body)), "large head");
  const script = scriptOf(recording, { wire: "anthropic", model, maxOutputTokens: 10_000 });
  const [figures] = await replayAll([script], {
    policies: ["plimsoll"],
    window: { kind: "tokens", tokens: window },
    secondsPerTurn: 20,
    prices: priceListOf("anthropic", model),
    config,
    onRequest: () => undefined,
  });
  expect(figures?.requests).toBeGreaterThan(0);
});
