import { describe, expect, test } from "vitest";
import {
  classOf,
  deferralNote,
  selectTools,
  type ToolClass,
  type WeighedTool,
  withLoaded,
} from "./defer-tools.ts";

function tool(name: string, kind: ToolClass, tokens = 10): WeighedTool {
  return { name, class: kind, tokens };
}

const never = (): undefined => undefined;
const anyCount = Number.POSITIVE_INFINITY;
const tools = [
  tool("read", "builtin"),
  tool("m1", "mcp"),
  tool("s1", "skill"),
  tool("m2", "mcp"),
  tool("s2", "skill"),
  tool("m3", "mcp"),
];

describe("what is told of too many tools", () => {
  test("MCP tools go first, then skills, built-ins never", () => {
    const selected = (tokens: number) =>
      selectTools(tools, { tokens, count: anyCount }, never).kept;
    expect(selected(50)).toEqual(["m1", "s1", "m2", "s2", "m3"]);
    expect(selected(40)).toEqual(["m1", "s1", "m2", "s2"]);
    expect(selected(20)).toEqual(["s1", "s2"]);
    expect(selected(10)).toEqual(["s1"]);
    expect(selected(0)).toEqual([]);
  });

  test("of a class those that were called last stay, in the client's order", () => {
    const uses = new Map([
      ["m3", 7],
      ["m2", 3],
    ]);
    const selected = selectTools(tools, { tokens: 40, count: anyCount }, (name) => uses.get(name));
    expect(selected).toEqual({ kept: ["s1", "m2", "s2", "m3"], loaded: [] });
  });

  test("there are never more than the provider takes", () => {
    expect(selectTools(tools, { tokens: 1000, count: 3 }, never).kept).toEqual(["m1", "s1", "s2"]);
  });

  test("one that is too large does not keep the others out", () => {
    const large = [tool("huge", "mcp", 1_000_000), ...tools];
    const selected = selectTools(large, { tokens: 50, count: anyCount }, never);
    expect(selected.kept).toEqual(["m1", "s1", "m2", "s2", "m3"]);
  });

  test("tools of one name are told together, or not at all", () => {
    const twins = [tool("twin", "mcp", 30), tool("other", "mcp", 10), tool("twin", "mcp", 30)];
    expect(selectTools(twins, { tokens: 50, count: anyCount }, never).kept).toEqual(["other"]);
    expect(selectTools(twins, { tokens: 70, count: anyCount }, never).kept).toEqual([
      "twin",
      "other",
    ]);
  });
});

describe("what a search finds", () => {
  const selected = { kept: ["m1", "s1"], loaded: ["m2"] };

  test("comes behind what is told, once", () => {
    const room = { tokens: 1000, count: anyCount };
    const grown = withLoaded(tools, selected, { names: ["m3", "m2"], room, lastUse: never });
    expect(grown).toEqual({ kept: ["m1", "s1"], loaded: ["m2", "m3"] });
  });

  test("takes the place of what was not called for the longest time, MCP tools first", () => {
    const uses = new Map([["m1", 5]]);
    const lastUse = (name: string) => uses.get(name);
    const room = { tokens: 30, count: anyCount };
    const grown = withLoaded(tools, selected, { names: ["m3"], room, lastUse });
    expect(grown).toEqual({ kept: ["m1", "s1"], loaded: ["m3"] });
    const tight = { tokens: 10, count: anyCount };
    expect(withLoaded(tools, selected, { names: ["m3"], room: tight, lastUse })).toEqual({
      kept: [],
      loaded: ["m3"],
    });
  });

  test("leaves alone what was found just before", () => {
    const room = { tokens: 20, count: anyCount };
    const loading = { names: ["m3"], stays: (name: string) => name === "m2", room, lastUse: never };
    expect(withLoaded(tools, selected, loading)).toEqual({ kept: [], loaded: ["m2", "m3"] });
  });
});

describe("classes by name", () => {
  const patterns = { mcp: ["mcp__*", "*_remote", "a*b*c"], skill: ["skill:*", "exact"] };
  test.each([
    ["mcp__github__list", "mcp"],
    ["xmcp__github", "builtin"],
    ["list_remote", "mcp"],
    ["abc", "mcp"],
    ["a1b2c", "mcp"],
    ["acb", "builtin"],
    ["skill:cook", "skill"],
    ["exact", "skill"],
    ["exactly", "builtin"],
    ["Read", "builtin"],
  ])("%s is %s", (name, kind) => {
    expect(classOf(name, patterns)).toBe(kind);
  });

  test("the ends of a pattern do not share letters", () => {
    expect(classOf("ab", { mcp: ["ab*b"], skill: [] })).toBe("builtin");
    expect(classOf("abb", { mcp: ["ab*b"], skill: [] })).toBe("mcp");
  });
});

test("the note counts names, and names the servers it has room for", () => {
  const deferred = Array.from({ length: 60 }, (_, index) => ({
    name: `mcp__s${index % 30}__t${index}`,
    server: `s${index % 30}`,
  }));
  const note = deferralNote([...deferred, { name: "plain" }, { name: "plain" }], "tool_search");
  expect(note).toContain("[61 tools deferred to save context. Use tool_search to find them.]");
  expect(note).toContain("s0 (2), s1 (2)");
  expect(note).toContain("and 6 more");
});
