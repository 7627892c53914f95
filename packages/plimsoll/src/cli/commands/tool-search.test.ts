import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  type MockInstance,
  test,
  vi,
} from "vitest";
import { PlimsollError } from "../../message/error.ts";
import { runToolSearch, runToolSearchJsonl, type ToolSearchFlags } from "./tool-search.ts";

const catalogue = {
  kind: "catalogue",
  set: "one",
  tools: [
    { name: "merge_pdf", description: "Joins documents into one." },
    { name: "weather", description: "Tells the weather of a city." },
  ],
};
const question = { id: "q1", kind: "tools", set: "one", catalogue: "one", query: "weather", k: 1 };
const expected = { id: "q1", tools: ["weather"] };

function lines(...items: readonly unknown[]): string {
  return items.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join("\n");
}

async function answers(...items: readonly unknown[]): Promise<readonly unknown[]> {
  const output = new PassThrough();
  const written = text(output);
  await runToolSearchJsonl(Readable.from([lines(...items)]), output);
  output.end();
  return (await written)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

async function failureOf(run: Promise<unknown>): Promise<PlimsollError> {
  const error: unknown = await run.catch((thrown: unknown) => thrown);
  if (!PlimsollError.is(error)) throw new Error("nothing was thrown");
  return error;
}

describe("lines of JSON", () => {
  test("a query is answered from the catalogue before it; other kinds and blank lines are passed over", async () => {
    const other = { kind: "recall", id: "r" };
    expect(await answers(other, catalogue, "", question, { kind: "archive" })).toEqual([expected]);
  });

  test("catalogues of several sets can be asked in any order, and the newest of a set counts", async () => {
    const second = { ...catalogue, set: "two", tools: [{ name: "second_weather" }] };
    const newer = { ...catalogue, tools: [{ name: "newer_weather" }] };
    const toSecond = { ...question, id: "q2", catalogue: "two" };
    expect(await answers(catalogue, second, question, toSecond, newer, question)).toEqual([
      expected,
      { id: "q2", tools: ["second_weather"] },
      { id: "q1", tools: ["newer_weather"] },
    ]);
  });

  test("of more catalogues than are kept the oldest is forgotten", async () => {
    const others = Array.from({ length: 16 }, (_, i) => ({ ...catalogue, set: `other ${i}` }));
    const last = { ...question, catalogue: "other 15" };
    expect(await answers(catalogue, ...others, last)).toEqual([expected]);
    const error = await failureOf(answers(catalogue, ...others, question));
    expect(error.message).toMatch(/^Line 18 .*catalogue/);
  });

  test("without a number ten are found", async () => {
    const tools = Array.from({ length: 12 }, (_, i) => ({ name: `weather_${i}` }));
    const { k: _, ...unlimited } = question;
    const [answer] = await answers({ ...catalogue, tools }, unlimited);
    expect(answer).toMatchObject({ tools: { length: 10 } });
  });

  test.each([
    ["no JSON", ["{oops"], /^Line 1 cannot be used: it is not a JSON object\.$/],
    ["a catalogue without tools", [{ kind: "catalogue" }], /^Line 1 .*"tools"/],
    ["a query before its catalogue", [question], /^Line 1 .*catalogue/],
    ["a query that is no text", [catalogue, { ...question, query: 1 }], /^Line 2 .*"query"/],
    ["no whole number", [catalogue, "", { ...question, k: "1" }], /^Line 3 .*"k"/],
  ])("%s is refused by line number as wrong usage", async (_, items, sentence) => {
    const error = await failureOf(answers(...items));
    expect(error.code).toBe("USAGE");
    expect(error.message).toMatch(sentence);
  });
});

describe("a catalogue in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-tool-search-"));
  const file = join(folder, "tools.json");
  let log: MockInstance<typeof console.log>;
  beforeEach(() => {
    log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  });
  afterEach(() => log.mockRestore());
  afterAll(() => rmSync(folder, { recursive: true }));

  async function printed(value: unknown, flags: Partial<ToolSearchFlags> = {}): Promise<string> {
    writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
    await runToolSearch("weather", { catalogue: file, k: 1, ...flags });
    return log.mock.calls.flat().join("\n");
  }

  const description = "Tells the weather.";
  const schema = { type: "object", properties: {} };
  const one = { name: "weather", description };
  test.each([
    ["a neutral list", [{ ...one, parameters: schema }]],
    ["Anthropic's", { model: "m", tools: [{ ...one, input_schema: schema }] }],
    ["OpenAI chat's", { tools: [{ type: "function", function: { ...one, parameters: schema } }] }],
    ["OpenAI Responses'", { tools: [{ type: "web_search" }, { type: "function", ...one }] }],
    ["MCP's", { tools: [{ ...one, inputSchema: schema }] }],
    ["a whole MCP answer", { jsonrpc: "2.0", id: 1, result: { tools: [one] } }],
  ])("may have the form of %s", async (_, value) => {
    expect(await printed(value)).toBe(
      "tool     score  description\nweather  1.00   Tells the weather.",
    );
  });

  test("is answered in JSON too", async () => {
    const answer = await printed([{ ...one, server: "sky" }], { json: true });
    expect(JSON.parse(answer)).toEqual({ tools: [{ name: "weather", server: "sky", score: 1 }] });
  });

  test("cannot move the cursor", async () => {
    const name = "weather\u001b[2J";
    expect(await printed([{ name, description: name }])).not.toContain("\u001b");
    expect(await printed([{ name }], { json: true })).not.toContain("\u001b");
  });

  test("that has nothing of the kind says so", async () => {
    expect(await printed([{ name: "kettle" }])).toMatch(/^No tool matches/);
  });

  test.each([
    ["no JSON", "{oops", /cannot be read as JSON/],
    ["no tools", { messages: [] }, /contains no tools/],
    ["tools without names", { tools: [{ type: "web_search" }] }, /contains no tools/],
  ])("with %s is refused with what to give instead", async (_, value, sentence) => {
    const error = await failureOf(printed(value));
    expect(error.code).toBe("USAGE");
    expect(error.message).toMatch(sentence);
    expect(error.message).toContain("Give a");
  });

  test.each([
    [undefined, file],
    [" ", file],
    ["weather", undefined],
  ])("query %j, catalogue %j: both are needed", async (query, chosen) => {
    const flags = { k: 1, ...(chosen === undefined ? {} : { catalogue: chosen }) };
    const error = await failureOf(runToolSearch(query, flags));
    expect(error.code).toBe("USAGE");
  });
});
