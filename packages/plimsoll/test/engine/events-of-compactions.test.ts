/** Who asks for the events of compactions gets them under every configuration, or an error that names the right event. */

import { afterEach, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const known = { contextWindow: 8_000, contextWindowBufferTokens: 500, maxOutputTokens: 500 };
const small = { ...known, tokenizer: "tiktoken:o200k_base" };
const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

async function opened(config: Config = {}): Promise<Plimsoll> {
  const providers = { anthropic: { models: { small } } };
  const plimsoll = await openPlimsoll({ store: "memory", config: { providers, ...config } });
  open.push(plimsoll);
  return plimsoll;
}

test.each<[string, Config]>([
  ["the default configuration", {}],
  [
    "the chain of document A",
    { context_config: { breaking_strategy: { chain_order: ["hybrid"] } } },
  ],
  ["truncation alone", { context_config: { breaking_strategy: { chain_order: ["truncate"] } } }],
  ["progress.show: false, which is for screens", { progress: { show: false } }],
  ["compaction: by_hand", { agent: { compaction: "by_hand" } }],
])("context-breaking-update is sent with %s", async (_, config) => {
  const plimsoll = await opened(config);
  const session = await plimsoll.session();
  const heard: string[] = [];
  plimsoll.on("context-breaking-update", ({ phase }) => heard.push(phase));
  session.on("context-breaking-update", ({ phase }) => heard.push(`session: ${phase}`));
  for (let turn = 0; turn < 12; turn++) {
    await session.append({ role: "user", content: prose(diceOf(turn), 600) });
    await session.prepare({ target: "anthropic/small" });
    await session.commit(answer);
    if (config.agent?.compaction === "by_hand" && turn === 6) {
      await session.compact({ budget: 2_000 });
      break;
    }
  }
  expect(heard).toContain("detection");
  expect(heard).toContain("session: detection");
  expect(heard.some((phase) => ["success", "failed"].includes(phase))).toBe(true);
});

test("an event that does not exist is an error that names the right one", async () => {
  const plimsoll = await opened();
  const session = await plimsoll.session();
  for (const { on } of [plimsoll, session]) {
    const listen = on as (type: string, handler: () => void) => () => void;
    expect(() => listen("contextBreakingUpdate", () => undefined)).toThrow(
      'There is no event "contextBreakingUpdate". Did you mean "context-breaking-update"?',
    );
    expect(() => listen("compaction", () => undefined)).toThrow(
      'There is no event "compaction". The events are session-start, branch-start,',
    );
  }
});
