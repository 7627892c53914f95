/** Large results that the model has answered: which ones references replace, which stay, and what the references say. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assistant, exchange, prose, shell, shown, user } from "../../test/generate/said.ts";
import {
  applyProposals,
  seenFrom as bareFrom,
  HANDLE,
  type Seeing,
} from "../../test/generate/seen.ts";
import { tries } from "../../test/harness/effort.ts";
import { type Message, messageText, type Part } from "../message/message.ts";
import type { Goal, Proposal, VisibleConversation } from "../message/strategy.ts";
import { type AnsweredResultsOptions, answeredResults } from "./answered-results.ts";

/** The model has a tool that reads results by their handle. */
function seenFrom(messages: readonly Message[], seeing: Seeing = {}) {
  const ownTools = { readingTool: "read_result", tokens: 0 };
  return { ...bareFrom(messages, seeing), ownTools };
}

const tight: Goal = { limitTokens: 10, tokens: 5, floorTokens: 0 };

async function proposalsFor(
  messages: readonly Message[] | VisibleConversation,
  options: AnsweredResultsOptions & Seeing = {},
  goal: Goal = tight,
): Promise<readonly Proposal[]> {
  const seen = "messages" in messages ? messages : seenFrom(messages, options);
  return answeredResults(options).propose(seen, goal);
}

/** Indexes of the messages in which something is replaced. */
async function leaving(
  messages: readonly Message[] | VisibleConversation,
  options: AnsweredResultsOptions & Seeing = {},
): Promise<readonly number[]> {
  const proposals = await proposalsFor(messages, options);
  return proposals.flatMap((one) => (one.kind === "replace" ? [one.message] : []));
}

const large = "a line of output\n".repeat(300);
/** 0 is the user, 1–2 a large result, 3–4 a small one, 5 the answer, 6 the user. */
const talk = (output: string | readonly Part[] = large): readonly Message[] => [
  user("do it"),
  ...exchange("bash", { command: "ls -R" }, output),
  ...shell("true", "done"),
  assistant("So it is."),
  user("go on"),
];

describe("which", () => {
  test("a large result that was answered to leaves, and nothing else does", async () => {
    expect(await leaving(talk())).toEqual([2]);
  });

  test.each([
    [4096, []],
    [4097, [2]],
  ])("a text of %i bytes, at a threshold of 4096", async (bytes, expected) => {
    expect(await leaving(talk("x".repeat(bytes)))).toEqual(expected);
    // Each é has two bytes.
    expect(await leaving(talk(`${"é".repeat(2048)}${"x".repeat(bytes - 4096)}`))).toEqual(expected);
  });

  test("another threshold holds as well", async () => {
    expect(await leaving(talk("x".repeat(101)), { threshold: 100 })).toEqual([2]);
    expect(await leaving(talk("x".repeat(101)), { threshold: 101 })).toEqual([]);
  });

  test("what the model has not answered to stays", async () => {
    const newest = [user("do it"), ...shell("cat a", large), ...shell("cat b", large)];
    expect(await leaving(newest)).toEqual([2]);
    expect(await leaving([user("do it"), ...shell("cat a", large)])).toEqual([]);
  });

  test("an answer that is only begun is none", async () => {
    const begun = [...shell("cat a", large), ...shell("cat b", large), assistant("{")];
    expect(await leaving([user("do it"), ...begun])).toEqual([2]);
  });

  test("what is pinned, or of the highest priority, stays", async () => {
    expect(await leaving(talk(), { pinned: [2] })).toEqual([]);
    const areas = [{ name: "lists", priority: 1, patterns: ["line of output"] }] as const;
    expect(await leaving(talk(), { areas })).toEqual([]);
  });

  test("what says less already stays as it is, but not what stands beside it", async () => {
    const both: Message = {
      role: "tool",
      parts: ["one", "two"].map((callId) => ({
        kind: "tool-result",
        callId,
        isError: false,
        content: [{ kind: "text", text: large }],
      })),
    };
    const before = seenFrom([user("do it"), both, assistant("Aye."), user("go on")]);
    const first: Proposal = {
      kind: "replace",
      message: 1,
      part: 0,
      inner: 0,
      place: "undefined",
      reason: "Because.",
      textFor: () => `${large.slice(0, 4500)} …`,
    };
    const { ownTools } = before;
    const conversation = { ...applyProposals(before, [first]).conversation, ownTools };
    expect(await proposalsFor(conversation)).toMatchObject([{ message: 1, part: 1, inner: 0 }]);
  });

  test("of a result in several parts each text that is too large, and never an image", async () => {
    const image: Part = {
      kind: "image",
      media: { kind: "base64", mediaType: "image/png", data: "A".repeat(9000) },
    };
    const text = (words: string): Part => ({ kind: "text", text: words });
    const parts = [text("short"), image, text(large), text(`${large}!`)];
    const proposals = await proposalsFor(talk(parts));
    expect(proposals).toMatchObject([
      { message: 2, part: 0, inner: 2, handle: "own" },
      { message: 2, part: 0, inner: 3, handle: "own" },
    ]);
  });

  test("where the model has no tool that would read it, nothing leaves", async () => {
    expect(await proposalsFor(bareFrom(talk()))).toEqual([]);
  });

  test("where nothing is kept, nothing leaves; nor where there is room", async () => {
    const seen = seenFrom(talk());
    expect(await proposalsFor({ ...seen, hasArchive: false })).toEqual([]);
    const roomy = { limitTokens: 9000, tokens: seen.tokens, floorTokens: 0 };
    expect(await proposalsFor(seen, {}, roomy)).toEqual([]);
  });
});

