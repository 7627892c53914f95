import { describe, expect, it } from "vitest";
import { PlimsollError } from "../message/error.ts";
import type { JsonObject } from "../message/json.ts";
import { priceListOf } from "../prompt/prices.ts";
import { simulateConversation } from "../simulate/simulate.ts";
import type { WireName } from "../wire/format/wire.ts";
import { newViolations } from "../wire/validate/validate.ts";
import { wires } from "../wire/wires.ts";
import { recordingOf } from "./recording.ts";
import {
  type PolicyFigures,
  type PolicyName,
  policyNames,
  type ReplayOptions,
  replayAll,
  type SentRequest,
} from "./replay.ts";
import { bodyOf, type Script, scriptOf } from "./turns.ts";

const wireNames = ["anthropic", "openai-chat", "openai-responses"] as const;
const models = { anthropic: "claude-sonnet-4-5", openai: "gpt-4.1" } as const;

function modelOf(wire: WireName): string {
  return wire === "anthropic" ? models.anthropic : models.openai;
}

function chatOf(seed: number, tokens = 8_000): JsonObject {
  const said = simulateConversation({ tokens, seed, toolCalls: 0.7 });
  const messages = wires["openai-chat"].messages.encode(said);
  return { messages: [{ role: "system", content: "Be brief." }, ...messages] };
}

function scriptOn(wire: WireName, seed: number, tokens?: number): Script {
  const recording = recordingOf(chatOf(seed, tokens), `seed ${seed}`);
  return scriptOf(recording, { wire, model: modelOf(wire), maxOutputTokens: 256 });
}

interface Replayed {
  readonly figures: Readonly<Record<string, PolicyFigures>>;
  readonly sent: readonly SentRequest[];
}

async function replay(
  wire: WireName,
  scripts: readonly Script[],
  options: Partial<ReplayOptions> = {},
): Promise<Replayed> {
  const sent: SentRequest[] = [];
  const figures = await replayAll(scripts, {
    policies: policyNames,
    window: { kind: "share", share: 1 / 3 },
    secondsPerTurn: 20,
    prices: priceListOf(wire === "anthropic" ? "anthropic" : "openai", modelOf(wire)),
    config: {},
    onRequest: (one) => sent.push(one),
    ...options,
  });
  return { figures: Object.fromEntries(figures.map((one) => [one.policy, one])), sent };
}

function figuresOf({ figures }: Replayed, policy: PolicyName): PolicyFigures {
  const found = figures[policy];
  if (found === undefined) throw new Error(`There is no ${policy}.`);
  return found;
}

describe.each(wireNames)("a replay on %s", (wire) => {
  it("sends valid requests under every policy, and bills every token once", async () => {
    const script = scriptOn(wire, 3);
    const { sent, figures } = await replay(wire, [script]);
    for (const { body, policy, turn, billed, tokens } of sent) {
      const { fresh, cacheRead, cacheWrite } = billed;
      expect(fresh + cacheRead + cacheWrite).toBe(tokens);
      if (body === undefined) continue;
      const said = script.turns
        .slice(0, turn + 1)
        .flatMap((one, index) => [...one.added, ...(index === turn ? [] : (one.answer ?? []))]);
      const original = bodyOf(script, said);
      const judged = { wire, model: modelOf(wire), body, original, synthetic: [] };
      const texts = { bodyText: JSON.stringify(body), originalText: JSON.stringify(original) };
      // Only Plimsoll keeps these two rules: to keep the user's words, and to keep earlier content.
      const findings = newViolations({ ...judged, ...texts }).filter(
        ({ rule }) => policy === "plimsoll" || !rule.startsWith("X"),
      );
      expect(findings, `${policy} ${turn}`).toEqual([]);
    }
    const outputs = Object.values(figures).map(({ output }) => output);
    expect(new Set(outputs).size).toBe(1);
  });

  it("has the same requests under Plimsoll as without it, while everything fits", async () => {
    const large = { window: { kind: "tokens", tokens: 1_000_000 } } as const;
    const done = await replay(wire, [scriptOn(wire, 5)], large);
    const none = figuresOf(done, "none");
    for (const policy of ["tail", "plimsoll", "ideal"] as const) {
      const { policy: _, ...figures } = figuresOf(done, policy);
      expect({ policy: "none", ...figures }).toEqual(none);
    }
    expect(none.prefix / none.sent).toBeGreaterThan(0.8);
  });
});

