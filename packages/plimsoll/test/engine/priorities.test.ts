/** What a caller says about messages: it decides what a compaction takes out, whichever strategy runs, and survives a restart. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-priorities-"));
afterAll(() => rmSync(folder, { recursive: true }));
const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
type Config = NonNullable<NonNullable<Parameters<typeof openPlimsoll>[0]>["config"]>;
const config: Config = { providers: { anthropic: { models: { small } } } };

async function fresh(more: Config = {}, data?: string): Promise<Plimsoll> {
  const place = data === undefined ? { store: "memory" as const } : { data };
  const plimsoll = await openPlimsoll({ ...place, config: { ...config, ...more } });
  open.push(plimsoll);
  return plimsoll;
}

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};
type Session = Awaited<ReturnType<Plimsoll["session"]>>;
type Tag = Parameters<Session["append"]>[1];

const SECRET = "The harbour gate code is 7714 and the pilot boards at dawn.";
const WHOLE = `${SECRET} ${prose(diceOf(99), 250)}`;

const WHOLE_AS_SENT = JSON.stringify(WHOLE).slice(1, -1);

/** Says all of it early, then fills the window until something had to go. Returns the last request. */
async function fill(session: Session, tag: Tag, seed = 1): Promise<string> {
  const random = diceOf(seed);
  let sent = "";
  for (let turn = 0; turn < 24; turn++) {
    const content = turn === 2 ? WHOLE : prose(random, 300);
    await session.append({ role: "user", content }, turn === 2 ? tag : undefined);
    const { request } = await session.prepare({ target: "anthropic/small", cacheMarks: false });
    sent = JSON.stringify(request);
    await session.commit(answer);
  }
  return sent;
}

const strategies = [
  "summarize_old",
  "prioritize_recent",
  "content_type_chunking",
  "discard_low_rel",
  "hybrid",
] as const;

describe("priority 1 is taken out last", () => {
  test.each(strategies)("whatever strategy runs: %s", async (name) => {
    const chain: Config = { context_config: { breaking_strategy: { chain_order: [name] } } };
    const important = await (await fresh(chain)).session();
    expect(await fill(important, { priority: 1 })).toContain(WHOLE_AS_SENT);
    const usual = await (await fresh(chain)).session();
    expect(await fill(usual, { priority: 3 })).not.toContain(WHOLE_AS_SENT);
  });

  test("by the default chain too", async () => {
    const important = await (await fresh()).session();
    expect(await fill(important, { priority: 1 })).toContain(WHOLE_AS_SENT);
    const usual = await (await fresh()).session();
    expect(await fill(usual, { priority: 3 })).not.toContain(WHOLE_AS_SENT);
  });
});

describe("the caller's word replaces Plimsoll's guess", () => {
  test("plan_ref is kept verbatim, whatever the text looks like", async () => {
    const order = ["content_type_chunking"] as const;
    const chain: Config = { context_config: { breaking_strategy: { chain_order: [...order] } } };
    const kept = async (tag: Tag): Promise<boolean> => {
      const session = await (await fresh(chain)).session();
      for (const [at, words] of [
        WHOLE,
        prose(diceOf(7), 2_400),
        prose(diceOf(8), 2_400),
      ].entries()) {
        await session.append({ role: "user", content: `Number ${at}.` });
        await session.append({ role: "assistant", content: words }, at === 0 ? tag : undefined);
        await session.append({ role: "user", content: "Go on." });
        await session.prepare({ target: "anthropic/small", cacheMarks: false });
        await session.commit(answer);
      }
      await session.compact({ budget: 3_500 });
      await session.append({ role: "user", content: "And now?" });
      const { request } = await session.prepare({ target: "anthropic/small", cacheMarks: false });
      return JSON.stringify(request).includes(WHOLE_AS_SENT);
    };
    expect(await kept({ type: "plan_ref" })).toBe(true);
    expect(await kept({ type: "log" })).toBe(false);
  });

  test("relevance decides which units are discarded", async () => {
    const chain: Config = {
      context_config: { breaking_strategy: { chain_order: ["discard_low_rel"] } },
    };
    const kept = async (relevance: number): Promise<boolean> => {
      const session = await (await fresh(chain)).session();
      const random = diceOf(6);
      for (let turn = 0; turn < 10; turn++) {
        const words = turn === 4 ? WHOLE : prose(random, 300);
        await session.append({ role: "user", content: words }, turn === 4 ? { relevance } : {});
        await session.prepare({ target: "anthropic/small", cacheMarks: false });
        await session.commit(answer);
      }
      const { tokensBefore } = await session.compact({ budget: 2_700 });
      expect(tokensBefore).toBeGreaterThan(2_700);
      await session.append({ role: "user", content: "And now?" });
      const { request } = await session.prepare({ target: "anthropic/small", cacheMarks: false });
      return JSON.stringify(request).includes(WHOLE_AS_SENT);
    };
    expect(await kept(1)).toBe(true);
    expect(await kept(0)).toBe(false);
  });
});

test("a tag of a message in the log survives a restart", async () => {
  const data = join(folder, "restart");
  const first = await fresh({}, data);
  const session = await first.session();
  await session.append({ role: "user", content: "Let us begin." });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  await session.append({ role: "user", content: SECRET }, { priority: 1, type: "plan_ref" });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  await first.close();
  open.length = 0;
  const second = await fresh({}, data);
  const { units } = await second.picture(session.id);
  const tagged = units.find(({ begins }) => begins.startsWith("The harbour gate"));
  expect(tagged).toMatchObject({ priority: 1, type: "plan_ref" });
  expect(units.find(({ begins }) => begins.startsWith("Let us"))?.priority).toBeUndefined();
  expect(await fill(await second.session(session.id), undefined, 2)).toContain(SECRET);
});

