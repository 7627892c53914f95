/**
 * Tools that take more than a tenth of the window are held back: what is told stays the same, what is searched for can be
 * called, and the client notices nothing.
 */
import { describe, expect, test, vi } from "vitest";
import { reply, text } from "./harness/answer.ts";
import {
  askWith,
  calling,
  configOf,
  listText,
  toolsOf,
  WINDOW_TOKENS,
} from "./harness/deferral-stage.ts";
import { WIRES } from "./harness/json.ts";
import { toolNamesIn } from "./harness/own-judge.ts";
import { clientOn, OwnStage } from "./harness/own-stage.ts";
import { bodyIn } from "./harness/own-talk.ts";
import { ENDS, lookUp, resultOf, told, waysOf } from "./harness/own-told.ts";
import { OWNER_TOKEN, readEdits } from "./harness/service.ts";
import { BUILT_INS, type GivenTool, mcpTools, onWire } from "./harness/tool-catalogue.ts";
import { forcedChoice } from "./harness/wires.ts";

const WAYS = waysOf("streamed");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const LIMIT_TOKENS = WINDOW_TOKENS - 1_000 - 500;
const OWN_NAMES = ["read_result", "recall", "compact_context", "tool_search"];
const ALL = [...BUILT_INS, ...mcpTools(120)];

describe("over a tenth of the window", () => {
  const stage = new OwnStage({ config: configOf(), window: { tokens: WINDOW_TOKENS } });

  test.each(WIRES)("%s: built-ins stay, and what is left takes less", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("Good morning.");
    stage.script(key, reply(text("Good morning.")));
    await askWith(client, wire, ALL);
    const [request] = stage.requestsOf(key);
    const names = toolNamesIn(wire, bodyIn(request ?? { body: Buffer.from("{}") }));
    const mcp = names.filter((name) => name.startsWith("mcp__"));
    expect(names.slice(0, 3)).toEqual(BUILT_INS.map(({ name }) => name));
    expect(names.slice(-4)).toEqual(OWN_NAMES);
    expect(mcp).toEqual(ALL.slice(3, 3 + mcp.length).map(({ name }) => name));
    // Four characters are about a token.
    expect(listText(request).length / 4).toBeLessThan(LIMIT_TOKENS * 0.1);
    expect(listText(request)).toContain(
      `[${120 - mcp.length} tools deferred to save context. Use tool_search to find them.]`,
    );
    expect(client.headers.get("x-plimsoll-action")).toBe("edited");
  });

  test.each(WAYS)("$name: what is searched for can be called", async ({ wire, isStreamed }) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    const wanted = "mcp__flights1__approve_flight";
    const search = lookUp("tool_search", { query: "approve a flight of flights1" });
    stage.script(key, reply(search), calling(wire, "approve", wanted));
    const heard = await askWith(client, wire, ALL, { isStreamed });
    expect(told(wire, heard).calls).toEqual([wanted]);
    const [first, second] = stage.requestsOf(key);
    const answer = resultOf(wire, second, search);
    expect(answer).toContain(`## ${wanted}`);
    expect(answer).toContain('"flight_id"');
    // What was told stands where it stood, byte for byte.
    expect(listText(second).startsWith(listText(first).slice(0, -1))).toBe(true);

    client.give("approve", "It is approved.");
    stage.script(key, reply(text("Done.")));
    expect(told(wire, await askWith(client, wire, ALL, { isStreamed }))).toEqual({
      text: "Done.",
      calls: [],
      end: ENDS[wire],
    });
    expect(listText(stage.requestsOf(key).at(-1))).toBe(listText(second));
  });

  test.each(WIRES)("%s: a catalogue that changes every turn changes nothing", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    for (let turn = 0; turn < 5; turn += 1) {
      client.say(`Turn ${turn}.`);
      stage.script(key, reply(text("Yes.")));
      const others = mcpTools(20 + turn, 200 + turn * 30);
      await askWith(client, wire, [...BUILT_INS, ...mcpTools(90), ...others]);
    }
    const lists = stage.requestsOf(key).map(listText);
    expect(lists).toHaveLength(5);
    expect(new Set(lists).size).toBe(1);
  });

  test("what was loaded is loaded after a restart, too", async () => {
    const wire = "anthropic";
    const { client, key } = clientOn(stage, { wire });
    client.say("Export the wallet.");
    const search = lookUp("tool_search", { query: "export wallet wallets1" });
    stage.script(key, reply(search), reply(text("I could.")));
    await askWith(client, wire, ALL);
    const before = listText(stage.requestsOf(key).at(-1));
    expect(before).toContain("mcp__wallets1__export_wallet");
    await stage.restart();
    client.say("Then do.");
    stage.script(key, calling(wire, "export", "mcp__wallets1__export_wallet"));
    await askWith(client, wire, ALL);
    expect(listText(stage.requestsOf(key).at(-1))).toBe(before);
  });

  test.each(WIRES)("%s: a forced choice sees all tools, and its own among them", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    const name = "mcp__issues1__delete_issue";
    client.say("Delete it.");
    stage.script(key, calling(wire, "delete", name));
    await askWith(client, wire, ALL, forcedChoice(wire, name));
    const [request] = stage.requestsOf(key);
    expect(toolsOf(request)).toEqual(onWire(wire, ALL));
  });

  test("an undo tells of all tools again, and it stays so", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, ALL);
    const session = client.headers.get("x-plimsoll-session") ?? "";
    const edits = await readEdits(stage.service, session);
    expect(edits.map(({ strategy }) => strategy)).toEqual(["defer_tools"]);
    const undone = await fetch(`${stage.service.url}/api/sessions/${session}/undo`, {
      method: "POST",
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
      body: "{}",
    });
    expect(undone.status).toBe(200);
    for (const words of ["Once more.", "And again."]) {
      client.say(words);
      stage.script(key, reply(text("Yes.")));
      await askWith(client, wire, ALL);
      expect(toolsOf(stage.requestsOf(key).at(-1))).toEqual(onWire(wire, ALL));
    }
  });

  test("a client that holds tools back itself is left alone", async () => {
    const { client, key } = clientOn(stage, { wire: "anthropic" });
    const tools = [
      { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
      ...onWire("anthropic", BUILT_INS),
      ...onWire("anthropic", mcpTools(120)).map((tool) => ({ ...tool, defer_loading: true })),
    ];
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await client.ask({ fields: { tools } });
    expect(toolsOf(stage.requestsOf(key)[0])).toEqual(tools);
    expect(client.headers.get("x-plimsoll-action")).toBe("passthrough");
  });

  test("a cache mark on a tool that is held back moves to the last that is told", async () => {
    const { client, key } = clientOn(stage, { wire: "anthropic" });
    const tools = onWire("anthropic", ALL);
    const mark = { type: "ephemeral", ttl: "1h" };
    tools[tools.length - 1] = { ...tools.at(-1), cache_control: mark };
    client.say("Hello.");
    stage.script(key, reply(lookUp("tool_search", { query: "parcel" })), reply(text("Hello.")));
    await client.ask({ fields: { tools } });
    for (const request of stage.requestsOf(key)) {
      const marked = toolsOf(request).filter((tool) => tool["cache_control"] !== undefined);
      expect(marked.map((tool) => tool["name"])).toEqual(["tool_search"]);
      expect(marked[0]?.["cache_control"]).toEqual(mark);
    }
  });

  test("names are never changed: ours step aside", async () => {
    const wire = "openai-chat";
    const { client, key } = clientOn(stage, { wire });
    const mine: GivenTool = { ...BUILT_INS[0], name: "tool_search" } as GivenTool;
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, [mine, ...ALL]);
    const [request] = stage.requestsOf(key);
    const names = toolNamesIn(wire, bodyIn(request ?? { body: Buffer.from("{}") }));
    expect(names[0]).toBe("tool_search");
    expect(names.slice(-4)).toEqual(OWN_NAMES.map((name) => `plimsoll_${name}`));
  });
});

