/**
 * The guard's counters and its six invariants, in the code that runs: random conversations through the proxy and the library,
 * observed by what CONTEXT_DEBUG prints.
 */

import { beforeAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engine.ts";
import type { PlimsollEvent } from "../../src/message/event.ts";
import type { Debug, DebugTopic } from "../../src/session/fit/debug.ts";
import { requestOf, said, tokensOfText, tool } from "../generate/bodies.ts";
import { WIRES } from "../generate/conversations.ts";
import { libraryTraveller } from "../generate/journey-library.ts";
import { proxyTraveller } from "../generate/journey-proxy.ts";
import { createClock, type Journey, journeyConfig, travel } from "../generate/journeys.ts";
import { receive } from "../generate/rehearsal.ts";
import { effort, seedOr } from "../harness/effort.ts";

const TURNS = effort(24, 200);
const SEED = seedOr(31);
const WINDOW = 6_000;

interface Line {
  readonly topic: DebugTopic;
  readonly fields: Readonly<Record<string, unknown>>;
}
interface Observed {
  readonly lines: readonly Line[];
  readonly events: readonly PlimsollEvent[];
  readonly sent: readonly string[];
}

const ways = { proxy: proxyTraveller, library: libraryTraveller };

async function observe(way: keyof typeof ways, journey: Journey, agent = {}): Promise<Observed> {
  const lines: Line[] = [];
  const events: PlimsollEvent[] = [];
  const debug: Debug = (topic, fields) => lines.push({ topic, fields: fields() });
  const { now, tick } = createClock();
  const { providers = {} } = journeyConfig(journey);
  const config = { providers: { ...providers, gemini: providers["openai"] ?? {} }, agent };
  const engine = await openEngine({ store: "memory", config, parts: { now, debug } });
  engine.subscribe(({ event }) => events.push(event));
  const sent = await travel(journey, ways[way](journey), engine, async (one) => {
    tick();
    return one;
  });
  return { lines, events, sent };
}

/** The evaluations of each turn, in order. A turn begins with `loop-init`. */
function turnsOf({ lines }: Observed): readonly (readonly Line[])[] {
  const turns: Line[][] = [];
  for (const line of lines) {
    if (line.topic === "context-guard/loop-init") turns.push([]);
    turns.at(-1)?.push(line);
  }
  return turns;
}
const only = (lines: readonly Line[], topic: DebugTopic): readonly Record<string, unknown>[] =>
  lines.filter((line) => line.topic === topic).map(({ fields }) => fields);
const counterNames = [
  "currentCtxTokens",
  "pendingCtxTokens",
  "newCtxTokens",
  "extraTokens",
  "schemaCtxTokens",
  "currentReasoningTokens",
];

describe.each(["proxy", "library"] as const)("in the %s", (way) => {
  describe.each(WIRES)("on %s", (wire) => {
    let observed: Observed;
    let strict: Observed;
    const journey: Journey = {
      wire,
      seed: SEED,
      turns: TURNS,
      windowTokens: WINDOW,
      factor: 1.2,
      mcpCount: 0,
    };
    beforeAll(async () => {
      observed = await observe(way, journey);
      strict = await observe(way, journey, { strict_limit: true });
    });

    test("projected = currentCtxTokens + pendingCtxTokens + newCtxTokens + extraTokens, and none is ever negative", () => {
      const evaluations = only(observed.lines, "context-guard/evaluate");
      expect(evaluations.length).toBeGreaterThan(TURNS);
      for (const fields of evaluations) {
        const [current = 0, pending = 0, fresh = 0, extra = 0] = counterNames.map((name) =>
          Number(fields[name]),
        );
        expect(fields["projectedTokens"]).toBe(current + pending + fresh + extra);
        for (const name of counterNames) expect(fields[name]).toBeGreaterThanOrEqual(0);
      }
      expect(evaluations.some((fields) => Number(fields["newCtxTokens"]) > 0)).toBe(true);
    });

    test("seeded at turn start, committed on turn completion: the next turn's current is what the last one left", () => {
      const [first] = only(observed.lines, "context-guard/init-counters");
      expect(first).toMatchObject({ currentCtxTokens: 0, newCtxTokens: 0 });
      expect(only(observed.lines, "context-guard/init-counters")).toHaveLength(1);
      const turns = turnsOf(observed).map((lines) => only(lines, "context-guard/evaluate")[0]);
      expect(turns.slice(1).every((fields) => Number(fields?.["currentCtxTokens"]) > 0)).toBe(true);
      expect(turns.every((fields) => fields?.["newCtxTokens"] === 0)).toBe(true);
    });

    test("Monotonic growth: Counters only increase until turn commits", () => {
      for (const lines of turnsOf(observed)) {
        let before = -1;
        for (const fields of only(lines, "context-guard/evaluate")) {
          const fresh = Number(fields["newCtxTokens"]);
          // A compaction begins a new evaluation of the request itself.
          if (fresh > 0) expect(fresh).toBeGreaterThanOrEqual(before);
          before = fresh;
        }
      }
    });

    test("Buffer preserved, Output space reserved: both are subtracted from every target's limit", () => {
      for (const [name, { lines }] of Object.entries({ observed, strict })) {
        for (const fields of only(lines, "context-guard/evaluate-target")) {
          const { contextWindow, bufferTokens, maxOutputTokens, reservedTokens, limit } =
            fields as Record<string, number>;
          const output = name === "strict" ? maxOutputTokens : reservedTokens;
          expect(bufferTokens).toBeGreaterThan(0);
          expect(output).toBeGreaterThan(0);
          expect(limit).toBeLessThanOrEqual(
            (contextWindow ?? 0) - (bufferTokens ?? 0) - (output ?? 0),
          );
        }
      }
    });

    test("Guarded overflow: when projections exceed limit, the request is compacted, or the final turn, or refused, before it goes", () => {
      let blocked = 0;
      for (const lines of turnsOf(strict)) {
        const [status] = only(lines, "context-guard/provider-eval");
        if (status?.["status"] !== "final") continue;
        blocked++;
        const isEnforced = only(lines, "context-guard/enforce").length > 0;
        expect(isEnforced || isMadeToFit(lines)).toBe(true);
      }
      expect(blocked).toBeGreaterThan(0);
    });
  });
});

/**
 * Whether a request was made to fit. Later evaluations are about its inner rounds, whose results are new tokens. What only the
 * tools' schemas push over the limit goes as it is.
 */
function isMadeToFit(lines: readonly Line[]): boolean {
  const [target] = only(lines, "context-guard/evaluate-target");
  return only(lines, "context-guard/evaluate").some(
    (fields) =>
      fields["newCtxTokens"] === 0 &&
      Number(fields["projectedTokens"]) - Number(fields["schemaCtxTokens"]) <=
        Number(target?.["limit"]),
  );
}

const counted = { contextWindow: 8_000, contextWindowBufferTokens: 500, tokenizer: "approximate" };
const providers = { anthropic: { models: { "claude-sonnet-4-5": counted } } };

test("Reasoning/thinking: the budget, set at turn start for display only, not in projection", async () => {
  const projections: unknown[] = [];
  for (const budget of [0, 1_024, 2_048]) {
    const engine = await openEngine({ store: "memory", config: { providers } });
    const thinking = budget === 0 ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
    const { body } = requestOf("anthropic", [said("Look.")], { max_tokens: 4_000, ...thinking });
    const turn = await receive(engine, "anthropic", body);
    const { counters, ...others } = turn.fitted.projection;
    expect(counters.reasoning).toBe(budget);
    projections.push({ ...others, counters: { ...counters, reasoning: "any" } });
    await turn.end({ status: "complete" });
    await engine.close();
  }
  expect(projections[1]).toEqual(projections[0]);
  expect(projections[2]).toEqual(projections[0]);
});

test.each([
  ["strict_limit: true", { strict_limit: true }, "final"],
  ["by default the window's buffer is for requests that cannot become smaller", {}, "passthrough"],
])(
  "When the guard triggers: the final turn, BEFORE the next LLM execution (%s)",
  async (_name, agent, outcome) => {
    const topics: DebugTopic[] = [];
    const engine = await openEngine({
      store: "memory",
      config: { providers, agent },
      parts: { debug: (topic) => topics.push(topic) },
    });
    // Over 8,000 - 500 - 1,000, and nothing in it can be taken out.
    const words = tokensOfText(6_600);
    const request = requestOf("anthropic", [said(words)], {
      max_tokens: 1000,
      tools: [tool("anthropic")],
    });
    const turn = await receive(engine, "anthropic", request.body);
    expect(turn.fitted.outcome).toBe(outcome);
    expect(topics.includes("context-guard/enforce")).toBe(outcome === "final");
    expect(new TextDecoder().decode(turn.body).includes('"tool_choice":{"type":"none"}')).toBe(
      outcome === "final",
    );
    expect(topics).not.toContain("context-guard/build-metrics");
    await turn.end({ status: "complete" });
    expect(topics).toContain("context-guard/build-metrics");
    await engine.close();
  },
);
