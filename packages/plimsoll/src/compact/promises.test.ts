/** What every strategy promises, over generated and simulated conversations. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Applied, applyProposals, count, seenFrom } from "../../test/generate/seen.ts";
import { AREAS, type Talk, talks } from "../../test/generate/talks.ts";
import { tries } from "../../test/harness/effort.ts";
import type { Message } from "../message/message.ts";
import type { Goal, Strategy, VisibleConversation, VisibleMessage } from "../message/strategy.ts";
import { type Simulation, simulateConversation, simulatedAreas } from "../simulate/simulate.ts";
import { strategiesFor } from "./chain.ts";
import { excerpt } from "./excerpt/excerpt.ts";
import { createRelevance } from "./relevance/relevance.ts";
import { contentTypeChunking } from "./strategies/content-type-chunking.ts";
import { discardLowRel } from "./strategies/discard-low-rel.ts";
import { duplicateReads } from "./strategies/duplicate-reads.ts";
import { mediaToHandles } from "./strategies/media-to-handles.ts";
import { olderCopies } from "./strategies/older-copies.ts";
import { prioritizeRecent } from "./strategies/prioritize-recent.ts";
import { summarizeOld } from "./strategies/summarize-old.ts";
import { truncate } from "./strategies/truncate.ts";
import { isSpoken } from "./units/head.ts";
import { sideOf } from "./units/truncation-range.ts";

const seed = 20261115;

const relevance = createRelevance({});
const parts = { count, relevance };
/**
 * never: messages that must stay keep every word. anywhere: they stay, but may be shortened. An excerpt may shorten the newest
 * exchange (decision 6), and pictures may be removed from any message.
 */
const strategies: readonly (Strategy & {
  readonly cuts: "never" | "anywhere";
  /** Units of priority 1 must stay if they need at most this share of the goal. Default: all of it. */
  readonly importantShare?: number;
})[] = [
  { ...mediaToHandles, cuts: "anywhere" },
  { ...olderCopies(parts), cuts: "never" },
  { ...duplicateReads(parts), cuts: "never" },
  { ...summarizeOld({}, parts), cuts: "never" },
  { ...prioritizeRecent({}, parts), cuts: "never" },
  { ...contentTypeChunking({}, parts), cuts: "never" },
  { ...discardLowRel({}, parts), cuts: "never" },
  {
    ...discardLowRel({ placeholder_detail: "linked" }, parts),
    name: "discard:linked",
    cuts: "never",
  },
  { ...excerpt, cuts: "anywhere", importantShare: 0.4 },
  { ...truncate, cuts: "never" },
];

function see(talk: Talk): VisibleConversation {
  return seenFrom(talk.messages, { ...talk, areas: AREAS, otherTokens: 100 });
}

function goalFor({ tokens }: VisibleConversation, share: number): Goal {
  const limitTokens = Math.floor(tokens * share);
  return {
    limitTokens,
    tokens: Math.floor(limitTokens * 0.5),
    floorTokens: Math.floor(limitTokens * 0.43),
    media: { maxCount: 1, maxBytes: 1_000_000 },
  };
}

interface Case {
  readonly before: VisibleConversation;
  readonly goal: Goal;
  readonly applied: Applied;
  readonly proposals: number;
}

async function run(strategy: Strategy, before: VisibleConversation, goal: Goal): Promise<Case> {
  const proposals = await strategy.propose(before, goal);
  const applied = applyProposals(before, proposals, { areas: AREAS });
  return { before, goal, applied, proposals: proposals.length };
}

/** All promises share the same conversations, so each strategy runs only once on each of them. */
const samples = fc.sample(talks, tries({ runs: 20, soak: 50, seed })).map(see);
const known = new Map<string, Promise<readonly Case[]>>();

function casesOf(strategy: Strategy, share: number): Promise<readonly Case[]> {
  const key = `${strategy.name} ${share}`;
  const cases =
    known.get(key) ??
    Promise.all(samples.map((before) => run(strategy, before, goalFor(before, share))));
  known.set(key, cases);
  return cases;
}

async function holds(
  strategy: Strategy,
  property: (found: Case) => void | Promise<void>,
  share = 0.6,
): Promise<void> {
  for (const found of await casesOf(strategy, share)) await property(found);
}

function byNumber({ conversation }: Applied): ReadonlyMap<number, VisibleMessage> {
  return new Map(conversation.messages.map((seen) => [seen.number, seen]));
}

/** Log numbers of the messages that must keep every word. */
function untouchable({ messages, units }: VisibleConversation): readonly number[] {
  const firstUser = messages.findIndex(({ message }) => isSpoken(message));
  const lastUser = messages.findLastIndex(({ message }) => isSpoken(message));
  const newest = units.at(-1)?.first ?? 0;
  return messages.flatMap(({ isPinned, message, number }, index) =>
    index <= firstUser ||
    index === lastUser ||
    index >= newest ||
    isPinned ||
    message.role === "system"
      ? [number]
      : [],
  );
}

function callsAndResults(messages: readonly Message[]): { calls: string[]; results: string[] } {
  const all = messages.flatMap(({ parts: own }) => own);
  return {
    calls: all.flatMap((part) => (part.kind === "tool-call" ? [part.id] : [])),
    results: all.flatMap((part) => (part.kind === "tool-result" ? [part.callId] : [])),
  };
}

