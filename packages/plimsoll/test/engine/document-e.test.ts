/** Document E: shouldCompactContextWindow, calculateImpact, and "optimize first, truncate only when necessary". */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Config, openPlimsoll, type Plimsoll, type Session } from "../../src/index.ts";
import { linesOf } from "../generate/said.ts";

const providers = {
  anthropic: {
    models: {
      small: {
        contextWindow: 9_000,
        maxOutputTokens: 500,
        contextWindowBufferTokens: 500,
        tokenizer: "tiktoken:o200k_base",
      },
    },
  },
};
const target = "anthropic/small";
/** All of document E, by its keys. */
const documentE: Config = {
  providers,
  context_config: {
    breaking_strategy: {
      chain_order: ["truncate"],
      file_reads: "last",
      truncate: { enough_saved: 0.3, keep: "half" },
    },
  },
};

let plimsoll: Plimsoll;
let other: Plimsoll;
beforeAll(async () => {
  plimsoll = await openPlimsoll({ store: "memory", config: { providers } });
  other = await openPlimsoll({ store: "memory", config: documentE });
});
afterAll(() => Promise.all([plimsoll.close(), other.close()]));

const said = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text }],
  stop_reason: "end_turn",
});

/** One turn, in which the user says about so many tokens. */
async function say(session: Session, tokens: number): Promise<void> {
  await session.append({ role: "user", content: "ship ".repeat(tokens) });
  await session.prepare({ target, cacheMarks: false });
  await session.commit(said("Noted."));
}

/** A turn in which the agent reads this file. Returns the strategies of the compactions so far. */
async function readFile(session: Session, path: string, content: string): Promise<void> {
  const id = `toolu_${path.length}_${content.length}_${Math.round(content.charCodeAt(0))}`;
  await session.append({ role: "user", content: `Look at ${path}.` });
  await session.prepare({ target, cacheMarks: false });
  const call = { type: "tool_use", id, name: "read_file", input: { path } };
  await session.commit({ ...said("I will."), content: [call], stop_reason: "tool_use" });
  await session.append({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content }],
  });
  await session.prepare({ target, cacheMarks: false });
  await session.commit(said("I have read it."));
}

describe("shouldCompact(threshold)", () => {
  test("is true from this share of the limit on, with what was appended since the last turn", async () => {
    const session = await plimsoll.session();
    expect(await session.shouldCompact()).toBe(false);
    await say(session, 4_000);
    expect(await session.shouldCompact(0.9)).toBe(false);
    expect(await session.shouldCompact(0.4)).toBe(true);
    await session.append({ role: "user", content: "ship ".repeat(3_500) });
    expect(await session.shouldCompact(0.9)).toBe(true);
  });

  test.each([0, 1.5, Number.NaN])("%d is no share: a sentence", async (threshold) => {
    const session = await plimsoll.session();
    await expect(session.shouldCompact(threshold)).rejects.toThrow(
      `shouldCompact takes a share above 0, at most 1, such as 0.9. It got ${threshold}.`,
    );
  });
});

describe("impact(view)", () => {
  test("is what the edits of a view save, in messages, characters and tokens", async () => {
    const session = await plimsoll.session();
    for (let turn = 0; turn < 5; turn++) await say(session, 1_000);
    const none = await session.impact();
    expect(none.characters).toMatchObject({ savedShare: 0 });
    const { tokensBefore, tokensAfter } = await session.compact({ budget: 3_000 });
    const { messages, characters, tokens } = await session.impact();
    expect(Math.abs(tokens.whole - tokens.view - (tokensBefore - tokensAfter))).toBeLessThan(50);
    expect(characters.whole).toBe(none.characters.whole);
    expect(characters.savedShare).toBeCloseTo(1 - characters.view / characters.whole);
    expect(characters.savedShare).toBeGreaterThan(0.3);
    expect(messages.view).toBeLessThanOrEqual(messages.whole);
    // The view before the first edit.
    expect((await session.impact({ seq: 0 })).tokens.savedShare).toBe(0);
  });
});

describe("optimize first, truncate only when necessary", () => {
  /** The strategies of each compaction. */
  async function strategiesOf(
    talk: (session: Session) => Promise<void>,
    from: Plimsoll = other,
  ): Promise<string[][]> {
    const session = await from.session();
    const strategies: string[][] = [];
    session.on("compaction-end", (event) => strategies.push([...event.strategies]));
    await talk(session);
    await expect.poll(() => strategies.length).toBeGreaterThan(0);
    return strategies;
  }

  test("older copies of a file that changed go, and nothing is truncated if that saves 30 %", async () => {
    const strategies = await strategiesOf(async (session) => {
      await say(session, 10);
      for (const name of ["a", "b", "c", "d"])
        await readFile(session, "src/a.ts", linesOf(name.repeat(3), 120).join("\n"));
    });
    expect(strategies).toEqual([["older_copies"]]);
  });

  test.each([
    ["by default, a fifth of the limit must be free too", {}, ["older_copies", "truncate_half"]],
    ["with enough_free: 0, saving enough is enough", { enough_free: 0 }, ["older_copies"]],
  ] as const)("Saved Enough Space? %s", async (_, more, expected) => {
    const breaking = documentE.context_config?.breaking_strategy;
    const truncate = { keep: "half", enough_saved: 0.05, ...more } as const;
    const own = await openPlimsoll({
      store: "memory",
      config: { providers, context_config: { breaking_strategy: { ...breaking, truncate } } },
    });
    const strategies = await strategiesOf(async (session) => {
      for (const name of ["a", "b"])
        await readFile(session, "src/a.ts", linesOf(name.repeat(3), 40).join("\n"));
      for (let turn = 0; turn < 7; turn++) await say(session, 900);
    }, own);
    expect(strategies[0]).toEqual(expected);
    await own.close();
  });

  test("otherwise the middle is cut by the configured half", async () => {
    const strategies = await strategiesOf(async (session) => {
      for (let turn = 0; turn < 8; turn++) await say(session, 1_000);
    });
    expect(strategies[0]).toEqual(["truncate_half"]);
  });
});

describe("a session in which the agent works for a long time after the user's last words", () => {
  const rounds = 8;

  async function worked(): Promise<Session> {
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Mend the harbour fee." });
    await session.prepare({ target, cacheMarks: false });
    await session.commit(said("Which one?"));
    await session.append({ role: "user", content: "The one of berth 7." });
    for (let round = 0; round < rounds; round++) {
      await session.prepare({ target, cacheMarks: false });
      const call = { type: "tool_use", id: `toolu_${round}`, name: "shell", input: { round } };
      await session.commit({ ...said(""), content: [call], stop_reason: "tool_use" });
      const content = `Result ${round} of the work. `.repeat(10);
      await session.append({
        role: "user",
        content: [{ type: "tool_result", tool_use_id: call.id, content }],
      });
    }
    await session.prepare({ target, cacheMarks: false });
    await session.commit(said("The fee is mended."));
    return session;
  }

  test.each([
    ["none", 0],
    ["lastTwo", 2],
    ["half", rounds / 2],
    ["quarter", rounds / 4],
  ] as const)("compact({ keep: %s }) cuts this work", async (keep, left) => {
    const session = await worked();
    await session.compact({ keep });
    const { request } = await session.prepare({ target, cacheMarks: false });
    const sent = JSON.stringify(request["messages"]);
    expect(sent).toContain("The one of berth 7.");
    expect(sent).toContain("The fee is mended.");
    const calls = sent.match(/"tool_use"/g) ?? [];
    expect(calls.length).toBe(left);
    expect((sent.match(/"tool_result"/g) ?? []).length).toBe(left);
  });
});
