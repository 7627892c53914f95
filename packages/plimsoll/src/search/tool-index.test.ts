import { describe, expect, test } from "vitest";
import type { JsonValue } from "../message/json.ts";
import { buildToolIndex, type ToolIndex } from "./tool-index.ts";
import { type SearchedTool, toolTextOf } from "./tool-text.ts";
import type { WordVectors } from "./vectors.ts";

const tools: readonly SearchedTool[] = [
  { name: "merge_pdf", description: "Joins several documents into one." },
  { name: "getWeatherForecast", description: "Tells the weather of the next days for a city." },
  {
    name: "mcp__harbour__list_berths",
    description: "Berths with their length.",
    parameters: {
      type: "object",
      properties: { tide: { description: "low or high water", enum: ["spring", "neap"] } },
    },
  },
  { name: "send_mail", description: "Sends a letter to an address.", server: "post" },
  { name: "noop" },
];

/** The names of the tools found, best first. */
function namesFor(query: string, index: ToolIndex = buildToolIndex(tools), count = 3): string[] {
  return index.find(query, count).map(({ index: at }) => tools[at]?.name ?? "");
}

/** The words in each array mean the same. */
function vectorsOf(...meanings: readonly (readonly string[])[]): WordVectors {
  const place = new Map(meanings.flatMap((words, i) => words.map((word) => [word, i] as const)));
  const vector = (word: string): Float32Array | undefined => {
    const at = place.get(word);
    return at === undefined ? undefined : Float32Array.from(meanings, (_, i) => (i === at ? 1 : 0));
  };
  return {
    dimensions: meanings.length,
    size: place.size,
    has: (word) => place.has(word),
    rank: (word) => (place.has(word) ? 10_000 : undefined),
    vector,
    similarity: (left, right) => (place.get(left) === place.get(right) ? 1 : 0),
    nearest: () => [],
  };
}

describe("a tool is found by", () => {
  test.each([
    ["the words of its name, however they are joined", "weather forecast", "getWeatherForecast"],
    ["its description", "join documents", "merge_pdf"],
    ["the name of a parameter", "tide", "mcp__harbour__list_berths"],
    ["the description of a parameter", "high water", "mcp__harbour__list_berths"],
    ["a value to choose from", "neap", "mcp__harbour__list_berths"],
    ["the server in its name", "harbour", "mcp__harbour__list_berths"],
    ["the server that brought it", "post", "send_mail"],
    ["its whole name", "send_mail", "send_mail"],
  ])("%s", (_, query, name) => {
    expect(namesFor(query)[0]).toBe(name);
  });

  test("a word of its name more than by one of its description", () => {
    const described = { name: "a", description: "berth" };
    const named = { name: "berth", description: "a" };
    const index = buildToolIndex([described, named, { name: "other", description: "thing" }]);
    expect(index.find("berth", 2).map(({ index: at }) => at)).toEqual([1, 0]);
  });
});

test("nothing is found by words that no tool has, nor by an empty query", () => {
  expect(namesFor("zeppelin")).toEqual([]);
  expect(namesFor("")).toEqual([]);
  expect(buildToolIndex([]).find("weather", 5)).toEqual([]);
});

test("scores fall from 1, and equals keep the order of the list", () => {
  const index = buildToolIndex([{ name: "berth" }, { name: "quay" }, { name: "berth" }]);
  expect(index.find("berth quay quay", 9)).toMatchObject([
    { index: 1 },
    { index: 0 },
    { index: 2 },
  ]);
  const [first, second, third] = index.find("berth quay quay", 9).map(({ score }) => score);
  expect(first).toBe(1);
  expect(second).toBeLessThan(1);
  expect(third).toBe(second);
});

test("no more are found than asked for", () => {
  const index = buildToolIndex(tools);
  expect([0, -1, 1, 2].map((count) => index.find("weather letter", count).length)).toEqual([
    0, 0, 1, 2,
  ]);
});

describe("a query of several sentences", () => {
  const crowd: readonly SearchedTool[] = [
    { name: "stock_market_price", description: "Price history since the last crash." },
    { name: "stock_market_volume", description: "Paper that changed hands at noon." },
    { name: "stock_market_dividend", description: "Money that goes to owners yearly." },
    { name: "kettle", description: "Boils water in three quiet minutes." },
    ...Array.from({ length: 20 }, (_, i) => ({
      name: `other${i}`,
      description: "Something else that nobody here wants.",
    })),
  ];
  const first = "Show the stock market price history since the crash.";
  const second = "Boil some fresh eggs quickly.";
  const rankOfKettle = (query: string): number =>
    buildToolIndex(crowd)
      .find(query, 5)
      .findIndex(({ index }) => crowd[index]?.name === "kettle");

  test("finds what one of them asks for before what fits the others a little", () => {
    expect(rankOfKettle(`${first} ${second}`)).toBe(1);
    expect(rankOfKettle(`${first} ${second}`.replaceAll(".", ","))).toBe(3);
  });

  test("is not led astray by a sentence that asks for no tool", () => {
    const greeting = "Good morning to all of you dear friends.";
    expect(rankOfKettle(`${greeting} ${first} ${second}`)).toBe(1);
  });
});

