/** Marks that real clients set, as the recorded bodies have them: they survive whatever is done to a request. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../engine.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { newViolations } from "../wire/validate/validate.ts";
import { wires } from "../wire/wires.ts";

const file = new URL("../../test/wire-fixtures/anthropic/valid.ndjson", import.meta.url);
const fixtures = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line.includes('"cache_control"'))
  .map((line) => JSON.parse(line) as { readonly id: string; readonly body: JsonObject })
  .filter(({ body }) => isObject(body) && Array.isArray(body["messages"]));

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

/** What goes out of a body, with so much window. */
async function sent(body: JsonObject, contextWindow: number): Promise<JsonObject> {
  const model = typeof body["model"] === "string" ? body["model"] : "";
  const settings = { contextWindow, contextWindowBufferTokens: 0, maxOutputTokens: 500 };
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { anthropic: { models: { [model]: settings } } } },
  });
  open.push(plimsoll);
  const bytes = new TextEncoder().encode(JSON.stringify({ ...body, max_tokens: 500 }));
  const hints = { clientKey: "one", isCompacted: false };
  const wire = wires.anthropic;
  const turn = await plimsoll.receive({
    tenant: "t",
    provider: "anthropic",
    wire,
    body: bytes,
    hints,
  });
  const text = new TextDecoder().decode(turn.body ?? bytes);
  await turn.end({ status: "aborted" });
  return JSON.parse(text) as JsonObject;
}

function marksIn(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(marksIn);
  if (!isObject(value)) return [];
  const own = isObject(value["cache_control"]) ? [JSON.stringify(value["cache_control"])] : [];
  return [...own, ...Object.values(value).flatMap(marksIn)];
}

function expectValid(body: JsonObject, original: JsonObject): void {
  const findings = newViolations({
    wire: "anthropic",
    body,
    bodyText: JSON.stringify(body),
    original,
    originalText: JSON.stringify(original),
    synthetic: [],
  });
  expect(findings).toEqual([]);
}

const catalogue: readonly JsonObject[] = Array.from({ length: 150 }, (_, index) => ({
  name: `mcp__server${index % 10}__tool_${index}`,
  description: `Does the thing number ${index} with everything that belongs to it, and says so.`,
  input_schema: { type: "object", properties: { [`field_${index}`]: { type: "string" } } },
}));

/** Talk that fills the window, between the first and the last message. */
function padded(body: JsonObject): JsonObject {
  const [first, ...rest] = body["messages"] as readonly JsonObject[];
  const words = "the mast leans a little over the water and the crew looks on ".repeat(30);
  const talk = Array.from({ length: 60 }, (_, index) => [
    { role: "assistant", content: `${index}: ${words}` },
    { role: "user", content: `${words} ${index}` },
  ]).flat();
  return { ...body, messages: [...(first === undefined ? [] : [first]), ...talk, ...rest] };
}

test("there are such bodies", () => {
  expect(fixtures.length).toBeGreaterThan(5);
});

describe.each(fixtures)("$id", ({ body }) => {
  test("goes as it came while it fits", async () => {
    expect(await sent(body, 1_000_000)).toEqual({ ...body, max_tokens: 500 });
  });

  test("keeps its marks when tools are held back", async () => {
    const own = Array.isArray(body["tools"]) ? body["tools"] : [];
    const full = { ...body, tools: [...catalogue, ...own] };
    const out = await sent(full, 60_000);
    expect(marksIn(out).toSorted()).toEqual(marksIn(body).toSorted());
    expectValid(out, full);
  });

  test("keeps the marks of its head, and one of its conversation, in a compaction", async () => {
    const full = padded(body);
    const out = await sent(full, 20_000);
    for (const name of ["tools", "system"]) expect(marksIn(out[name])).toEqual(marksIn(body[name]));
    const [before, after] = [marksIn(body["messages"]), marksIn(out["messages"])];
    expect(after.length > 0).toBe(before.length > 0);
    expectValid(out, full);
  });
});