describe("policies at a third of the window", () => {
  it("stay inside of it, and only Plimsoll keeps the prefix", async () => {
    const scripts = [7, 8].map((seed) => scriptOn("anthropic", seed, 20_000));
    const done = await replay("anthropic", scripts);
    const share = (policy: PolicyName): number => {
      const { prefix, sent } = figuresOf(done, policy);
      return prefix / sent;
    };
    for (const policy of ["tail", "clear", "plimsoll"] as const) {
      expect(figuresOf(done, policy).overWindow).toBe(0);
      expect(figuresOf(done, policy).sent).toBeLessThan(figuresOf(done, "none").sent);
    }
    expect(share("plimsoll")).toBeGreaterThan(share("tail"));
    expect(share("plimsoll")).toBeGreaterThan(share("clear"));
    expect(figuresOf(done, "plimsoll").compactions).toBeGreaterThan(0);
    expect(figuresOf(done, "ideal").sent).toBe(figuresOf(done, "plimsoll").sent);
  });

  it("clear old results and nothing else, from half of the limit on", async () => {
    const script = scriptOn("openai-chat", 9, 12_000);
    const { sent } = await replay("openai-chat", [script], {
      policies: ["clear"],
      window: { kind: "share", share: 1 },
    });
    const mark = "[Old tool result content cleared]";
    const bodies = sent.map(({ body }) => JSON.stringify(body));
    expect(bodies[0]).not.toContain(mark);
    expect(bodies.at(-1)).toContain(mark);
    const last = sent.at(-1)?.body?.["messages"] as readonly JsonObject[];
    const results = last.filter(({ role }) => role === "tool");
    expect(results.slice(-3).every(({ content }) => content !== mark)).toBe(true);
    expect(results.length).toBeGreaterThan(4);
    expect(results.slice(0, -3).every(({ content }) => content === mark)).toBe(true);
  });
});

describe("what is not known", () => {
  it("is no bill: unknown prices give no figure", async () => {
    const prices = priceListOf("acme", "rocket-1");
    const done = await replay("openai-chat", [scriptOn("openai-chat", 2)], { prices });
    expect(Object.values(done.figures).every((one) => one.usd === undefined)).toBe(true);
    expect(figuresOf(done, "none").fresh).toBe(figuresOf(done, "none").sent);
  });

  it("is no window: one that tools and system prompt fill is refused with what to do", async () => {
    const window = { kind: "tokens", tokens: 20 } as const;
    const error: unknown = await replay("openai-chat", [scriptOn("openai-chat", 2)], {
      window,
    }).catch((cause: unknown) => cause);
    expect(PlimsollError.is(error) && error.code).toBe("USAGE");
    expect(String(error)).toContain("Give a larger --window");
  });
});

describe("a recording", () => {
  it("goes out as it is on its own wire, and in the words of another", () => {
    const chat = chatOf(4);
    const own = scriptOf(recordingOf({ ...chat, model: "gpt-4.1" }, "x"), {
      wire: "openai-chat",
      model: "gpt-4.1",
      maxOutputTokens: 256,
    });
    const said = own.turns.flatMap(({ added, answer }) => [...added, ...(answer ?? [])]);
    expect(bodyOf(own, said)["messages"]).toEqual(chat["messages"]);
    for (const wire of wireNames) expect(scriptOn(wire, 4).turns).toHaveLength(own.turns.length);
  });

  it("tells the tools that it calls, where it was recorded without any", () => {
    const script = scriptOn("anthropic", 4);
    const names = (script.head["tools"] as readonly JsonObject[]).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
  });

  it("leaves out what is only a note", () => {
    const { messages } = recordingOf(
      { messages: [{ role: "user", content: "Hi.", dia_id: "D1" }], meta: { id: "one" } },
      "x",
    );
    expect(messages).toEqual([{ role: "user", content: "Hi." }]);
  });

  it("in which no model speaks is sent in pieces", () => {
    const messages = Array.from({ length: 45 }, (_, index) => ({
      role: "user",
      content: `Line ${index}.`,
    }));
    const script = scriptOf(recordingOf({ messages }, "x"), {
      wire: "anthropic",
      model: "claude-sonnet-4-5",
      maxOutputTokens: 256,
    });
    expect(script.turns).toHaveLength(3);
  });
});