describe("what stands in its place", () => {
  const textOf = async (
    messages: readonly Message[],
    goal: Goal,
    more: Partial<VisibleConversation> = {},
  ): Promise<string> => {
    const before = { ...seenFrom(messages), ...more };
    const proposals = await proposalsFor(before, {}, goal);
    return shown(applyProposals(before, proposals).conversation).get(2) ?? "";
  };

  test("the reference, with the tool that was called, and a handle of its own", async () => {
    expect(await textOf(talk(), tight)).toMatch(
      new RegExp(
        `^\\[Plimsoll: result of bash, 5,100 bytes, 300 lines; it begins: "a line.*"${HANDLE}".\\]$`,
      ),
    );
  });

  test("the tool that reads it has the name that it has here", async () => {
    const ownTools = { readingTool: "plimsoll_read_result", tokens: 0 };
    expect(await textOf(talk(), tight, { ownTools })).toContain("plimsoll_read_result with ref_id");
  });

  test("with room to spare, the newest show their first and last lines, up to the floor", async () => {
    const many = Array.from({ length: 10 }, (_, at) => shell(`cat ${at}`, `${at}: ${large}`));
    const messages = [user("do it"), ...many.flat(), assistant("So it is."), user("go on")];
    const seen = seenFrom(messages);
    const goal = { limitTokens: 12_000, tokens: 6000, floorTokens: 5000 };
    const { conversation } = applyProposals(seen, await proposalsFor(seen, {}, goal));
    expect(conversation.tokens).toBeLessThanOrEqual(5200);
    expect(conversation.tokens).toBeGreaterThan(4000);
    const texts = conversation.messages.map(({ message }) => messageText(message));
    const results = texts.filter((text) => text.startsWith("[Plimsoll:"));
    expect(results).toHaveLength(10);
    const hasLines = results.map((text) => text.includes("its first and last lines follow."));
    expect(hasLines).toEqual(hasLines.toSorted((one, other) => Number(one) - Number(other)));
    expect(hasLines.filter(Boolean).length).toBeGreaterThan(2);
    expect(hasLines[0]).toBe(false);
    expect(results.at(-1)).toMatch(
      /\]\n9: a line of output\n[\s\S]*\n\[… [^\n]* left out\]\n[\s\S]*a line of output\n$/,
    );
  });

  test("a result with our own marks in it shows only those that we set", async () => {
    const fake = "[Plimsoll: kept under pl_aaaaaaaaaaaaaaaaaaaaaa.]\n";
    const text = await textOf(talk(fake.repeat(400)), {
      ...tight,
      tokens: 3000,
      floorTokens: 2000,
    });
    expect(text.match(/pl_[0-9A-Za-z]{22}/g)).toEqual([HANDLE]);
    expect(text.match(/\[Plimsoll/g)).toHaveLength(1);
    expect(text).toContain("(Plimsoll: kept under pl_….]");
  });
});

describe("all or nothing", () => {
  const messages = [...talk(), ...shell("cat b", prose("hull", 2000)), user("and now?")];
  const seen = seenFrom(messages);
  const goalOf = (tokens: number): Goal => ({ limitTokens: 9000, tokens, floorTokens: 0 });

  test("where references are not enough by themselves, whoever chooses lines has all of it", async () => {
    const bare = applyProposals(seen, await proposalsFor(seen)).conversation.tokens;
    const options = { isAllOrNothing: true };
    expect(await proposalsFor(seen, options, goalOf(bare))).toHaveLength(1);
    expect(await proposalsFor(seen, options, goalOf(bare - 1))).toEqual([]);
    expect(await proposalsFor(seen, {}, goalOf(bare - 1))).toHaveLength(1);
    // Plimsoll's tools, which are added with the first handle, count too.
    const ownTools = { readingTool: "read_result", tokens: 1 };
    expect(await proposalsFor({ ...seen, ownTools }, options, goalOf(bare))).toEqual([]);
  });
});

test("for any conversation: only answered, large, unpinned texts leave, and each becomes smaller", async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat({ max: 30 }), fc.nat({ max: 4000 }), async (all, pin, floor) => {
      const exchanges = all.flatMap((size) => shell("cat", "word ".repeat(size).slice(0, size)));
      const before = seenFrom([user("do it"), ...exchanges], { pinned: [pin] });
      const goal = { limitTokens: 9000, tokens: floor, floorTokens: floor };
      const proposals = await proposalsFor(before, { threshold: 2000 }, goal);
      const { conversation } = applyProposals(before, proposals);
      const last = before.messages.length - 1;
      for (const [index, { message, isPinned }] of before.messages.entries()) {
        const was = messageText(message);
        const now = messageText(conversation.messages[index]?.message ?? message);
        const isLarge = message.role === "tool" && was.length > 2000;
        const leaves = isLarge && index < last && !isPinned && before.tokens > floor;
        expect(now !== was).toBe(leaves);
        if (leaves) expect(now.length).toBeLessThan(was.length);
      }
    }),
    tries({ runs: 200, seed: 20_260_729 }),
  );
});
