import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../message/json.ts";
import { ownToolsBeside, readOwnCall } from "./own-tools.ts";

const none: ReadonlySet<string> = new Set();

describe("the tools of our own beside the client's", () => {
  test("keep their names, and are always the same object", () => {
    const tools = ownToolsBeside(new Set(["read_file", "bash"]));
    expect(tools.definitions.map(({ name }) => name)).toEqual([
      "read_result",
      "recall",
      "compact_context",
    ]);
    expect(tools.isRenamed).toBe(false);
    expect(ownToolsBeside(none).definitions).toBe(tools.definitions);
  });

  test("all step aside when a client has one of their names, and say so", () => {
    const tools = ownToolsBeside(new Set(["recall"]));
    expect(tools.isRenamed).toBe(true);
    expect(tools.named("plimsoll_read_result")).toBe("read_result");
    expect(tools.named("recall")).toBeUndefined();
    expect(tools.named("read_result")).toBeUndefined();
    expect(tools.nameOf("compact_context")).toBe("plimsoll_compact_context");
  });

  test("a client never meets one of its own names, whichever it has", () => {
    const name = fc
      .tuple(
        fc.constantFrom("", "plimsoll_", "plimsoll2_", "plimsoll3_"),
        fc.constantFrom("read_result", "recall", "compact_context", "other"),
      )
      .map(([prefix, tool]) => `${prefix}${tool}`);
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const clients = new Set(names);
        const own = ownToolsBeside(clients);
        expect(own.definitions.filter((tool) => clients.has(tool.name))).toEqual([]);
        for (const tool of own.definitions)
          expect(own.nameOf(own.named(tool.name) ?? "recall")).toBe(tool.name);
        expect(JSON.stringify(ownToolsBeside(clients).definitions)).toBe(
          JSON.stringify(own.definitions),
        );
      }),
    );
  });

  test("speak of each other by the names they go by", () => {
    const text = JSON.stringify(ownToolsBeside(new Set(["read_result"])).definitions);
    expect(text.match(/(?<!plimsoll_)\b(?:read_result|recall|compact_context)\b/g)).toBeNull();
  });

  test("cannot be changed by whoever sends them on", () => {
    const [tool] = ownToolsBeside(none).definitions;
    expect(Object.isFrozen(tool)).toBe(true);
    expect(Object.isFrozen(tool?.parameters["properties"])).toBe(true);
  });

  test("have schemas of the few keywords that every provider takes", () => {
    const allowed = new Set([
      "type",
      "properties",
      "required",
      "additionalProperties",
      "description",
    ]);
    for (const { parameters, description } of ownToolsBeside(none).definitions) {
      expect(parameters["type"]).toBe("object");
      expect(parameters["additionalProperties"]).toBe(false);
      expect(Object.keys(parameters).filter((key) => !allowed.has(key))).toEqual([]);
      for (const field of Object.values(parameters["properties"] as Record<string, JsonValue>))
        expect(Object.keys(field as object).filter((key) => !allowed.has(key))).toEqual([]);
      expect(description?.length).toBeLessThan(500);
    }
  });
});

describe("arguments as a model writes them", () => {
  const read = (fields: unknown) => readOwnCall("read_result", JSON.stringify(fields));

  test("all of them", () => {
    expect(
      read({
        ref_id: " pl_x ",
        offset: 3,
        limit: "10",
        grep: "a+",
        lines: "120-180",
        json: "a[0]",
      }),
    ).toEqual({
      kind: "read_result",
      refId: "pl_x",
      offset: 3,
      limit: 10,
      grep: "a+",
      lines: { first: 120, last: 180 },
      json: "a[0]",
    });
  });

  test("what is null, empty or unknown counts as absent", () => {
    const filled = {
      ref_id: "#1",
      offset: null,
      limit: "",
      grep: "",
      lines: null,
      json: " ",
      foo: 1,
    };
    expect(read(filled)).toEqual({ kind: "read_result", refId: "#1" });
  });

  test.each([
    ["120", { first: 120, last: 120 }],
    [7, { first: 7, last: 7 }],
    [" 3 – 5 ", { first: 3, last: 5 }],
    ["3:5", { first: 3, last: 5 }],
  ])("lines as %j", (lines, expected) => {
    expect(read({ ref_id: "#1", lines })).toMatchObject({ lines: expected });
  });

  test("white space can be searched for", () => {
    expect(read({ ref_id: "#1", grep: "\t" })).toMatchObject({ grep: "\t" });
  });

  test.each([
    ["nothing", "", /`ref_id`/],
    ["no JSON", "{ref_id: pl_x}", /not a JSON object. Write them like/],
    ["a list", '["pl_x"]', /not a JSON object/],
    ["unfinished JSON", '{"ref_id": "pl_', /not a JSON object/],
    ["no handle", "{}", /`ref_id`/],
    ["a handle that is a number", '{"ref_id": 12}', /`ref_id`/],
    [
      "a negative offset",
      '{"ref_id":"#1","offset":-1}',
      /`offset` must be a whole number, 0 or more/,
    ],
    ["half an offset", '{"ref_id":"#1","offset":1.5}', /`offset`/],
    ["an offset in words", '{"ref_id":"#1","offset":"ten"}', /`offset`/],
    ["an endless offset", '{"ref_id":"#1","offset":1e400}', /`offset`/],
    ["no bytes at all", '{"ref_id":"#1","limit":0}', /`limit` must be a whole number, 1 or more/],
    ["a list of limits", '{"ref_id":"#1","limit":[1]}', /`limit`/],
    ["a pattern that is a number", '{"ref_id":"#1","grep":3}', /`grep`/],
    ["an endless pattern", JSON.stringify({ ref_id: "#1", grep: "x".repeat(2000) }), /`grep`/],
    ["lines from nought", '{"ref_id":"#1","lines":"0-5"}', /`lines`/],
    ["lines backwards", '{"ref_id":"#1","lines":"5-3"}', /`lines`/],
    ["lines in words", '{"ref_id":"#1","lines":"all"}', /`lines`/],
    ["no path", '{"ref_id":"#1","json":"a..b"}', /`json`/],
  ])("%s is answered with what to write", (_, input, sentence) => {
    const call = readOwnCall("read_result", input);
    expect(call.kind).toBe("invalid");
    expect(call).toMatchObject({ sentence: expect.stringMatching(sentence) });
  });

  test("a query, and what it may cost", () => {
    expect(readOwnCall("recall", '{"query":"who?","budget":"500"}')).toEqual({
      kind: "recall",
      query: "who?",
      budget: 500,
    });
    expect(readOwnCall("recall", "")).toMatchObject({ kind: "invalid" });
    expect(readOwnCall("recall", '{"query":["a"]}')).toMatchObject({ kind: "invalid" });
    expect(readOwnCall("recall", '{"query":"a","budget":-4}')).toMatchObject({ kind: "invalid" });
  });

  test("JSON that a model has put into a string is read all the same", () => {
    expect(readOwnCall("recall", JSON.stringify('{"query":"who?"}'))).toMatchObject({
      query: "who?",
    });
  });

  test("to compact takes no arguments, and minds none", () => {
    for (const input of ["", "{}", "[", '{"why":1}'])
      expect(readOwnCall("compact_context", input)).toEqual({ kind: "compact_context" });
  });

  test("whatever is written, there is an answer", () => {
    const tool = fc.constantFrom("read_result" as const, "recall" as const);
    fc.assert(
      fc.property(tool, fc.oneof(fc.string(), fc.json()), (name, input) => {
        expect(["invalid", name]).toContain(readOwnCall(name, input).kind);
      }),
    );
  });
});