describe("odd catalogues", () => {
  const stage = new OwnStage({ config: configOf() });

  test("300 tools are more than the provider takes, and go all the same", async () => {
    const wire = "openai-chat";
    const { client, key } = clientOn(stage, { wire });
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, [...BUILT_INS, ...mcpTools(297)]);
    expect(toolsOf(stage.requestsOf(key)[0]).length).toBeLessThanOrEqual(128);
  });

  test("a schema of a megabyte is held back, and is too much to be loaded", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    const huge: GivenTool = {
      name: "mcp__warehouse__move_everything",
      description: "Moves everything in the warehouse.",
      parameters: {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: 12_000 }, (_, index) => [
            `shelf_${index}`,
            { type: "string", description: `What stands on the shelf ${index}, if anything does.` },
          ]),
        ),
      },
    };
    client.say("Move everything.");
    const search = lookUp("tool_search", { query: "move everything in the warehouse" });
    stage.script(key, reply(search), reply(text("I cannot.")));
    await askWith(client, wire, [...BUILT_INS, huge]);
    const sent = stage.requestsOf(key);
    expect(JSON.stringify(huge).length).toBeGreaterThan(1_000_000);
    expect(sent.map((request) => listText(request).length < 10_000)).toEqual([true, true]);
    expect(resultOf(wire, sent[1], search)).toContain("There is no room for");
  });

  test("two tools of one name are held back together", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    const tools = [...ALL, ...mcpTools(1, 119)];
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, tools);
    const names = toolNamesIn(
      wire,
      bodyIn(stage.requestsOf(key)[0] ?? { body: Buffer.from("{}") }),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test("a tenth or less goes as it came", async () => {
    const wire = "anthropic";
    const { client, key } = clientOn(stage, { wire });
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, [...BUILT_INS, ...mcpTools(8)]);
    expect(toolsOf(stage.requestsOf(key)[0])).toEqual(onWire(wire, [...BUILT_INS, ...mcpTools(8)]));
    expect(client.headers.get("x-plimsoll-action")).toBe("passthrough");
  });
});
