/** Checks that long work leaves time for other work. Progress is counted in lines, not in time. */

import { expect, test } from "vitest";
import { seenFrom } from "../../test/generate/seen.ts";
import { duplicateReads } from "../compact/strategies/duplicate-reads.ts";
import { repeatedRuns } from "../compact/strategies/repeated-lines.ts";
import type { Message } from "./message.ts";
import { costPerStep, inSteps, Steps } from "./steps.ts";

const count = (text: string): number => Math.ceil(text.length / 4);
const tight = { limitTokens: 10, tokens: 100_000, floorTokens: 0 };

function talkWith(text: string): readonly Message[] {
  const call = (id: string): Message => ({
    role: "assistant",
    parts: [{ kind: "tool-call", id, name: "read_file", input: '{"path":"a.py"}' }],
  });
  const result = (callId: string): Message => ({
    role: "tool",
    parts: [{ kind: "tool-result", callId, content: [{ kind: "text", text }], isError: false }],
  });
  const user = (said: string): Message => ({ role: "user", parts: [{ kind: "text", text: said }] });
  return [user("do it"), call("a"), result("a"), call("b"), result("b"), user("go on")];
}

const texts: Readonly<Record<string, string>> = {
  "blank lines": "\n".repeat(200_000),
  "lines of words": Array.from({ length: 50_000 }, (_, at) => `cargo ${at % 900} ledger`).join(
    "\n",
  ),
  "numbered lines": Array.from({ length: 50_000 }, (_, at) => `${at + 1}\tcargo ${at}`).join("\n"),
};

test.each(Object.entries(texts))("%s: no step reads more than its lines", async (_name, text) => {
  const conversation = seenFrom(talkWith(text));
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  const proposals = await duplicateReads({ count, pause }).propose(conversation, tight);
  const atOnce = await duplicateReads({ count }).propose(conversation, tight);
  const lines = 2 * text.split("\n").length;
  // Each line is read, named and filed at least once.
  expect(pauses).toBeGreaterThanOrEqual(Math.floor((3 * lines) / costPerStep) - 3);
  expect(JSON.stringify(proposals)).toBe(JSON.stringify(atOnce));
});

test("the lines of one text are looked at in steps, and the runs are the same", async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} of it`);
  const files = ["a.py"];
  const both = [
    { lines, files, mayGo: () => true },
    { lines, files, mayGo: () => true },
  ];
  let pauses = 0;
  const stepped = await inSteps(repeatedRuns(both, count), async () => void pauses++);
  expect(stepped).toEqual(inSteps(repeatedRuns(both, count), undefined));
  expect(stepped[0]).toEqual([{ from: 0, to: 20_000, text: 1 }]);
  expect(pauses).toBeGreaterThan((3 * 20_000) / costPerStep);
});

test("a step is over when its cost is spent, and the next begins from nothing", () => {
  const steps = new Steps();
  expect([costPerStep - 1, 1, 1, costPerStep * 9, 1].map((cost) => steps.isOver(cost))).toEqual([
    false,
    true,
    false,
    true,
    false,
  ]);
});
