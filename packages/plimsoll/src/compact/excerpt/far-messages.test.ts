/** Of a very long history, only the newest calls and results are read, and nothing that may have to stay is passed over. */

import { expect, test } from "vitest";
import { assistant, exchange, prose, user } from "../../../test/generate/said.ts";
import { applyProposals, type Seeing, seenFrom } from "../../../test/generate/seen.ts";
import type { Message, Part } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { excerptBy, excerptWithin } from "./excerpt.ts";
import { farMessages } from "./far-messages.ts";

const reach = { timesRoom: 1, tokens: 0 };
const roomTokens = 2_000;

function work(count: number, tokens = 400): readonly Message[] {
  return Array.from({ length: count }, (_, at) =>
    exchange(
      "read_file",
      { path: `src/part_${at}.ts` },
      prose(`part ${at}`, tokens),
      `I read ${at}.`,
    ),
  ).flat();
}

function far(conversation: VisibleConversation, timesRoom = 1): readonly number[] {
  const within = { ...reach, timesRoom };
  const marks = farMessages(conversation, { headLength: 1, roomTokens, reach: within });
  return [...marks.keys()].filter((index) => marks[index] === 1);
}

async function shortened(messages: readonly Message[], goal: number, seeing: Seeing = {}) {
  const before = seenFrom(messages, seeing);
  const goals = { limitTokens: goal, tokens: goal, floorTokens: Math.floor(goal * 0.86) };
  const proposals = await excerptBy(excerptWithin(reach)).propose(before, goals);
  return applyProposals(before, proposals).conversation;
}

test("exchanges beyond the reach are far, and the newest ones are not", () => {
  const messages = [user("Read all parts."), ...work(20)];
  const found = far(seenFrom(messages));
  expect(found.length).toBeGreaterThan(20);
  expect(found).toEqual(found.map((_, at) => at + 1));
  expect(Math.max(...found)).toBeLessThan(messages.length - 8);
});

test("one giant result puts no other exchange out of reach, and is read itself", () => {
  const giant = exchange("read_file", { path: "log.txt" }, prose("log", 50_000));
  const messages = [user("Read all parts."), ...work(3, 200), ...giant];
  expect(far(seenFrom(messages), 2)).toEqual([]);
  const behind = [user("Read all parts."), ...work(2, 200), ...giant, ...work(3, 200)];
  expect(far(seenFrom(behind), 2)).toEqual([]);
});

test("a giant result is cut and the rest stays, also at the end", async () => {
  const giant = exchange("read_file", { path: "log.txt" }, prose("log", 50_000));
  const view = await shortened([user("Read all parts."), ...work(10), ...giant], 6_000);
  expect(view.tokens).toBeLessThanOrEqual(6_000);
  expect(view.messages.length).toBeGreaterThan(3);
});

test("the first exchange of a loop is shortened, however old it is, where it must stay", async () => {
  const thinking: Part = { kind: "reasoning", text: "Where is it?", signature: "signed" };
  const [call, result] = exchange("read_file", { path: "a.ts" }, prose("a", 8_000));
  const first: Message = { role: "assistant", parts: [thinking, ...(call?.parts ?? [])] };
  const messages = [user("Read all parts."), first, ...(result ? [result] : []), ...work(60)];
  expect(far(seenFrom(messages, { mustAlternate: true }))).not.toContain(1);
  const view = await shortened(messages, 6_000, { mustAlternate: true });
  expect(view.tokens).toBeLessThanOrEqual(6_000);
});

test("what the user said beside a result, what is pinned, and what has priority 1 is read", () => {
  const [call, result] = exchange("bash", { command: "make" }, prose("make", 300));
  const steered: readonly Message[] = [
    ...(call ? [call] : []),
    {
      role: "user",
      parts: [...(result?.parts ?? []), { kind: "text", text: "And never touch the tests." }],
    },
  ];
  const messages = [user("Read all parts."), ...steered, ...work(20)];
  expect(far(seenFrom(messages)).filter((index) => index < 3)).toEqual([]);
  const usual = [user("Read all parts."), ...work(20), assistant("Done.")];
  expect(far(seenFrom(usual)).slice(0, 2)).toEqual([1, 2]);
  expect(far(seenFrom(usual, { pinned: [1] })).slice(0, 2)).toEqual([3, 4]);
  const areas = [{ name: "first", priority: 1 as const, patterns: ["src/part_0.ts"] }];
  expect(far(seenFrom(usual, { areas })).slice(0, 2)).toEqual([3, 4]);
});
