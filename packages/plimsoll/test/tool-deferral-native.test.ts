/**
 * Providers that hold tools back themselves: what is found is told where it was found, so the list of tools stays as it is,
 * byte for byte, and the client hears of none of it.
 */

import { openPlimsoll, type ToolCallPart } from "plimsoll";
import { describe, expect, test, vi } from "vitest";
import { call, reasoning, reply, text } from "./harness/answer.ts";
import type { UpstreamRequest } from "./harness/answer-writer.ts";
import {
  askWith,
  calling,
  configOf,
  listText,
  toolsOf,
  WINDOW_TOKENS,
} from "./harness/deferral-stage.ts";
import { type JsonObject, objects, type Wire } from "./harness/json.ts";
import { judgeResponses } from "./harness/judge-responses.ts";
import { judgeOwn, resultsIn, toolNamesIn } from "./harness/own-judge.ts";
import { clientOn, type OwnClient, OwnStage } from "./harness/own-stage.ts";
import { bodyIn } from "./harness/own-talk.ts";
import { ENDS, lookUp, resultOf, told, waysOf } from "./harness/own-told.ts";
import { OWNER_TOKEN } from "./harness/service.ts";
import { BUILT_INS, callableIn, mcpTools, onWire } from "./harness/tool-catalogue.ts";

const WAYS = waysOf("whole");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ALL = [...BUILT_INS, ...mcpTools(120)];
const WANTED = "mcp__flights1__approve_flight";
const NATIVE_WIRES = ["anthropic", "openai-responses"] as const;
const NATIVE = WAYS.filter(({ wire }) => NATIVE_WIRES.some((native) => native === wire));
const SEARCHED = /tool_search|tool_reference|defer_loading/;

const stage = new OwnStage({
  config: configOf({ native_tool_deferral: true }),
  window: { tokens: WINDOW_TOKENS },
});

function search(query = "approve a flight of flights1") {
  return lookUp("tool_search", { query });
}

function last(key: string): UpstreamRequest {
  const request = stage.requestsOf(key).at(-1);
  if (request === undefined) throw new Error("Nothing was sent.");
  return request;
}

function lists(key: string): ReadonlySet<string> {
  return new Set(stage.requestsOf(key).map(listText));
}

