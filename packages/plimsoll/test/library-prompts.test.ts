/** A library session that goes from one provider to another: held tools, forced choices and cache marks go with it. */

import { openPlimsoll, type Plimsoll, type Session } from "plimsoll";
import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "./harness/json.ts";
import { BUILT_INS, mcpTools } from "./harness/tool-catalogue.ts";

const model = {
  contextWindow: 40_000,
  maxOutputTokens: 1_000,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const tools = [
  ...BUILT_INS.map((tool) => ({ ...tool, source: "builtin" as const })),
  ...mcpTools(120).map((tool) => ({ ...tool, source: "mcp" as const })),
];
const open: Plimsoll[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function session(): Promise<Session> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      providers: {
        anthropic: { native_tool_deferral: false, models: { "claude-sonnet-4-6": model } },
        openai: { native_tool_deferral: false, models: { "gpt-5.1": model } },
        gemini: { models: { "gemini-2.5-pro": model } },
      },
    },
  });
  open.push(plimsoll);
  return plimsoll.session();
}

const words = "the mast leans a little over the water ".repeat(300);
const targets = {
  anthropic: { target: "anthropic/claude-sonnet-4-6" },
  "openai-chat": { target: "openai/gpt-5.1" },
  "openai-responses": { target: "openai/gpt-5.1", wire: "openai-responses" },
  gemini: { target: "gemini/gemini-2.5-pro" },
} as const;
type Name = keyof typeof targets;

const answers: Readonly<Record<Name, JsonObject>> = {
  anthropic: { role: "assistant", content: [{ type: "text", text: "Aye." }], type: "message" },
  "openai-chat": {
    choices: [{ finish_reason: "stop", message: { role: "assistant", content: "Aye." } }],
  },
  "openai-responses": {
    status: "completed",
    output: [
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Aye.", annotations: [] }],
      },
    ],
  },
  gemini: {
    candidates: [{ content: { role: "model", parts: [{ text: "Aye." }] }, finishReason: "STOP" }],
  },
};

/** A session is appended to in the form of the wire on which it began. */
async function turn(talk: Session, name: Name, said: string, began: Name = name) {
  await talk.append(
    began === "gemini"
      ? { role: "user", parts: [{ text: said }] }
      : { role: "user", content: said },
  );
  const prepared = await talk.prepare<JsonObject>({ ...targets[name], tools });
  await talk.commit(answers[name]);
  return prepared;
}

const hops = (Object.keys(targets) as Name[]).flatMap((from) =>
  (Object.keys(targets) as Name[]).filter((to) => to !== from).map((to) => ({ from, to })),
);

describe.each(hops)("from $from to $to", ({ from, to }) => {
  test("tools stay held back, and what is too long is made to fit", async () => {
    const talk = await session();
    const first = await turn(talk, from, "Good morning.");
    const kinds = new Set<string>();
    for (let number = 0; number < 16; number += 1) {
      const { outcome, measurement, limit } = await turn(talk, to, `${number} ${words}`, from);
      kinds.add(outcome.kind);
      expect(measurement.tools).toBeLessThan(limit.limit / 10);
      expect(outcome.tokensAfter).toBeLessThanOrEqual(limit.limit);
    }
    expect(first.outcome.kind).toBe("edited");
    expect([...kinds].toSorted()).toEqual(["compacted", "edited"]);
  });
});

test("a forced choice with more tools than the window holds has the one it names", async () => {
  const talk = await session();
  const many = [
    ...tools,
    ...mcpTools(400, 200).map((tool) => ({ ...tool, source: "mcp" as const })),
  ];
  const name = many.at(-1)?.name ?? "";
  await talk.append({ role: "user", content: "Do it." });
  const { outcome, request } = await talk.prepare<{ tools: readonly { name: string }[] }>({
    ...targets.anthropic,
    tools: many,
    extra: { tool_choice: { type: "tool", name } },
  });
  expect(outcome.kind).toBe("edited");
  const names = request.tools.map((tool) => tool.name);
  expect(names).toContain(name);
  expect(names).not.toContain("tool_search");
  expect(names.length).toBeLessThan(60);
});

test("a conversation that began elsewhere is marked for the cache, too", async () => {
  const talk = await session();
  await turn(talk, "openai-chat", words);
  await talk.append({ role: "user", content: words });
  const { request } = await talk.prepare<JsonObject>({
    ...targets.anthropic,
    system: "Be careful. ".repeat(900),
  });
  const marks = JSON.stringify(request).match(/"cache_control"/g) ?? [];
  expect(marks.length).toBe(2);
});
