/** Answers of Plimsoll's own tools, and results that arrive while the tools work. */

import { expect, test } from "vitest";
import { PlimsollError } from "../../message/error.ts";
import { type OwnAnswer, ownToolsBeside } from "../../offload/own-tools.ts";
import { emptyLog } from "../log/log.ts";
import type { Asker } from "../lookup/answer-own-call.ts";
import type { Compacted } from "../steer/steer.ts";
import { type AskedTurn, answerCall } from "./answer-call.ts";
import type { TurnBudget } from "./tool-budget.ts";

const read = {
  kind: "tool-call",
  id: "c1",
  name: "read_result",
  input: '{"ref_id":"pl_x"}',
} as const;

/** Counts one token per character. */
function asked(remaining: number, compact: () => Promise<Compacted> = () => Promise.reject()) {
  const left = { remaining };
  const unsaved: unknown[] = [];
  const budget = {
    publicApi: left,
    answerRoom: remaining,
    weigh: ({ parts }: { parts: readonly { content: readonly { text: string }[] }[] }) =>
      parts[0]?.content[0]?.text.length ?? 0,
    spend: (tokens: number) => {
      left.remaining -= tokens;
    },
    freed: (tokens: number) => {
      left.remaining += tokens;
    },
  } as unknown as TurnBudget;
  const draft = {
    tools: { kind: "offered", offer: { own: ownToolsBeside(new Set()) } },
    log: { ...emptyLog({ id: "s", tenant: "t", wire: "w", createdAt: 1, updatedAt: 1 }), unsaved },
    branch: { record: { id: "main" }, memory: { turns: 0 } },
    turn: { id: "turn", at: 1 },
  } as unknown as AskedTurn["draft"];
  const findTools = () => Promise.resolve({ text: "", isError: true });
  return { turn: { draft, budget, compact, findTools }, left, unsaved };
}

const context = (answer: (asker: Asker) => Promise<OwnAnswer>) => ({
  own: { answer } as never,
  config: {},
  exclusively: <T>(_name: string, work: () => Promise<T>): Promise<T> => work(),
});

test("what is taken while an answer is on its way is not given out twice", async () => {
  const { turn, left, unsaved } = asked(1000);
  const text = "x".repeat(800);
  const whole = await answerCall(
    context(async () => ({ text, isError: false })),
    turn,
    read,
  );
  expect(whole).toMatchObject({ text, isError: false });
  expect(left.remaining).toBe(200);
  left.remaining = 1000;
  const late = answerCall(
    context(async () => {
      left.remaining = 300;
      return { text, isError: false };
    }),
    turn,
    read,
  );
  expect(await late).toMatchObject({
    text: "There is no room for an answer. Call compact_context first, then ask again.",
    isError: true,
  });
  expect(left.remaining).toBeLessThan(300);
  expect(unsaved).toHaveLength(2);
});

test("a call of somebody else's tool is not ours to answer", async () => {
  const { turn } = asked(1000);
  const never = context(() => Promise.reject(new Error("asked")));
  expect(await answerCall(never, turn, { ...read, name: "shell" })).toBeNull();
});

test("compact_context says what came of it, and what it freed may be used", async () => {
  const done = {
    tokensBefore: 900,
    tokensAfter: 400,
    messagesBefore: 12,
    messagesAfter: 4,
    strategies: ["excerpt"],
  } as unknown as Compacted;
  const compacts = context(async ({ compact }) => ({
    text: (await compact?.()) ?? "",
    isError: false,
  }));
  const call = { ...read, name: "compact_context", input: "" };
  const { turn, left } = asked(1000, async () => done);
  const answer = await answerCall(compacts, turn, call);
  expect(answer?.text).toBe(
    "Compacted: 900 → 400 tokens, 12 → 4 messages in the window (excerpt). Everything can still be read by its handle.",
  );
  expect(left.remaining).toBe(1500 - (answer?.text.length ?? 0));
  const nothing = asked(1000, async () => {
    throw new PlimsollError("NOTHING_TO_DO", "There is nothing to take out.");
  });
  expect(await answerCall(compacts, nothing.turn, call)).toMatchObject({
    text: "There is nothing to take out.",
    isError: false,
  });
});