describe.each(strategies)("$name", (strategy) => {
  test("what it proposes makes the request smaller, in tokens or in media", () =>
    holds(strategy, ({ applied, before, proposals }) => {
      if (proposals === 0 || strategy.name === "media_to_handles") return;
      expect(applied.conversation.tokens).toBeLessThan(before.tokens);
    }));

  test("messages stay in order, and calls with their results", () =>
    holds(strategy, ({ applied: { conversation } }) => {
      const numbers = conversation.messages.map(({ number }) => number);
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      const { calls, results } = callsAndResults(
        conversation.messages.map(({ message }) => message),
      );
      expect(results).toEqual(calls);
    }));

  test("where roles must alternate, no two of the user's side meet that cannot be joined", () =>
    holds(strategy, ({ applied: { conversation } }) => {
      if (!conversation.mustAlternate) return;
      const spoken = conversation.messages
        .map(({ message }) => message)
        .filter(({ role }) => role !== "system");
      for (const [index, { role }] of spoken.entries()) {
        const next = spoken[index + 1];
        if (sideOf(role) !== "user" || sideOf(next?.role) !== "user") continue;
        expect([role, next?.role]).toEqual(["user", "user"]);
      }
    }));

  test("the head, pins, instructions, the user's last words and the newest unit are untouched", () =>
    holds(strategy, ({ applied, before }) => {
      const after = byNumber(applied);
      for (const number of untouchable(before)) {
        const was = before.messages[number]?.message;
        const isPinned = before.messages[number]?.isPinned === true;
        expect(after.has(number)).toBe(true);
        if (strategy.cuts === "never" || isPinned) expect(after.get(number)?.message).toEqual(was);
      }
    }));

  test("what has priority 1 stays in the view while the limit leaves room for it", () =>
    holds(
      strategy,
      ({ applied, before, goal }) => {
        const after = byNumber(applied);
        const kept = new Set(untouchable(before));
        const important = before.units.filter(({ priority }) => priority === 1);
        const needed = before.messages
          .filter(({ number }) => kept.has(number) || isIn(important, number))
          .reduce((sum, { tokens }) => sum + tokens, 400);
        if (needed > goal.tokens * (strategy.importantShare ?? 1)) return;
        for (const { first, last } of important)
          for (let number = first; number <= last; number++) expect(after.has(number)).toBe(true);
      },
      0.9,
    ));

  test("the same conversation gives the same proposals", () =>
    holds(strategy, async ({ applied, before, goal }) => {
      const again = await run(strategy, before, goal);
      expect(again.applied.texts).toEqual(applied.texts);
      expect(again.applied.conversation.messages).toEqual(applied.conversation.messages);
    }));

  test("on its own result it proposes nothing that grows", () =>
    holds(strategy, async ({ applied, goal }) => {
      const again = await run(strategy, applied.conversation, goal);
      expect(again.applied.conversation.tokens).toBeLessThanOrEqual(applied.conversation.tokens);
    }));

  test("what it does not touch stays byte for byte, and every part stays in its place", () =>
    holds(strategy, ({ applied: { conversation }, before }) => {
      for (const { number, message, original } of conversation.messages) {
        const was = before.messages[number]?.message;
        if (original === undefined) expect(message).toBe(was);
        else expect(message.parts.length).toBe(was?.parts.length);
      }
    }));

  test("an empty conversation, one message, and no user at all are left alone or stay valid", async () => {
    const alone: readonly (readonly Message[])[] = [
      [],
      [{ role: "user", parts: [{ kind: "text", text: "word ".repeat(900) }] }],
      [{ role: "assistant", parts: [{ kind: "text", text: "word ".repeat(900) }] }],
      [{ role: "user", parts: [] }],
    ];
    for (const messages of alone) {
      const before = seenFrom(messages);
      const { applied } = await run(strategy, before, goalFor(before, 0.5));
      expect(applied.conversation.tokens).toBeLessThanOrEqual(before.tokens);
      expect(applied.conversation.messages.length).toBe(messages.length);
    }
  });

  test.each<Simulation>([
    { tokens: 12_000, seed: 3 },
    { tokens: 12_000, seed: 4, p1Share: 1 },
    { tokens: 12_000, seed: 5, shape: "giant" },
    { tokens: 12_000, seed: 6, shape: "fragmented" },
    { tokens: 12_000, seed: 7, shape: "misclassified", languages: ["zh", "de", "ru", "en"] },
  ])("simulated, $shape, share of priority 1: $p1Share", async (simulation) => {
    const before = seenFrom(simulateConversation(simulation), { areas: simulatedAreas });
    const { applied, proposals } = await run(strategy, before, goalFor(before, 0.8));
    if (proposals > 0) expect(applied.conversation.tokens).toBeLessThan(before.tokens);
    const after = byNumber(applied);
    for (const number of untouchable(before)) expect(after.has(number)).toBe(true);
  });
});

function isIn(
  units: readonly { readonly first: number; readonly last: number }[],
  number: number,
): boolean {
  return units.some(({ first, last }) => first <= number && number <= last);
}

describe("strategies that are asked while there is room", () => {
  test.each(strategies.filter(({ name }) => name !== "excerpt" && name !== "media_to_handles"))(
    "$name proposes nothing",
    (strategy) =>
      holds(
        strategy,
        ({ proposals }) => {
          expect(proposals).toBe(0);
        },
        2.2,
      ),
  );
});

describe("the whole chain", () => {
  test("every chain ends with truncation, and begins with what loses nothing", () => {
    for (const settings of [undefined, { chain_order: ["summarize_old"] as const }]) {
      const names = strategiesFor(settings, { count }).map(({ name }) => name);
      expect(names.slice(0, 2)).toEqual(["media_to_handles", "duplicate_reads"]);
      expect(names.at(-1)).toBe("truncate");
    }
  });
});