test("labels of lines and data without spaces are no words of the query", () => {
  const labelled = [{ name: "server_tool" }, { name: "route_planner" }];
  const index = buildToolIndex(labelled);
  const found = index.find("server: maps\ntool: plan a route", 2);
  expect(found.map(({ index: at }) => at)).toEqual([1]);
  const data = `${"iVBORw0KGgo/server/".repeat(20)}`;
  expect(index.find(data, 2)).toEqual([]);
});

describe("with word vectors", () => {
  const vectors = vectorsOf(["weather", "climate"], ["letter", "epistle"], ["documents", "papers"]);
  const index = buildToolIndex(tools, vectors);

  test("a tool is found by a synonym", () => {
    expect(namesFor("climate")).toEqual([]);
    expect(namesFor("climate", index)[0]).toBe("getWeatherForecast");
  });

  test("the word itself is worth more than its synonym", () => {
    const index2 = buildToolIndex(
      [{ name: "climate" }, { name: "weather" }, { name: "x" }],
      vectors,
    );
    expect(index2.find("weather", 2).map(({ index: at }) => at)).toEqual([1, 0]);
  });

  test("several synonyms of one word count once", () => {
    const many = vectorsOf(["weather", "climate", "storm", "wind"]);
    const index3 = buildToolIndex(
      ["climate storm wind", "climate quay boat", "storm quay boat", "wind quay boat", "x"].map(
        (description) => ({ name: "same", description }),
      ),
      many,
    );
    expect(index3.find("weather", 5)).toEqual([0, 1, 2, 3].map((index) => ({ index, score: 1 })));
  });

  test("a tool that shares neither a word nor a synonym is not found, however near it is", () => {
    const close: WordVectors = {
      ...vectors,
      has: () => true,
      rank: () => 10_000,
      vector: (word) =>
        word === "zeppelin" ? Float32Array.of(0.4, 0.9165, 0) : Float32Array.of(1, 0, 0),
    };
    expect(namesFor("zeppelin", buildToolIndex(tools, close))).toEqual([]);
  });

  test("the same query has the same answer", () => {
    const again = buildToolIndex(tools, vectors);
    expect(again.find("climate papers", 5)).toEqual(index.find("climate papers", 5));
    expect(index.find("climate papers", 5)).toEqual(index.find("climate papers", 5));
  });
});

describe("hostile definitions", () => {
  test("a schema nested 10,000 deep is read from the outside", () => {
    let schema: JsonValue = { description: "bottom" };
    for (let depth = 0; depth < 10_000; depth++)
      schema = { properties: { [`level${depth}`]: schema } };
    const { parameters } = toolTextOf({ name: "deep", parameters: schema });
    expect(parameters.startsWith("level9999\nlevel9998\n")).toBe(true);
    expect(parameters).not.toContain("bottom");
  });

  test("of a schema of megabytes only the beginning is read", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 50_000 }, (_, i) => [`field${i}`, { description: "x".repeat(20) }]),
    );
    const values = Array.from({ length: 50_000 }, (_, i) => `value${i}`);
    for (const parameters of [{ properties }, { enum: values }, values, { a: values }]) {
      expect(toolTextOf({ name: "wide", parameters }).parameters.length).toBeLessThanOrEqual(8_000);
    }
    const long = toolTextOf({ name: "n".repeat(1e6), description: "d".repeat(1e6) });
    expect([long.name.length, long.description.length]).toEqual([4_000, 4_000]);
  });

  test.each<JsonValue>([
    null,
    1,
    "text",
    [],
    { properties: [] },
    { enum: {} },
    { description: {} },
  ])("%j is a schema without text", (parameters) => {
    expect(toolTextOf({ name: "odd", parameters }).parameters).toBe("");
  });

  test("a property may be called like a word of the schema", () => {
    const parameters = {
      properties: { description: { type: "string" }, enum: {}, properties: {} },
    };
    expect(toolTextOf({ name: "odd", parameters }).parameters).toBe(
      "description\nenum\nproperties",
    );
  });
});

test.each([
  [{ name: "mcp__a__b__c" }, "a", "b__c"],
  [{ name: "mcp__a__b", server: "given" }, "given", "b"],
  [{ name: "files/read", server: "files" }, "files", "read"],
  [{ name: "filesystem", server: "files" }, "files", "filesystem"],
  [{ name: "mcp__" }, "", "mcp__"],
  [{ name: "plain" }, "", "plain"],
])("the server is taken from the name: %j", (tool, server, name) => {
  expect(toolTextOf(tool)).toMatchObject({ server, name });
});
