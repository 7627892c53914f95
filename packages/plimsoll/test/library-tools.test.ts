/** The tools of a library agent: whatever form a program uses, the model gets the schema, or the program gets an error. */

import { openPlimsoll, type PrepareOptions } from "plimsoll";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "./harness/json.ts";

const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const about = { name: "run", description: "Runs it." };

/** The tools of the request that the library prepares. */
async function sentTools(given: unknown, target: string): Promise<unknown> {
  const plimsoll = await openPlimsoll({ store: "memory" });
  try {
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Go." });
    const tools = given as NonNullable<PrepareOptions["tools"]>;
    return (await session.prepare<JsonObject>({ target, tools })).request["tools"];
  } finally {
    await plimsoll.close();
  }
}

const forms = {
  parameters: { ...about, parameters: schema },
  input_schema: { ...about, input_schema: schema },
  "the wrapped function": { type: "function", function: { ...about, parameters: schema } },
  "the plain function": { type: "function", ...about, parameters: schema },
  inputSchema: { ...about, inputSchema: schema },
};

describe.each(Object.entries(forms))("a tool with %s", (_form, tool) => {
  test("reaches each provider with its schema, in the provider's own form", async () => {
    expect(await sentTools([tool], "anthropic/claude-sonnet-5")).toMatchObject([
      { ...about, input_schema: schema },
    ]);
    expect(await sentTools([tool], "openai/gpt-5.1")).toMatchObject([
      { type: "function", function: { ...about, parameters: schema } },
    ]);
  });
});

test.each([
  ["without a schema", [forms.parameters, about], "tools[1]"],
  ["whose schema is a text", [{ ...about, parameters: "path" }], "tools[0]"],
  ["whose wrapper has no schema", [{ type: "function", function: about }], "tools[0]"],
  ["without a name", [{ parameters: schema }], "tools[0]"],
  ["of the provider's own", [{ type: "web_search_20250305", name: "web_search" }], "tools[0]"],
  ["that is nothing", [null], "tools[0]"],
  ["in an object instead of a list", { run: forms.parameters }, "tools is not a list"],
])("a tool %s is an error that says which one", async (_name, tools, place) => {
  const preparing = sentTools(tools, "anthropic/claude-sonnet-5");
  await expect(preparing).rejects.toMatchObject({ code: "USAGE" });
  await expect(preparing).rejects.toThrow(place);
});

test("after such an error the session goes on", async () => {
  const plimsoll = await openPlimsoll({ store: "memory" });
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Go." });
  const target = "anthropic/claude-sonnet-5";
  const wrong = [about] as unknown as NonNullable<PrepareOptions["tools"]>;
  await expect(session.prepare({ target, tools: wrong })).rejects.toThrow("tools[0]");
  const { request } = await session.prepare<JsonObject>({ target, tools: [forms.input_schema] });
  expect(request["messages"]).toHaveLength(1);
  await plimsoll.close();
});
