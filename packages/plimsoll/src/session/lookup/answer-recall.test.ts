/** What the model reads when it calls `recall`. */

import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { said, tell } from "../../../test/generate/told-sessions.ts";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import type { JsonObject } from "../../message/json.ts";
import { createMemoryStore } from "../../store/memory.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { createOwnAnswers, type OwnWorld } from "./answer-own-call.ts";

let count: (text: string) => number;
beforeAll(async () => {
  const tokenizer = await loadTokenizer("tiktoken:o200k_base");
  count = (text) => tokenizer.count(text).tokens;
});

const toClose: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

const owner = { session: "ses_1", tenant: "t" };
const asker = { ...owner, roomTokens: 10_000 };

async function answersOf(
  messages: readonly JsonObject[],
  how: Partial<OwnWorld>,
  wire: WireName = "openai-chat",
) {
  const store = createMemoryStore();
  await tell(store, { ...owner, wire, messages });
  const own = createOwnAnswers({ store, count, ...how });
  toClose.push(own, store);
  return own;
}

describe.each([
  ["at once", {}],
  ["in the thread", { search: { inPlaceBytes: 0 } }],
])("recall, searched %s", (_, how) => {
  const chatter = Array.from({ length: 30 }, (_item, i) =>
    said("assistant", `Note ${i}: the weather was fine.`),
  );

  test("shows the best passage even if it is larger than the room, and says how to read the rest", async () => {
    const rows = Array.from({ length: 12 }, (_item, i) => `Berth ${i} is rented to a fisherman.`);
    const harbour = `${rows.join(" ")} Berth 12 belongs to the pilot Lindqvist. ${rows.join(" ")}`;
    const own = await answersOf([...chatter, said("user", harbour)], how);
    const call = { kind: "recall", query: "which berth has Lindqvist", budget: 1 } as const;
    const { text, isError } = await own.answer(asker, call);
    expect(isError).toBe(false);
    expect(text).toContain("Berth 12 belongs to the pilot Lindqvist.");
    expect(text).toMatch(
      /\n\[… \d+ more characters of this passage: read_result with ref_id "#31"\]$/,
    );
    expect(count(text)).toBeLessThanOrEqual(200);
  });

  test("says who said it, also where one message has the words of a tool and of the user", async () => {
    const messages = [
      { role: "user", content: "Measure the keel." },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "u", name: "measure", input: { part: "keel" } }],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "u", content: "The keel is 7 m long." },
          { type: "text", text: "The keel must become longer." },
        ],
      },
    ];
    const own = await answersOf(messages, how, "anthropic");
    const { text } = await own.answer(asker, { kind: "recall", query: "how long is the keel" });
    expect(text).toContain("#3 tool result of measure\nThe keel is 7 m long.");
    expect(text).toContain("#3 user\nThe keel must become longer.");
    expect(text).toContain("#2 assistant\n[call measure]");
  });

  test("says what to do next if nothing answers the query", async () => {
    const own = await answersOf(chatter, how);
    const query = "what is the wifi password of the hotel";
    const { text, isError } = await own.answer(asker, { kind: "recall", query });
    expect(isError).toBe(false);
    expect(text).toMatch(/^Nothing found .* Ask once more with other words/);
  });
});
