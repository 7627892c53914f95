/** With `texts: documents`, the model reads the documents' own words for placeholders, handovers, references and the warning. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import type { JsonValue } from "../../src/message/json.ts";
import { linesOf } from "../generate/said.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

type Breaking = NonNullable<NonNullable<Config["context_config"]>["breaking_strategy"]>;
type Session = Awaited<ReturnType<Plimsoll["session"]>>;

const small = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const target = "anthropic/small";
const tools = [{ name: "shell_exec", description: "Runs.", parameters: { type: "object" } }];

async function sessionWith(breaking: Breaking, more: Config = {}): Promise<Session> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      texts: "documents",
      providers: { anthropic: { models: { small } } },
      context_config: { breaking_strategy: breaking },
      ...more,
    },
  });
  open.push(plimsoll);
  return plimsoll.session();
}

const said = (content: JsonValue, stop_reason = "end_turn") => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content,
  stop_reason,
});
const noted = said([{ type: "text", text: "Noted." }]);

/** The messages of a turn, as the model reads them. */
async function ask(session: Session, content: JsonValue): Promise<string> {
  await session.append({ role: "user", content });
  const { request } = await session.prepare({ target, tools, cacheMarks: false });
  return JSON.stringify(request["messages"]);
}

/** Talks until the model reads this, and returns what it reads. */
async function until(session: Session, words: RegExp): Promise<string> {
  for (let turn = 0; turn < 40; turn++) {
    const sent = await ask(session, prose(diceOf(turn), 300));
    if (words.test(sent)) return sent;
    await session.commit(noted);
  }
  throw new Error(`Nobody said ${words.source}.`);
}

const handle = "pl_[0-9A-Za-z]{22}";

describe("document A", () => {
  test("Resuming from overflow: … Continue task …, also when it is resumed again", async () => {
    const session = await sessionWith({});
    for (let round = 1; round <= 3; round++) {
      for (let turn = 0; turn < 4; turn++) {
        await ask(session, prose(diceOf(10 * round + turn), 200));
        await session.commit(noted);
      }
      await session.milestone({ task: `ship-${round}` });
      const sent = await ask(session, "Go on.");
      await session.commit(noted);
      expect(sent).toMatch(/Resuming from overflow: .* Continue task ship-\d\./);
      expect(sent.split("Resuming from overflow:")).toHaveLength(2);
      expect(sent).not.toContain("Handover.");
    }
  });
});

/** The agent runs something with a long output. */
async function run(session: Session, id: string, output: string): Promise<string> {
  await ask(session, "Run it.");
  const call = { type: "tool_use", id, name: "shell_exec", input: { command: id } };
  await session.commit(said([call], "tool_use"));
  const result = { type: "tool_result", tool_use_id: id, content: output };
  return ask(session, [result]);
}

describe("document C", () => {
  test("Tool result stored — 48,231 bytes from …, First 200 chars", async () => {
    const session = await sessionWith({ chain_order: ["summarize_old"] });
    await run(session, "toolu_1", `go: downloading\n${prose(diceOf(2), 4_000)}`);
    await session.commit(noted);
    const sent = await until(session, /Tool result stored/);
    expect(sent).toMatch(/\[Tool result stored — [\d,]+ bytes from \\"shell_exec\\"\. /);
    expect(sent).toMatch(
      new RegExp(
        `Use the \\\\"read_result\\\\" tool with ref_id=\\\\"${handle}\\\\" to read specific portions\\.`,
      ),
    );
  });

  test.each([
    ["truncate", "Its first and last lines follow."],
    ["read-grep", "First 200 chars: "],
  ] as const)("a result that leaves on arrival, with tool_output_mode: %s", async (mode, says) => {
    const session = await sessionWith(
      {},
      { defaults: { toolResponseMaxBytes: 4_096, tool_output_mode: mode } },
    );
    await ask(session, "Run it.");
    const call = { type: "tool_use", id: "toolu_1", name: "shell_exec", input: {} };
    await session.commit(said([call], "tool_use"));
    const content = linesOf("alpha", 300).join("\n");
    const result = { type: "tool_result", tool_use_id: "toolu_1", content };
    const sent = await ask(session, [result]);
    expect(sent).toMatch(/\[Tool result stored — [\d,]+ bytes from \\"shell_exec\\"\. /);
    expect(sent).toContain(says);
  });

  test("the library's references have the same words", async () => {
    const session = await sessionWith({});
    await ask(session, "Run it.");
    const call = { type: "tool_use", id: "toolu_1", name: "shell_exec", input: {} };
    await session.commit(said([call], "tool_use"));
    const asked = { id: "toolu_1", name: "shell_exec" };
    const grant = session.toolBudget.reserve(asked, prose(diceOf(3), 9_000));
    expect(grant.kind).toBe("handle");
    await session.append(grant.message);
    const { request } = await session.prepare({ target, tools, cacheMarks: false });
    expect(JSON.stringify(request["messages"])).toContain("[Tool result stored — ");
  });

  test("[Context: 83% used. You can call compact_context …]", async () => {
    const session = await sessionWith({}, { own_tools: "first-request" });
    const sent = await until(session, /\[Context: /);
    expect(sent).toMatch(
      /\[Context: 8\d% used\. You can call compact_context to free space before continuing with large operations\.\]/,
    );
  });
});

describe("document E", () => {
  test("[NOTE] Previous context truncated", async () => {
    const session = await sessionWith({ chain_order: ["truncate"], truncate: { keep: "half" } });
    await until(
      session,
      new RegExp(`\\[NOTE\\] Previous context truncated; it is kept under ${handle}\\.`),
    );
  });

  test("[NOTE] Previous context truncated, also after a compaction by hand with `keep`", async () => {
    const session = await sessionWith({});
    for (let turn = 0; turn < 6; turn++) {
      await ask(session, prose(diceOf(turn), 100));
      await session.commit(noted);
    }
    await session.compact({ keep: "half" });
    expect(await ask(session, "Go on.")).toContain("[NOTE] Previous context truncated");
  });

  test("DUPLICATE CONTENT NOTICE, which stays in later compactions", async () => {
    const session = await sessionWith({ file_reads: "last" });
    const read = async (id: string, length: number): Promise<void> => {
      await ask(session, "Look at src/a.ts.");
      const call = { type: "tool_use", id, name: "read_file", input: { path: "src/a.ts" } };
      await session.commit(said([call], "tool_use"));
      await ask(session, [
        { type: "tool_result", tool_use_id: id, content: linesOf(id, length).join("\n") },
      ]);
      await session.commit(noted);
    };
    await read("one", 120);
    await read("two", 130);
    const notice = new RegExp(
      `\\[DUPLICATE CONTENT NOTICE: src/a\\.ts comes again in #\\d+\\. This older copy is kept under ${handle}\\.\\]`,
    );
    await until(session, notice);
    for (let turn = 0; turn < 20; turn++) {
      await session.commit(noted);
      const sent = await ask(session, prose(diceOf(100 + turn), 300));
      expect(sent).not.toContain("one_7 = compute_one(7");
    }
  });
});

test("by default, the model reads Plimsoll's words", async () => {
  const order = { chain_order: ["truncate" as const] };
  const session = await sessionWith(order, { texts: "plimsoll" });
  const sent = await until(session, /\[Plimsoll: \d+ earlier messages/);
  expect(sent).not.toMatch(/\[Context:|\[NOTE\]/);
});
