/** A compaction by hand of a client that marks every request for the cache, and the way back: what fitted before fits again. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, readEdits, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const WINDOW = 8_000;
let upstream: Upstream;
let service: Service;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  const model = { contextWindow: WINDOW, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
  service = await startService({
    upstreams: {},
    config: {
      providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } } },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

/** As Claude Code does: the mark stands on the newest block, and moves on with it. */
function withMark(blocks: readonly JsonObject[]): JsonObject {
  const marked = blocks.map((block, index) =>
    index < blocks.length - 1 ? block : { ...block, cache_control: { type: "ephemeral" } },
  );
  return { role: "user", content: marked };
}

/** Each turn a question, a call and its result, until the window is nearly full. */
async function talk(turns: number): Promise<string> {
  const random = diceOf(11);
  const history: JsonObject[] = [];
  let session = "";
  for (let turn = 0; turn < turns; turn++) {
    const question = [{ type: "text", text: prose(random, 20) }];
    const use = { type: "tool_use", id: `toolu_${turn}`, name: "look", input: { turn } };
    const result = [
      { type: "tool_result", tool_use_id: `toolu_${turn}`, content: prose(random, 250) },
    ];
    const asking = [
      { role: "user", content: question },
      { role: "assistant", content: [use] },
    ];
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: {
        ...bodyOf("anthropic", [...history, ...asking, withMark(result)]),
        max_tokens: 500,
        tools: [{ name: "look", input_schema: { type: "object" } }],
      },
      headers: { "x-plimsoll-session": "by hand" },
    });
    expect(asked.headers.get("x-plimsoll-action"), asked.answer).not.toBe("compacted");
    session = asked.sessionId;
    history.push(...asking, { role: "user", content: result }, asked.message);
  }
  return session;
}

async function steer(session: string, action: string, wish: JsonObject): Promise<JsonObject> {
  const response = await fetch(`${service.url}/api/sessions/${session}/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(wish),
  });
  const body = (await response.json()) as JsonObject;
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body;
}

test("marks of earlier turns refuse no strategy, and what was compacted by hand can be undone at once", async () => {
  const session = await talk(16);
  const before = await steer(session, "checkpoint", { label: "before" });
  const compacted = await steer(session, "compact", { budget: 3_000 });
  expect(compacted["strategies"]).toContain("excerpt");
  expect(Number(compacted["tokensAfter"])).toBeLessThan(Number(compacted["tokensBefore"]));
  const undone = await steer(session, "undo", {});
  expect(Number(undone["tokens"])).toBeGreaterThan(Number(compacted["tokens"]));
  await steer(session, "compact", { budget: 3_000 });
  await steer(session, "restore", { checkpoint: before["id"] ?? "" });
  const kinds = (await readEdits(service, session)).map(({ action }) => action.kind);
  expect(kinds).toContain("restore");
});
