/** A fresh start: one handover replaces everything removable. Mandatory units stay, and important ones while they fit. */

import { describe, expect, test } from "vitest";
import { applyProposals, count, HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import { AREAS } from "../../../test/generate/talks.ts";
import { type Message, messageText } from "../../message/message.ts";
import type { Goal, VisibleConversation } from "../../message/strategy.ts";
import { simulateConversation } from "../../simulate/simulate.ts";
import { freshStart } from "./fresh-start.ts";

function user(text: string): Message {
  return { role: "user", parts: [{ kind: "text", text }] };
}
function agent(text: string): Message {
  return { role: "assistant", parts: [{ kind: "text", text }] };
}

const goal = "Make the import of orders in src/shop/importer.py faster.";
const rule = "Never touch the tests.";
const talk: readonly Message[] = [
  user("Hello, are you there?"),
  agent("Yes."),
  user(`${goal} ${rule}`),
  ...Array.from({ length: 12 }, (_, step) => [
    agent(`I look at part_${step}. ${"It reads rows of the export. ".repeat(20)}`),
    user(`Fine, part_${step} is good. Go on.`),
  ]).flat(),
  agent("To do list: write load_report."),
  user("And now?"),
];

function limitOf({ tokens }: VisibleConversation, share: number): Goal {
  return { limitTokens: Math.floor(tokens * share), tokens: 0, floorTokens: 0 };
}

function start(before: VisibleConversation, share: number, task?: string) {
  const strategy = freshStart(
    { reason: "Because.", ...(task === undefined ? {} : { task }) },
    count,
  );
  const proposals = strategy.propose(before, limitOf(before, share));
  if (proposals instanceof Promise) throw new Error("A fresh start is made at once.");
  return { proposals, ...applyProposals(before, proposals, { areas: AREAS }) };
}

describe("the handover", () => {
  const before = seenFrom(talk, { areas: AREAS });
  const { texts, conversation, proposals } = start(before, 0.5);
  const handover = texts.find(({ kind }) => kind === "summary")?.text ?? "";

  test("has the goal, the user's rules, and the handle of everything", () => {
    expect(handover).toContain("Handover.");
    expect(handover).toContain("src/shop/importer.py");
    expect(handover).toContain(rule);
    expect(handover).toContain(HANDLE);
  });

  test("is short, and what it stands for is gone", () => {
    expect(count(handover)).toBeLessThan(600);
    expect(conversation.tokens).toBeLessThan(before.tokens / 3);
    expect(conversation.messages.length).toBeLessThan(6);
    expect(texts.filter(({ kind }) => kind === "mark")).toEqual([]);
  });

  test("stands behind the head, before the user's last words", () => {
    const said = conversation.messages.map(({ message }) => messageText(message));
    expect(said[0]).toBe("Hello, are you there?");
    expect(said.at(-1)).toBe("And now?");
  });

  test("what has priority 1 stays while the request then fits, and goes when it does not", () => {
    const important = "To do list: write load_report.";
    expect(conversation.messages.map(({ message }) => messageText(message))).toContain(important);
    const tight = start(before, 0.01).conversation;
    expect(tight.messages.map(({ message }) => messageText(message))).not.toContain(important);
  });

  test("says which task goes on", () => {
    const { texts: own } = start(before, 0.5, "ship-17");
    expect(own.find(({ kind }) => kind === "summary")?.text).toContain("Continue task ship-17.");
  });

  test("gives its reason with every edit", () => {
    expect(proposals.every((one) => one.reason === "Because.")).toBe(true);
  });
});

test("a second fresh start carries on what the first handover said", () => {
  const first = start(seenFrom(talk), 0.5).conversation;
  const grown = [...first.messages.map(({ message }) => message), ...talk.slice(6)];
  const before = {
    ...seenFrom(grown),
    ...(first.summary === undefined ? {} : { summary: first.summary }),
  };
  const { texts } = start(before, 0.5);
  const handover = texts.find(({ kind }) => kind === "summary")?.text ?? "";
  expect(handover).toContain(rule);
  expect(handover.split(rule)).toHaveLength(2);
  expect(handover.match(/Handover\./g)).toHaveLength(1);
});

test("pins stay, whatever they weigh", () => {
  const before = seenFrom(talk, { pinned: [5] });
  const { conversation } = start(before, 0.1);
  expect(conversation.messages.some(({ number }) => number === 5)).toBe(true);
});

test("where nothing may go, nothing is proposed", () => {
  for (const messages of [[], [user("hi")], [user("hi"), agent("ho")]])
    expect(start(seenFrom(messages), 0.5).proposals).toEqual([]);
});

test.each([1, 2, 3])("a long simulated conversation starts afresh in whole units (%d)", (seed) => {
  const before = seenFrom(simulateConversation({ tokens: 10_000, seed }));
  const { conversation } = start(before, 0.4);
  expect(conversation.tokens).toBeLessThan(before.tokens * 0.4);
});
