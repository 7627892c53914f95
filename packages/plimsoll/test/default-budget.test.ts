/** Limits that nobody had to set: where they are shown, that they hold, and that a budget gives way to a large set of tools. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { eventsOf } from "./harness/own-events.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, type ServiceOptions, startService } from "./harness/service.ts";
import { startUpstream } from "./harness/upstream.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function opened(config: NonNullable<ServiceOptions["config"]> = {}): Promise<Service> {
  const upstream = await startUpstream({ script: () => reply(text("Aye.")) });
  ends.push(() => upstream.close());
  const { url } = upstream;
  const providers = { anthropic: { baseUrl: url }, openai: { baseUrl: `${url}/v1` } };
  const service = await startService({
    upstreams: { anthropic: url },
    config: { providers, ...config },
  });
  ends.push(() => service.stop());
  return service;
}

interface Limited {
  readonly limit: number;
  readonly window: number;
}

/** The limit of a request to this model. */
async function limitOf(service: Service, model: string): Promise<Limited> {
  const wire = model.startsWith("claude") ? "anthropic" : "openai-chat";
  const body = bodyOf(wire, [{ role: "user", content: `Hello, ${model}.` }], { model });
  const { sessionId } = await ask(service.url, { wire, body });
  const { lastTurn } = await service.api<{ lastTurn: Limited }>(`/api/sessions/${sessionId}`);
  return { limit: lastTurn.limit, window: lastTurn.window };
}

test("without a configuration, a large window has a budget; a small one and an unknown one have none", async () => {
  const service = await opened();
  expect(await limitOf(service, "claude-sonnet-5")).toEqual({ limit: 200_000, window: 1_000_000 });
  expect(await limitOf(service, "gpt-6-sol")).toEqual({ limit: 272_000, window: 1_050_000 });
  const { limit, window } = await limitOf(service, "claude-haiku-4-5");
  expect([window, limit > 150_000]).toEqual([200_000, true]);
  expect(service.stdout).toContain(
    "limit claude-sonnet-5: 200,000 tokens of a window of 1,000,000 (agent.context_budget: auto)",
  );
  expect(service.stdout).toContain("limit other models: unknown");
});

test("whoever wants the whole window gets it", async () => {
  const service = await opened({ agent: { context_budget: "window" } });
  const { limit } = await limitOf(service, "claude-sonnet-5");
  expect(limit).toBeGreaterThan(850_000);
});

test("env and doctor show the limits", async () => {
  const service = await opened();
  const run = (...words: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      const env = childEnvironment({ HOME: service.data });
      const argv = [program, ...words, "--data", service.data];
      execFile(process.execPath, argv, { env }, (_error, stdout) => resolve(stdout));
    });
  const lines = (await run("env", "claude-code")).trim().split("\n");
  expect(lines.at(-1)).toBe("export ANTHROPIC_BASE_URL=http://127.0.0.1:4141");
  expect(lines.slice(0, -1).every((line) => line.startsWith("# limit claude-"))).toBe(true);
  expect(lines).toContain(
    "# limit claude-sonnet-5: 200,000 tokens of a window of 1,000,000 (agent.context_budget: auto)",
  );
  expect(await run("doctor")).toMatch(/ok\s+limit\s+gemini-3-pro: 200,000 tokens/);
});

