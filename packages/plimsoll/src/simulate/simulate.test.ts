/** The simulator: the same options give the same conversation, with the requested length and contents. */

import { describe, expect, test } from "vitest";
import { seenFrom } from "../../test/generate/seen.ts";
import { messageText } from "../message/message.ts";
import { splitUnits } from "../message/unit.ts";
import { type Simulation, simulateConversation, simulatedAreas } from "./simulate.ts";

const unitsOf = (simulation: Simulation) =>
  splitUnits(simulateConversation(simulation), simulatedAreas);

describe("a wish that makes no sense gets one sentence", () => {
  test.each<[Simulation, string]>([
    [{ tokens: 0 }, "`tokens` must be a whole number from 200 to 5000000, not 0."],
    [{ tokens: Number.NaN }, "`tokens` must be a whole number from 200 to 5000000, not NaN."],
    [{ tokens: 900, seed: -1 }, "`seed` must be a whole number from 0 to 4294967295, not -1."],
    [{ tokens: 900, p3Share: -1 }, "`p3Share` must be a number from 0 to 1, not -1."],
    [{ tokens: 900, p1Share: 0.6, p3Share: 0.6 }, "must be at most 1 together, not 1.2."],
    [{ tokens: 900, p1Share: 2 }, "`p1Share` must be a number from 0 to 1, not 2."],
    [{ tokens: 900, toolCalls: -1 }, "`toolCalls` must be a number from 0 to 1, not -1."],
    [
      { tokens: 900, shape: "round" as "mixed" },
      '`shape` must be mixed, giant, fragmented, misclassified, not "round".',
    ],
    [{ tokens: 900, languages: ["fr" as "en"] }, '`languages` must be en, de, zh, ru, not "fr".'],
  ])("%j", (simulation, sentence) => {
    expect(() => simulateConversation(simulation)).toThrow(sentence);
  });
});

describe("a simulated conversation", () => {
  test("is the same for the same seed, and another for another", () => {
    const one = simulateConversation({ tokens: 9_000, seed: 3 });
    expect(simulateConversation({ tokens: 9_000, seed: 3 })).toEqual(one);
    expect(simulateConversation({ tokens: 9_000, seed: 4 })).not.toEqual(one);
  });

  test.each([1_000, 10_000, 100_000])("has about %d tokens", (tokens) => {
    const size = seenFrom(simulateConversation({ tokens })).tokens;
    expect(size).toBeGreaterThan(tokens * 0.6);
    expect(size).toBeLessThan(tokens * 1.6 + 1_000);
  });

  test("begins with the user's goal and rules, and ends with an exchange about it", () => {
    const messages = simulateConversation({ tokens: 5_000 });
    const [first] = messages;
    expect(first?.role).toBe("user");
    expect(messageText(first ?? { role: "user", parts: [] })).toContain("Never change the tests.");
    expect(messages.at(-1)?.role).toBe("tool");
  });

  test("has units of every type that a detector knows", () => {
    const types = new Set(unitsOf({ tokens: 60_000 }).map(({ type }) => type));
    for (const type of ["message", "code", "plan_ref", "log"] as const)
      expect(types).toContain(type);
  });

  test("p1Ratio = 0.3 by default, and priorities 2 and 3 evenly", () => {
    for (const shape of ["mixed", "fragmented"] as const) {
      const units = unitsOf({ tokens: 400_000, shape }).slice(1, -2);
      for (const [priority, share] of [
        [1, 0.3],
        [2, 0.35],
        [3, 0.35],
      ] as const) {
        const found = units.filter((unit) => unit.priority === priority).length / units.length;
        expect(Math.abs(found - share), `${shape}, priority ${priority}`).toBeLessThan(0.06);
      }
    }
  });

  test.each([0, 0.2, 0.7])("has the share of priority 3 that is wished: %d", (p3Share) => {
    const units = unitsOf({ tokens: 60_000, p3Share }).slice(1, -2);
    const share = units.filter(({ priority }) => priority === 3).length / units.length;
    expect(Math.abs(share - p3Share)).toBeLessThan(0.15);
  });

  test.each([0, 0.5, 1])("has the share of priority 1 that is wished: %d", (p1Share) => {
    const units = unitsOf({ tokens: 60_000, p1Share }).slice(1, -2);
    const share = units.filter(({ priority }) => priority === 1).length / units.length;
    expect(Math.abs(share - p1Share)).toBeLessThan(0.15);
  });

  test.each([0, 1])("has the share of tool calls that is wished: %d", (toolCalls) => {
    const units = unitsOf({ tokens: 20_000, toolCalls }).slice(1, -2);
    expect(units.every(({ isExchange }) => isExchange === (toolCalls === 1))).toBe(true);
  });

  test("reads the same file more than once", () => {
    const texts = simulateConversation({ tokens: 40_000 })
      .filter(({ role }) => role === "tool")
      .map(messageText);
    expect(new Set(texts).size).toBeLessThan(texts.length);
  });

  test("speaks the languages that are wished", () => {
    const text = simulateConversation({ tokens: 5_000, languages: ["zh", "ru"] })
      .map(messageText)
      .join("\n");
    expect(text).toMatch(/\p{Script=Han}/u);
    expect(text).toMatch(/\p{Script=Cyrillic}/u);
  });

  test("giant: one message is most of it", () => {
    const { messages, tokens } = seenFrom(simulateConversation({ tokens: 20_000, shape: "giant" }));
    expect(Math.max(...messages.map((seen) => seen.tokens))).toBeGreaterThan(tokens * 0.7);
  });

  test("fragmented: thousands of tiny messages", () => {
    const messages = simulateConversation({ tokens: 40_000, shape: "fragmented" });
    expect(messages.length).toBeGreaterThan(2_000);
  });

  test("misclassified: logs look like something else", () => {
    const units = unitsOf({
      tokens: 20_000,
      shape: "misclassified",
      types: ["log"],
      toolCalls: 0,
    }).slice(1, -2);
    expect(units.filter(({ type }) => type === "log").length).toBeLessThan(units.length);
    const code = unitsOf({
      tokens: 20_000,
      shape: "misclassified",
      types: ["code"],
      toolCalls: 0,
    }).slice(1, -2);
    expect(code.every(({ type }) => type === "plan_ref")).toBe(true);
  });
});
