/** Settings of the guard's document in the running service: what a provider gets when they are on. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

let upstream: Upstream;
let service: Service;
const model = "claude-sonnet-4-5";

beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({
    upstreams: { anthropic: upstream.url },
    config: {
      agent: { result_offload: "on-arrival" },
      agents: {
        careful: { toolsDenied: ["shell"] },
        thinker: { reasoning: "medium" },
        frugal: { toolResponseMaxBytes: 12_288 },
        scaled: { toolSchemaFactor: 2.09 },
      },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

const tools = ["read", "shell"].map((name) => ({ name, input_schema: { type: "object" } }));

async function sentFor(agent: string, messages: readonly JsonObject[]): Promise<JsonObject> {
  const body = bodyOf("anthropic", messages, { model, max_tokens: 4000, tools });
  const headers = { "x-plimsoll-agent": agent };
  const asked = await ask(service.url, { wire: "anthropic", body, headers });
  expect([asked.status, asked.answer]).toEqual([200, expect.anything()]);
  return JSON.parse(String(upstream.requests.at(-1)?.body)) as JsonObject;
}
const hello = (words: string): JsonObject[] => [{ role: "user", content: words }];

test("Use toolsAllowed/toolsDenied to limit tools, for one agent", async () => {
  const names = ({ tools: listed }: JsonObject): unknown =>
    (listed as JsonObject[]).map(({ name }) => name);
  expect(names(await sentFor("careful", hello("one")))).toEqual(["read"]);
  expect(names(await sentFor("other", hello("two")))).toEqual(["read", "shell"]);
});

test("reasoning enables extended thinking for capable models, for one agent", async () => {
  const thinking = { type: "enabled", budget_tokens: 2000 };
  expect(await sentFor("thinker", hello("three"))).toMatchObject({ max_tokens: 4000, thinking });
  expect(await sentFor("other", hello("four"))).not.toHaveProperty("thinking");
});

test("schemaCtxTokens are scaled × 2.09 if the configuration says so", async () => {
  const measured = async (agent: string): Promise<number> => {
    await sentFor(agent, hello(`five ${agent}`));
    const { items } = await service.api<{ items: { id: string; agent?: string }[] }>(
      "/api/sessions",
    );
    const id = items.find((one) => one.agent === agent)?.id ?? "";
    const { components } = await service.api<{ components: { tools: number } }>(
      `/api/sessions/${id}/measurement`,
    );
    return components.tools;
  };
  const [scaled, plain] = [await measured("scaled"), await measured("plain")];
  // Anthropic adds this prompt of its own to every request with tools.
  const prompt = 346;
  expect(scaled - prompt).toBe(Math.ceil((plain - prompt) * 2.09));
});

test.each([
  ["over 4,096 bytes, with result_offload: on-arrival", "other", 4_097, true],
  ["not up to 4,096 bytes", "other", 4_096, false],
  ["over 12,288 bytes, with toolResponseMaxBytes", "frugal", 12_289, true],
  ["not up to 12,288 bytes", "frugal", 12_288, false],
])("a tool result leaves on arrival: %s", async (_name, agent, bytes, leaves) => {
  const call = { type: "tool_use", id: `toolu_${bytes}`, name: "read", input: {} };
  const content = "line of the file\n".repeat(1000).slice(0, bytes);
  const result = { type: "tool_result", tool_use_id: call.id, content };
  const sent = await sentFor(agent, [
    ...hello(`read ${bytes}`),
    { role: "assistant", content: [call] },
    { role: "user", content: [result] },
  ]);
  const text = JSON.stringify(sent["messages"]);
  expect(text.includes("pl_")).toBe(leaves);
  expect(text.includes(JSON.stringify(content))).toBe(!leaves);
  expect(upstream.refusals.invalid).toEqual([]);
});
