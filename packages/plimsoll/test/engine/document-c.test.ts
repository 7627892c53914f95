/** Sentences of document C, with the keys that give its behaviour where Plimsoll's default is another. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

async function opened(config: Config): Promise<Plimsoll> {
  const plimsoll = await openPlimsoll({ store: "memory", config });
  open.push(plimsoll);
  return plimsoll;
}

const model = "claude-sonnet-4-5";
const target = `anthropic/${model}`;
const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

interface Block {
  readonly text: string;
  readonly cache_control?: unknown;
}

interface Request {
  readonly system: readonly Block[];
  readonly messages: readonly { readonly content: unknown }[];
}

const long = (name: string): string => `${name}: ${prose(diceOf(name.length), 2_000)}`;
const sections = [
  { name: "base", content: long("base") },
  { name: "rules", content: long("rules") },
  { name: "memories", content: long("memories") },
  { name: "skills", content: "skills: cook" },
  { name: "scratchpad", content: "scratchpad: try again" },
  { name: "status", content: "status: 42 %" },
] as const;

async function requestWith(prompt: Config["prompt"]): Promise<Request> {
  const session = await (await opened(prompt === undefined ? {} : { prompt })).session();
  await session.append({ role: "user", content: long("question") });
  return (await session.prepare<Request>({ target, system: sections })).request;
}

const namesOf = (system: readonly Block[]): readonly string[] =>
  system.map(({ text }) => text.split(":")[0] ?? "");

describe("Section ordering (static → dynamic)", () => {
  test("with prompt.sections: in_system, Order 5 and 6 are in the prompt, after the others", async () => {
    const { system, messages } = await requestWith({ sections: "in_system" });
    expect(namesOf(system)).toEqual(sections.map(({ name }) => name));
    expect(JSON.stringify(messages)).not.toContain("scratchpad");
  });

  test("by default they come after the conversation, so that the cache of the prompt stays valid", async () => {
    const { system, messages } = await requestWith(undefined);
    expect(namesOf(system)).toEqual(["base", "rules", "memories", "skills"]);
    expect(JSON.stringify(messages)).toContain("scratchpad: try again");
  });
});

describe("Cache breakpoints inserted after sections 1–3", () => {
  const markedIn = ({ system }: Request): readonly string[] =>
    namesOf(system.filter((block) => block.cache_control !== undefined));

  test("with prompt.cache_marks: sections, each of the three has one", async () => {
    expect(markedIn(await requestWith({ cache_marks: "sections" }))).toEqual([
      "base",
      "rules",
      "memories",
    ]);
    const both = await requestWith({ cache_marks: "sections", sections: "in_system" });
    expect(markedIn(both)).toEqual(["base", "rules", "memories"]);
    expect(JSON.stringify(both.messages)).toContain("cache_control");
  });

  test("by default, the first section goes without, and the user's first message has one", async () => {
    const session = await (await opened({})).session();
    await session.append({ role: "user", content: long("question") });
    await session.prepare({ target, system: sections });
    await session.commit(answer);
    await session.append({ role: "user", content: "And now?" });
    const { request } = await session.prepare<Request>({ target, system: sections });
    expect(markedIn(request)).toEqual(["rules", "memories"]);
    expect(JSON.stringify(request.messages[0])).toContain("cache_control");
  });
});

describe("compact_at = 0.95 * effective_window", () => {
  const known = { contextWindow: 20_000, contextWindowBufferTokens: 0, maxOutputTokens: 2_000 };
  const providers = {
    anthropic: { models: { [model]: { ...known, tokenizer: "tiktoken:o200k_base" } } },
  };
  const limit = 18_000;

  /** The share of the limit at which the first compaction happened, with a provider whose cache makes a compaction dear. */
  async function compactedAt(config: Config): Promise<number> {
    const plimsoll = await opened({ providers, ...config });
    const session = await plimsoll.session();
    for (let turn = 0; turn < 200; turn++) {
      await session.append({ role: "user", content: prose(diceOf(turn), 120) });
      const { measurement, outcome } = await session.prepare({ target });
      if (outcome.kind === "compacted") return outcome.tokensBefore / limit;
      const usage = {
        input_tokens: 100,
        cache_read_input_tokens: Math.max(0, measurement.total - 100),
        output_tokens: 4,
      };
      await session.commit({ ...answer, usage });
    }
    return Number.NaN;
  }

  test("with hard_block: 0.95 and cost.when: forced, exactly from there on", async () => {
    const share = await compactedAt({
      agent: { hard_block: 0.95, warning_note: false },
      cost: { when: "forced" },
    });
    expect(share).toBeGreaterThanOrEqual(0.95);
    expect(share).toBeLessThan(0.965);
  });

  test("by default, Plimsoll waits if that costs less, up to block_at = 0.98", async () => {
    const share = await compactedAt({
      agent: { warning_note: false },
      cost: { expected_turns: 1 },
    });
    expect(share).toBeGreaterThan(0.965);
    expect(share).toBeLessThan(1);
  });
});