test("a session's priority is that of its messages, and of the same session after a restart", async () => {
  const data = join(folder, "session");
  const first = await fresh({}, data);
  const session = await first.session({ agent: "coder", priority: 1 });
  await session.append({ role: "user", content: "Let us begin." });
  await session.append({ role: "user", content: "By the way." }, { priority: 3 });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  await first.close();
  open.length = 0;
  const second = await fresh({}, data);
  const resumed = await second.session(session.id);
  await resumed.append({ role: "user", content: "And now?" });
  await resumed.prepare({ target: "anthropic/small" });
  await resumed.commit(answer);
  const { units } = await second.picture(session.id);
  const ranks = units.map(({ begins, priority }) => [begins, priority]);
  expect(ranks).toEqual([
    ["Let us begin.", 1],
    ["By the way.", 3],
    ["Noted.", 1],
    ["And now?", 1],
    ["Noted.", 1],
  ]);
});

test("a session in which everything has priority 1 is compacted as usual", async () => {
  const important = await (await fresh()).session({ priority: 1 });
  const usual = await (await fresh()).session();
  const masked = (sent: string): string => sent.replaceAll(/pl_[\w-]+/g, "pl_");
  const [one, other] = [await fill(important, undefined), await fill(usual, undefined)];
  expect(masked(one)).toContain("is left out");
  expect(masked(one)).toBe(masked(other));
});

test.each(["discard_low_rel", "prioritize_recent"] as const)(
  "Breaking prioritizes P1 units: with all_p1: protect, a session of them keeps what the limit allows (%s)",
  async (strategy) => {
    /** Tokens of the window after the first compaction. */
    const left = async (all_p1: "as_usual" | "protect"): Promise<number> => {
      const plimsoll = await fresh({
        context_config: { breaking_strategy: { chain_order: [strategy], all_p1 } },
      });
      const session = await plimsoll.session({ priority: 1 });
      const random = diceOf(12);
      for (let turn = 0; turn < 40; turn++) {
        await session.append({ role: "user", content: prose(random, 300) });
        const { outcome } = await session.prepare({ target: "anthropic/small" });
        await session.commit(answer);
        if (outcome.kind === "compacted") return outcome.tokensAfter;
      }
      return Number.NaN;
    };
    const [usual, protectedly] = [await left("as_usual"), await left("protect")];
    expect(protectedly).toBeGreaterThan(usual * 1.2);
    expect(protectedly).toBeLessThanOrEqual(7_000);
  },
);

test("an area of priority_areas raises the priority of a session, and never that of a message with a tag", async () => {
  const areas = [{ name: "To Do List", priority: 1 as const, patterns: ["TODO"] }];
  const plimsoll = await fresh({ priority_areas: areas });
  const session = await plimsoll.session({ priority: 3 });
  await session.append({ role: "user", content: "One TODO." });
  await session.append({ role: "user", content: "Another TODO." }, { priority: 2 });
  await session.append({ role: "user", content: "Nothing to do." });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  const { units } = await plimsoll.picture(session.id);
  expect(units.map(({ priority }) => priority)).toEqual([1, 2, 3, 3]);
});

test("parallel results that become one message have the highest of their priorities", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Look at both." });
  await session.prepare({ target: "anthropic/small" });
  const use = (id: string) => ({ type: "tool_use", id, name: "look", input: {} });
  await session.commit({ ...answer, content: [use("one"), use("two")], stop_reason: "tool_use" });
  for (const [callId, priority] of [
    ["one", 3],
    ["two", 1],
  ] as const) {
    const content = [{ kind: "text" as const, text: `Result ${callId}.` }];
    const part = { kind: "tool-result" as const, callId, content, isError: false };
    await session.append({ role: "tool", parts: [part] }, { priority });
  }
  await session.append({ role: "user", content: "Go on." }, { priority: 2 });
  await session.prepare({ target: "anthropic/small" });
  await session.commit(answer);
  const { units } = await plimsoll.picture(session.id);
  const ranks = units.map(({ first, last, priority }) => [(last ?? 0) - (first ?? 0), priority]);
  expect(ranks).toEqual([
    [0, undefined],
    [1, 1],
    [0, 2],
    [0, undefined],
  ]);
});

describe("a wrong tag gets a clear sentence", () => {
  test.each([
    [{ priority: 0 }, "`priority` must be 1, 2 or 3, where 1 is the highest, and not 0."],
    [{ priority: 9 }, "`priority` must be 1, 2 or 3, where 1 is the highest, and not 9."],
    [{ relevance: 1.5 }, "`relevance` must be a number from 0 to 1, and not 1.5."],
    [{ type: "text" }, "`type` must be one of message, code, plan_ref, log,"],
    [{ prio: 1 }, 'A tag has no "prio".'],
  ])("%o", async (tag, sentence) => {
    const session = await (await fresh()).session();
    const appended = session.append({ role: "user", content: "Hi." }, tag as Tag);
    await expect(appended).rejects.toThrow(sentence);
  });

  test("a session of priority 0, and a tag on a message that does not exist", async () => {
    const plimsoll = await fresh();
    await expect(plimsoll.session({ priority: 0 as 1 })).rejects.toThrow("must be 1, 2 or 3");
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Hi." });
    await session.prepare({ target: "anthropic/small" });
    await session.commit(answer);
    await expect(session.tag(99, { priority: 1 })).rejects.toThrow(
      "There is no message 99 in this session.",
    );
    await expect(session.tag(1, {})).rejects.toThrow("Say at least one of");
    await session.tag(1, { priority: 1 });
    expect((await plimsoll.picture(session.id)).units[0]?.priority).toBe(1);
  });
});
