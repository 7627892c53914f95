/** Results that a library session appends without asking its tool budget leave on arrival if a setting says so. */

import { afterEach, expect, test } from "vitest";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const target = "anthropic/claude-sonnet-4-5";
const tools = [{ name: "read_file", parameters: { type: "object" } }];
const page = "line of the file\n".repeat(400);

const calling = (id: string, name: string, input: object) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "tool_use", id, name, input }],
  stop_reason: "tool_use",
});

interface Request {
  readonly messages: readonly unknown[];
}

/** The request after a result of 6,800 bytes was appended, and what else the test needs. */
async function afterAppend(config: Config) {
  const plimsoll = await openPlimsoll({ store: "memory", config });
  open.push(plimsoll);
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Read it." });
  await session.prepare({ target, tools });
  await session.commit(calling("toolu_1", "read_file", {}));
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: page };
  await session.append({ role: "user", content: [result] });
  const turn = await session.prepare<Request>({ target, tools });
  return { session, turn, text: JSON.stringify(turn.request.messages) };
}

test.each<[string, Config]>([
  ["result_offload: on-arrival", { agent: { result_offload: "on-arrival" } }],
  ["toolResponseMaxBytes", { defaults: { toolResponseMaxBytes: 5_000 } }],
])("with %s, a reference replaces the result, and reading it gives its text", async (_, config) => {
  const { session, turn, text } = await afterAppend(config);
  const [handle = ""] = /pl_[0-9A-Za-z]{22}/.exec(text) ?? [];
  expect(handle).not.toBe("");
  expect(text).not.toContain(JSON.stringify(page));

  const answer = calling("toolu_2", "read_result", { ref_id: handle });
  await session.commit(answer);
  const [call] = turn.toolCalls(answer);
  const own = call && (await session.answer(call));
  expect(own?.text.length).toBeGreaterThan(5_000);
  if (own) await session.append(own.message);
  const next = await session.prepare<Request>({ target, tools });
  // The model has asked for this text, so no reference replaces it again.
  expect(JSON.stringify(next.request.messages.at(-1))).toContain(
    page.slice(0, 4_000).split("\n")[0],
  );
  expect(JSON.stringify(next.request.messages.at(-1)).length).toBeGreaterThan(5_000);
});

test.each([
  [{}, page.length],
  [{ read_result_bytes: 4_096 }, 4_096],
])("with %j, read_result without a limit returns %i bytes", async (agent, bytes) => {
  const { session, turn, text } = await afterAppend({
    agent: { result_offload: "on-arrival", ...agent },
  });
  const [handle = ""] = /pl_[0-9A-Za-z]{22}/.exec(text) ?? [];
  const answer = calling("toolu_2", "read_result", { ref_id: handle });
  await session.commit(answer);
  const [call] = turn.toolCalls(answer);
  const own = call && (await session.answer(call));
  const [, read = ""] = /\n([\s\S]*?)(?:\n\[|$)/.exec(own?.text ?? "") ?? [];
  expect(page.startsWith(read)).toBe(true);
  expect(Math.abs(read.length - bytes)).toBeLessThan(200);
});

test("by default the caller decides, and the result stays", async () => {
  expect((await afterAppend({})).text).toContain(JSON.stringify(page));
});

test("a result of the size that the setting allows stays", async () => {
  const { text } = await afterAppend({ defaults: { toolResponseMaxBytes: 12_288 } });
  expect(text).toContain(JSON.stringify(page));
});