test("a budget of which the tools take more than half is raised to twice their size, and people hear of it once", async () => {
  const service = await opened({ agent: { context_budget: 30_000 } });
  const tools = Array.from({ length: 20 }, (_, at) => ({
    name: `Tool${at}`,
    description: `Number ${at}. ${"It does one of many things. ".repeat(140)}`,
    input_schema: { type: "object", properties: { path: { type: "string" } } },
  }));
  const messages: JsonObject[] = [];
  let session = "";
  for (let turn = 0; turn < 6; turn++) {
    messages.push({ role: "user", content: `${turn}: ${"a word or two ".repeat(500)}` });
    const body = bodyOf("anthropic", messages, { model: "claude-sonnet-4-6", tools });
    const asked = await ask(service.url, { wire: "anthropic", body });
    expect(asked.headers.get("x-plimsoll-action")).toBe("passthrough");
    messages.push({ role: "assistant", content: "Aye." });
    session = asked.sessionId;
  }
  const seen = await eventsOf(service, session, {
    limitMs: 5_000,
    isEnough: (events) => events.filter(({ type }) => type === "turn-end").length === 6,
  });
  const raised = seen.filter(({ type }) => type === "budget-raised");
  expect(raised).toHaveLength(1);
  const { budget, limit, preambleTokens } = { ...raised[0] } as Readonly<Record<string, unknown>>;
  expect(budget).toBe(30_000);
  expect(preambleTokens).toBeGreaterThan(15_000);
  expect(Math.abs(Number(limit) - 2 * Number(preambleTokens))).toBeLessThan(2);
  expect(service.stderr.split(`${session}: system prompt and tools take`)).toHaveLength(2);
});

const mcpTools = (count: number): readonly (JsonObject & { readonly name: string })[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `mcp__harbour__act_${at}`,
    description: `Does the harbour's task number ${at}. ${"It needs a berth and a tide. ".repeat(8)}`,
    input_schema: { type: "object", properties: { berth: { type: "string" } } },
  }));
const FEW = mcpTools(12);
const OWN = ["Read", "Write"].map((name) => ({
  name,
  description: `The client's own ${name}.`,
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));

/** The names of the tools that the provider was sent with each of so many turns. */
async function toolsSent(
  system: string,
  agent: JsonObject,
  tools: readonly JsonObject[] = [...OWN, ...FEW],
): Promise<readonly string[][]> {
  const sent: string[][] = [];
  const upstream = await startUpstream({
    script: ({ body }) => {
      const listed = (body["tools"] ?? []) as {
        readonly name: string;
        readonly defer_loading?: boolean;
      }[];
      sent.push(listed.filter((tool) => tool.defer_loading !== true).map(({ name }) => name));
      return reply(text("Aye."));
    },
  });
  ends.push(() => upstream.close());
  const providers = { anthropic: { baseUrl: upstream.url } };
  const service = await startService({ upstreams: {}, config: { providers, agent } });
  ends.push(() => service.stop());
  const messages: JsonObject[] = [];
  for (let turn = 0; turn < 3; turn++) {
    messages.push({ role: "user", content: `And number ${turn}?` });
    const body = bodyOf("anthropic", messages, {
      model: "claude-sonnet-4-6",
      system,
      tools: [...tools],
    });
    await ask(service.url, { wire: "anthropic", body });
    messages.push({ role: "assistant", content: "Aye." });
  }
  return sent;
}

const HUGE = "Never let two ships use one berth at the same time. ".repeat(1_250);

test("a system prompt that takes half of a budget keeps MCP tools out of the list, and built-in tools in it, turn after turn", async () => {
  const sent = await toolsSent(HUGE, { context_budget: 30_000 });
  expect(sent).toHaveLength(3);
  for (const names of sent) {
    expect(names).toEqual(expect.arrayContaining(["Read", "Write"]));
    expect(names.filter((name) => name.startsWith("mcp__")).length).toBeLessThan(FEW.length / 2);
  }
  expect(sent[2]).toEqual(sent[1]);
});

test.each([
  ["a short system prompt", "Be brief.", { context_budget: 30_000 }, 12],
  ["a budget that is large enough", HUGE, {}, 12],
  [
    "a user who wants no tools deferred",
    HUGE,
    { context_budget: 30_000, tool_deferral_threshold: 1 },
    160,
  ],
])("with %s all tools stay", async (_name, system, agent, count) => {
  const tools = [...OWN, ...mcpTools(count)];
  const names = tools.map(({ name }) => name);
  for (const listed of await toolsSent(system, agent, tools)) expect(listed).toEqual(names);
});