async function post(client: OwnClient, action: string): Promise<number> {
  const session = client.headers.get("x-plimsoll-session") ?? "";
  const { status } = await fetch(`${stage.service.url}/api/sessions/${session}/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: "{}",
  });
  return status;
}

describe("a search", () => {
  test.each(NATIVE)("$name: brings what can be called from then on", async (way) => {
    const { wire, isStreamed } = way;
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    const asked = search();
    stage.script(
      key,
      reply(reasoning("c2ln", "A flight."), text("I look. "), asked),
      calling(wire, "approve", WANTED),
    );
    const heard = await askWith(client, wire, ALL, { isStreamed });
    expect(told(wire, heard)).toMatchObject({ text: "I look. ", calls: [WANTED] });
    expect(JSON.stringify(heard)).not.toMatch(SEARCHED);
    expect(resultsIn(wire, bodyIn(last(key))).map(({ id }) => id)).toEqual([asked.id]);

    client.give("approve", "It is approved.");
    stage.script(key, reply(text("Done.")));
    const done = { text: "Done.", calls: [], end: ENDS[wire] };
    expect(told(wire, await askWith(client, wire, ALL, { isStreamed }))).toEqual(done);
    expect(lists(key).size).toBe(1);
    expect(callableIn(wire, bodyIn(last(key)))).toContain(WANTED);
  });

  test.each(NATIVE)("$name: beside calls of the client's waits for their results", async (way) => {
    const { wire, isStreamed } = way;
    const { client, key } = clientOn(stage, { wire });
    client.say("Read it, and approve the flight.");
    const asked = search();
    stage.script(key, reply(asked, call("read", "read_file", { path: "a" }), text("Both.")));
    const heard = await askWith(client, wire, ALL, { isStreamed });
    expect(told(wire, heard)).toMatchObject({ text: "Both.", calls: ["read_file"] });
    expect(JSON.stringify(heard)).not.toMatch(SEARCHED);
    client.give("read", "It says yes.");
    stage.script(key, calling(wire, "approve", WANTED));
    await askWith(client, wire, ALL, { isStreamed });
    const ids = resultsIn(wire, bodyIn(last(key))).map(({ id }) => id);
    expect(ids.toSorted()).toEqual([asked.id, "read"].toSorted());
    expect(lists(key).size).toBe(1);
  });

  test.each(NATIVE_WIRES)("%s: is still said after a restart", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    stage.script(key, reply(search()), reply(text("I could.")));
    await askWith(client, wire, ALL);
    await stage.restart();
    client.say("Then do.");
    stage.script(key, calling(wire, "approve", WANTED));
    expect(told(wire, await askWith(client, wire, ALL)).calls).toEqual([WANTED]);
    expect(lists(key).size).toBe(1);
  });

  test.each(NATIVE)(
    "$name: that finds nothing, or too much, is answered all the same",
    async (way) => {
      const { wire, isStreamed } = way;
      const { client, key } = clientOn(stage, { wire });
      const huge = {
        name: "mcp__warehouse__move_everything",
        description: "Moves everything in the warehouse.",
        parameters: {
          type: "object",
          properties: Object.fromEntries(
            Array.from({ length: 1_500 }, (_, shelf) => [`shelf_${shelf}`, { type: "string" }]),
          ),
        },
      };
      client.say("Move everything.");
      const [nothing, tooMuch, wrong] = [
        search("zzzz qqqq"),
        search("move everything in the warehouse"),
        lookUp("tool_search", { words: 7 }),
      ] as const;
      stage.script(key, reply(nothing), reply(tooMuch, wrong), reply(text("I cannot.")));
      const heard = await askWith(client, wire, [...BUILT_INS, huge], { isStreamed });
      expect(told(wire, heard)).toMatchObject({ text: "I cannot.", calls: [] });
      expect(stage.requestsOf(key)).toHaveLength(3);
      expect(lists(key).size).toBe(1);
      const answers = [nothing, tooMuch, wrong].map((asked) => resultOf(wire, last(key), asked));
      if (wire === "openai-responses") expect(answers).toEqual(["[]", "[]", "[]"]);
      else expect(answers[1]).toContain("There is no room for");
    },
  );

  test("openai-responses: is still said where the provider keeps the conversation", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    stage.script(key, reply(reasoning("c2ln", "A flight."), search()), reply(text("I could.")));
    const { id = "" } = await askWith(client, wire, ALL, { store: true });
    client.messages.length = 0;
    client.say("Then do.");
    stage.script(key, calling(wire, "approve", WANTED));
    const fields = { store: true, previous_response_id: id };
    expect(told(wire, await askWith(client, wire, ALL, fields)).calls).toEqual([WANTED]);
    expect(lists(key).size).toBe(1);
  });

  test.each(NATIVE_WIRES)("%s: after many others makes nothing leave the list", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    const things = ["issue", "branch", "wallet", "playlist", "flight"];
    const wanted = ["export", "approve"].flatMap((act) =>
      things.map((thing) => `mcp__${thing}s1__${act}_${thing}`),
    );
    client.say("Export and approve everything.");
    for (const name of wanted) {
      stage.script(key, reply(search(name)), calling(wire, name, name));
      expect(told(wire, await askWith(client, wire, ALL)).calls).toEqual([name]);
      client.give(name, "Done.");
    }
    expect(stage.requestsOf(key)).toHaveLength(2 * wanted.length);
    expect(lists(key).size).toBe(1);
  });

  test.each(NATIVE_WIRES)("%s: whose answer was lost can be made again", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    const failure = { kind: "failure", status: 400, body: { error: { message: "No." } } } as const;
    stage.script(key, reply(search()), failure);
    await expect(askWith(client, wire, ALL)).rejects.toThrow();
    stage.script(key, reply(search()), calling(wire, "approve", WANTED));
    expect(told(wire, await askWith(client, wire, ALL)).calls).toEqual([WANTED]);
  });
});

describe("what is told", () => {
  test("anthropic: everything, most of it marked as held back", async () => {
    const wire = "anthropic";
    const { client, key } = clientOn(stage, { wire });
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, ALL);
    const tools = toolsOf(last(key));
    expect(tools).toHaveLength(ALL.length + 4);
    expect(tools.filter((tool) => tool["defer_loading"] === true).length).toBeGreaterThan(60);
  });

  test("openai-responses: what is kept, ours, and the provider's own kind of search", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    const heard = await askWith(client, wire, ALL);
    const tools = toolsOf(last(key));
    const kept = tools.slice(0, -4);
    expect(kept).toEqual(onWire(wire, ALL.slice(0, kept.length)));
    expect(kept.length).toBeLessThan(60);
    expect(toolNamesIn(wire, { tools: tools.slice(-4) })).toEqual([
      "read_result",
      "recall",
      "compact_context",
    ]);
    expect(tools.at(-1)).toEqual({
      type: "tool_search",
      execution: "client",
      description: expect.stringContaining(`[${ALL.length - kept.length} tools deferred`),
      parameters: expect.objectContaining({ required: ["query"] }),
    });
    expect(toolNamesIn(wire, heard)).not.toContain("recall");
    expect(JSON.stringify(heard)).not.toMatch(SEARCHED);
  });

  test("openai-responses: a client's tool that is called like the search leaves ours a function", async () => {
    const wire = "openai-responses";
    const { client, key } = clientOn(stage, { wire });
    const [first = ALL[0]] = BUILT_INS;
    client.say("Hello.");
    stage.script(key, reply(text("Hello.")));
    await askWith(client, wire, [{ ...first, name: "tool_search" } as (typeof ALL)[0], ...ALL]);
    expect(toolNamesIn(wire, bodyIn(last(key))).at(-1)).toBe("plimsoll_tool_search");
    expect(listText(last(key))).not.toContain('"type":"tool_search"');
  });

  test("openai-chat: knows nothing of it, whatever the settings say", async () => {
    const wire = "openai-chat";
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    stage.script(key, reply(search()), calling(wire, "approve", WANTED));
    expect(told(wire, await askWith(client, wire, ALL)).calls).toEqual([WANTED]);
    expect(toolNamesIn(wire, bodyIn(last(key)))).toContain(WANTED);
  });
});

describe("what was found", () => {
  async function found(wire: Wire): Promise<{ readonly client: OwnClient; readonly key: string }> {
    const { client, key } = clientOn(stage, { wire });
    client.say("Approve the flight.");
    stage.script(key, reply(text("I look."), search()), calling(wire, "approve", WANTED));
    await askWith(client, wire, ALL);
    client.give("approve", "It is approved.");
    stage.script(key, reply(text("Done.")));
    await askWith(client, wire, ALL);
    return { client, key };
  }

  test.each(NATIVE_WIRES)("%s: is counted once, and not below the provider", async (wire) => {
    const { client, key } = await found(wire);
    const ours = Number(client.headers.get("x-plimsoll-tokens")?.split(";")[1]);
    const { tokens } = last(key);
    // The scripted provider counts the JSON of the whole list on Anthropic, also of what it holds back.
    if (wire === "openai-responses") {
      expect(ours).toBeGreaterThanOrEqual(tokens - 10);
      expect(ours).toBeLessThanOrEqual(tokens + 10);
    } else expect(ours).toBeLessThan(tokens);
  });

  test.each(NATIVE_WIRES)("%s: and called is in the list after a compaction", async (wire) => {
    const { client, key } = await found(wire);
    const before = listText(last(key));
    const words = "and a tide that goes out again, with all hands on deck; ".repeat(120);
    for (let turn = 0; client.headers.get("x-plimsoll-action") !== "compacted"; turn += 1) {
      if (turn > 60) throw new Error("Nothing was ever taken out.");
      expect(listText(last(key))).toBe(before);
      client.say(`Turn ${turn}: ${words}`);
      stage.script(key, reply(text("Yes, that is what it says here.")));
      await askWith(client, wire, ALL);
    }
    client.say("Approve the next one.");
    stage.script(key, calling(wire, "again", WANTED));
    expect(told(wire, await askWith(client, wire, ALL)).calls).toEqual([WANTED]);
    const kept = toolsOf(last(key)).filter((tool) => tool["defer_loading"] !== true);
    expect(kept.map((tool) => tool["name"])).toContain(WANTED);
    expect(listText(last(key))).not.toBe(before);
    const { messages, input } = bodyIn(last(key));
    expect(JSON.stringify(messages ?? input)).not.toMatch(SEARCHED);
  });

  test.each(NATIVE_WIRES)(
    "%s: is told in plain words once all tools are told again",
    async (wire) => {
      const { client, key } = await found(wire);
      expect(await post(client, "undo")).toBe(200);
      client.say("Once more.");
      stage.script(key, reply(text("Yes.")));
      await askWith(client, wire, ALL);
      expect(toolsOf(last(key)).slice(0, ALL.length)).toEqual(onWire(wire, ALL));
      const body = JSON.stringify(bodyIn(last(key)));
      expect(body).not.toMatch(/tool_search_output|tool_reference|defer_loading/);
      expect(body).toContain(WANTED);
    },
  );
});

describe("a library session", () => {
  const wire = "openai-responses";
  const request = { target: "openai/gpt-6", wire, tools: ALL } as const;
  const model = {
    contextWindow: WINDOW_TOKENS,
    maxOutputTokens: 1_000,
    tokenizer: "tiktoken:o200k_base",
  };

  function searching(id: string, query: string): JsonObject {
    const item = { type: "tool_search_call", id: `tsc_${id}`, call_id: id, execution: "client" };
    const asked = { ...item, status: "completed", arguments: { query } };
    return { id: `resp_${id}`, object: "response", status: "completed", output: [asked] };
  }

  test("answers searches in the provider's own form, and in plain words for older models", async () => {
    const models = { "gpt-6": model, older: model };
    const plimsoll = await openPlimsoll({
      store: "memory",
      config: { providers: { openai: { models } } },
    });
    try {
      const session = await plimsoll.session();
      await session.append({ role: "user", content: "Approve the flight." });
      for (const [id, query] of [
        ["one", "approve a flight of flights1"],
        ["two", "zzzz qqqq"],
      ] as const) {
        const turn = await session.prepare(request);
        const answer = searching(id, query);
        await session.commit(answer);
        const [asked] = turn.toolCalls(answer) as [ToolCallPart];
        const own = await session.answer(asked);
        expect(own).not.toBeNull();
        await session.append(own?.message ?? {});
      }
      const next = await session.prepare(request);
      const sent = { ...next.request } as JsonObject;
      expect(judgeResponses(sent)).toEqual([]);
      expect(judgeOwn(wire, sent)).toEqual([]);
      expect(callableIn(wire, sent)).toContain(WANTED);
      expect(toolNamesIn(wire, sent)).not.toContain(WANTED);
      expect(resultsIn(wire, sent).map(({ text: said }) => said === "[]")).toEqual([false, true]);

      const older = {
        ...(await session.prepare({ ...request, target: "openai/older" })).request,
      };
      expect(judgeResponses(older)).toEqual([]);
      expect(toolNamesIn(wire, older as JsonObject)).toContain(WANTED);
      const types = objects<JsonObject>((older as JsonObject)["input"]).map(({ type }) => type);
      expect(types).not.toContain("tool_search_call");

      const other = {
        ...(await session.prepare({ target: "anthropic/claude-sonnet-4-6", tools: ALL })).request,
      };
      expect(JSON.stringify((other as JsonObject)["messages"])).not.toContain("tool_search_output");
    } finally {
      await plimsoll.close();
    }
  });
});
