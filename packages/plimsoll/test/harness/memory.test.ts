/** Tests the scripted provider's memory: responses that a request continues, and items that only it can have made. */
import { afterEach, expect, test } from "vitest";
import { call, reasoning, reply, text } from "./answer.ts";
import type { Json, JsonObject } from "./json.ts";
import { ask, bodyOf } from "./raw-client.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const ENCRYPTED = { store: false, include: ["reasoning.encrypted_content"] };
const QUESTION = { role: "user", content: "What do the notes say?" };

let upstream: Upstream;
afterEach(async () => {
  await upstream?.close();
});

/** Starts a provider that first thinks and calls, then answers. Returns its first answer. */
async function callOnce(
  fields: JsonObject,
): Promise<{ id: string; output: readonly JsonObject[] }> {
  upstream = await startUpstream({
    script: (_request, { requestNumber }) =>
      requestNumber === 1
        ? reply(reasoning("sealed", "The notes ", "first."), call("call_1", "read_file", {}))
        : reply(text("They are empty.")),
  });
  const body = bodyOf("openai-responses", [QUESTION], fields);
  const { answer } = await ask(upstream.url, { wire: "openai-responses", body });
  return JSON.parse(answer) as { id: string; output: readonly JsonObject[] };
}

async function refusalOf(input: readonly Json[], fields: JsonObject): Promise<string | undefined> {
  const body = bodyOf("openai-responses", input, fields);
  const { status } = await ask(upstream.url, { wire: "openai-responses", body });
  const finding = upstream.refusals.invalid[0];
  expect(status).toBe(finding === undefined ? 200 : 400);
  return finding?.rule;
}

const RESULT = { type: "function_call_output", call_id: "call_1", output: "nothing" };

test("a stored response is gone on from: its call is known, and only that one", async () => {
  const { id } = await callOnce({ store: true });
  expect(await refusalOf([RESULT], { previous_response_id: id })).toBeUndefined();
  const other = { ...RESULT, call_id: "call_2" };
  expect(await refusalOf([RESULT, other], { previous_response_id: id })).toBe("R2");
});

test("a call of a stored response that stays unanswered is missed", async () => {
  const { id } = await callOnce({ store: true });
  expect(await refusalOf([QUESTION], { previous_response_id: id })).toBe("R1");
});

test("a response that was not stored, or that nobody made, cannot be gone on from", async () => {
  const { id } = await callOnce({ store: false });
  expect(await refusalOf([RESULT], { previous_response_id: id })).toBe("R7");
});

test("items of a stored response can be named", async () => {
  const { output } = await callOnce({ store: true });
  const names = output.map((item) => ({ type: "item_reference", id: item["id"] ?? null }));
  expect(await refusalOf([QUESTION, ...names, RESULT], { store: true })).toBeUndefined();
  const unknown = { type: "item_reference", id: "msg_of_nobody" };
  expect(await refusalOf([QUESTION, unknown], { store: true })).toBe("R5");
});

test("its own items come back as they were", async () => {
  const { output } = await callOnce(ENCRYPTED);
  expect(output.map((item) => item["type"])).toEqual(["reasoning", "function_call"]);
  expect(await refusalOf([QUESTION, ...output, RESULT], ENCRYPTED)).toBeUndefined();
});

test.each([
  {
    what: "encrypted reasoning that was cut",
    edit: ([thought = {}, called = {}]: readonly JsonObject[]) => [
      { ...thought, encrypted_content: String(thought["encrypted_content"]).slice(0, -4) },
      called,
    ],
    rule: "R5",
  },
  {
    what: "a call without its reasoning",
    edit: ([, called = {}]: readonly JsonObject[]) => [called],
    rule: "R6",
  },
  {
    what: "a call of an open loop without its reasoning and without its id",
    edit: ([, called = {}]: readonly JsonObject[]) => [{ ...called, id: undefined }],
    rule: "R6",
  },
  {
    what: "reasoning without its call",
    edit: ([thought = {}]: readonly JsonObject[]) => [thought],
    rule: "R2",
  },
])("$what is refused by $rule", async ({ edit, rule }) => {
  const { output } = await callOnce(ENCRYPTED);
  expect(await refusalOf([QUESTION, ...edit(output), RESULT], ENCRYPTED)).toBe(rule);
});

test("anthropic: thinking that was signed comes back as it was", async () => {
  upstream = await startUpstream({ script: () => reply(reasoning("sig-1", "hm"), text("so")) });
  const history = [QUESTION, { role: "assistant", content: thought("hm") }, QUESTION];
  const changed = [QUESTION, { role: "assistant", content: thought("hmm") }, QUESTION];
  for (const messages of [[QUESTION], history, changed]) {
    await ask(upstream.url, { wire: "anthropic", body: bodyOf("anthropic", messages) });
  }
  expect(upstream.requests.map((request) => request.status)).toEqual([200, 200, 400]);
  expect(upstream.refusals.invalid.map((finding) => finding.rule)).toEqual(["A8"]);
});

function thought(thinking: string): Json {
  return [
    { type: "thinking", thinking, signature: "sig-1" },
    { type: "text", text: "so" },
  ];
}
