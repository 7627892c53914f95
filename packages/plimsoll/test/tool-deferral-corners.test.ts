/** Tools that are held back, and a client that does not keep still: other tools, other choices, several searches at once. */

import { describe, expect, test, vi } from "vitest";
import { reply, text } from "./harness/answer.ts";
import type { UpstreamRequest } from "./harness/answer-writer.ts";
import { countText } from "./harness/counting.ts";
import {
  askWith,
  calling,
  configOf,
  listText,
  toolsOf,
  WINDOW_TOKENS,
} from "./harness/deferral-stage.ts";
import { WIRES, type Wire } from "./harness/json.ts";
import { toolNamesIn } from "./harness/own-judge.ts";
import { clientOn, type OwnClient, OwnStage } from "./harness/own-stage.ts";
import { bodyIn } from "./harness/own-talk.ts";
import { lookUp, resultOf } from "./harness/own-told.ts";
import { OWNER_TOKEN, readEdits } from "./harness/service.ts";
import {
  BUILT_INS,
  callableIn,
  type GivenTool,
  mcpTools,
  onWire,
} from "./harness/tool-catalogue.ts";
import { forcedChoice } from "./harness/wires.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ALL = [...BUILT_INS, ...mcpTools(120)];
/** Of the limit, which is the window less answer and buffer. */
const TENTH_TOKENS = (WINDOW_TOKENS - 1_500) / 10;

function namesOf(wire: Wire, request: UpstreamRequest | undefined): readonly string[] {
  return request === undefined ? [] : toolNamesIn(wire, bodyIn(request));
}

describe("a client that does not keep still", () => {
  const stage = new OwnStage({ config: configOf(), window: { tokens: WINDOW_TOKENS } });

  async function say(
    { client, key }: { readonly client: OwnClient; readonly key: string },
    wire: Wire,
    { words = "And now?", tools = ALL }: { words?: string; tools?: readonly GivenTool[] },
  ): Promise<UpstreamRequest | undefined> {
    client.say(words);
    stage.script(key, reply(text("Aye.")));
    await askWith(client, wire, tools);
    return stage.requestsOf(key).at(-1);
  }

  test.each(WIRES)("%s: what several searches find at once can all be called", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    const wishes = [
      "approve a flight of flights1",
      "export a wallet of wallets1",
      "delete a branch",
    ];
    const searches = wishes.map((query) => lookUp("tool_search", { query }));
    client.say("Do all of it.");
    stage.script(key, reply(...searches), reply(text("I could.")));
    await askWith(client, wire, ALL);
    const [, second] = stage.requestsOf(key);
    const callable = callableIn(wire, bodyIn(second ?? { body: Buffer.from("{}") }));
    for (const search of searches) {
      const found = [...resultOf(wire, second, search).matchAll(/^## (\S+)$/gm)].map(
        ([, one]) => one,
      );
      expect(found.length).toBeGreaterThan(0);
      for (const name of found) expect(callable).toContain(name);
    }
  });

  test.each(WIRES)("%s: however much is searched for, a tenth is not exceeded", async (wire) => {
    const talk = clientOn(stage, { wire });
    for (const thing of ["invoice", "calendar", "issue", "branch", "wallet", "playlist"]) {
      talk.client.say(`And a ${thing}?`);
      stage.script(
        talk.key,
        reply(lookUp("tool_search", { query: `${thing}s1 ${thing}` })),
        reply(text("Aye.")),
      );
      await askWith(talk.client, wire, ALL);
      const list = listText(stage.requestsOf(talk.key).at(-1));
      expect(countText(list)).toBeLessThan(TENTH_TOKENS);
    }
  });

  test.each(WIRES)("%s: tools in another order are told in the old one", async (wire) => {
    const talk = clientOn(stage, { wire });
    const first = await say(talk, wire, {});
    const turned = [...BUILT_INS, ...mcpTools(120).toReversed()];
    expect(listText(await say(talk, wire, { tools: turned }))).toBe(listText(first));
  });

  test.each(WIRES)("%s: a few other tools are all told, and so is nothing", async (wire) => {
    const talk = clientOn(stage, { wire });
    await say(talk, wire, {});
    const few = [...BUILT_INS, ...mcpTools(3, 400)];
    const names = few.map(({ name }) => name);
    expect(namesOf(wire, await say(talk, wire, { tools: few })).slice(0, 6)).toEqual(names);
    const none = namesOf(wire, await say(talk, wire, { tools: BUILT_INS }));
    expect(none.slice(0, 3)).toEqual(BUILT_INS.map(({ name }) => name));
  });

  test.each(WIRES)("%s: servers that were away for a turn are held back again", async (wire) => {
    const talk = clientOn(stage, { wire });
    const first = await say(talk, wire, {});
    await say(talk, wire, { tools: [...BUILT_INS, ...mcpTools(4, 60)] });
    const back = await say(talk, wire, {});
    const deferred = (request: UpstreamRequest | undefined): number =>
      Number(/\[(\d+) tools deferred/.exec(listText(request))?.[1] ?? 0);
    expect(deferred(first)).toBeGreaterThan(60);
    expect(deferred(back)).toBe(deferred(first));
  });

  test.each(WIRES)("%s: a search beside a compaction is a valid call", async (wire) => {
    const talk = clientOn(stage, { wire });
    const words = "the mast leans a little over the water ".repeat(300);
    for (let turn = 0; turn < 5; turn += 1) await say(talk, wire, { words: `${turn} ${words}` });
    talk.client.say("Find it.");
    stage.script(talk.key, reply(lookUp("tool_search", { query: "flight" })), reply(text("Aye.")));
    await askWith(talk.client, wire, ALL);
    talk.client.say("Make room, and look once more.");
    const both = [lookUp("compact_context", {}), lookUp("tool_search", { query: "wallet" })];
    stage.script(talk.key, reply(...both), reply(text("Aye.")));
    await askWith(talk.client, wire, BUILT_INS);
    const last = stage.requestsOf(talk.key).at(-1);
    expect(resultOf(wire, last, both[0] as (typeof both)[0])).toMatch(/^Compacted: /);
    expect(namesOf(wire, last)).toContain("tool_search");
  });

  test("several searches at once are read again once", async () => {
    const { client, key } = clientOn(stage, { wire: "openai-chat" });
    const reread = async (): Promise<number> => {
      const response = await fetch(`${stage.service.url}/metrics`, {
        headers: { authorization: `Bearer ${OWNER_TOKEN}` },
      });
      const figure = /^plimsoll_reread_tokens_total\{by="tools"\} (\d+)$/m;
      return Number(figure.exec(await response.text())?.[1] ?? 0);
    };
    client.say("the mast leans a little over the water ".repeat(600));
    const before = await reread();
    const searches = ["flight", "wallet", "branch"].map((query) =>
      lookUp("tool_search", { query }),
    );
    stage.script(key, reply(...searches), reply(text("Aye.")));
    await askWith(client, "openai-chat", ALL);
    const added = (await reread()) - before;
    expect(added).toBeGreaterThan(4_000);
    expect(added).toBeLessThan(7_000);
  });

  test("marks of different times keep their order under a forced choice", async () => {
    const { client, key } = clientOn(stage, { wire: "anthropic" });
    const [long, short] = [{ type: "ephemeral", ttl: "1h" }, { type: "ephemeral" }];
    const tools = onWire("anthropic", [...mcpTools(520), ...BUILT_INS]);
    tools[0] = { ...tools[0], cache_control: long };
    tools[tools.length - 1] = { ...tools.at(-1), cache_control: short };
    client.say("Delete it.");
    stage.script(key, calling("anthropic", "delete", "mcp__issues1__delete_issue"));
    const choice = forcedChoice("anthropic", "mcp__issues1__delete_issue");
    await client.ask({ fields: { tools, ...choice } });
    const marks = toolsOf(stage.requestsOf(key)[0]).flatMap((tool) => tool["cache_control"] ?? []);
    expect(marks).toEqual([short]);
  });

  test.each(WIRES)("%s: all servers go away after a search", async (wire) => {
    const talk = clientOn(stage, { wire });
    talk.client.say("Find it.");
    stage.script(talk.key, reply(lookUp("tool_search", { query: "flight" })), reply(text("Aye.")));
    await askWith(talk.client, wire, ALL);
    const last = await say(talk, wire, { tools: BUILT_INS });
    expect(namesOf(wire, last)).toContain("tool_search");
  });

  test.each(WIRES)("%s: an undo after a search leaves a valid conversation", async (wire) => {
    const talk = clientOn(stage, { wire });
    talk.client.say("Find it.");
    stage.script(talk.key, reply(lookUp("tool_search", { query: "flight" })), reply(text("Aye.")));
    await askWith(talk.client, wire, ALL);
    const session = talk.client.headers.get("x-plimsoll-session") ?? "";
    for (const { seq, strategy } of await readEdits(stage.service, session)) {
      if (strategy !== "defer_tools") continue;
      await fetch(`${stage.service.url}/api/sessions/${session}/undo`, {
        method: "POST",
        headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ edit: seq }),
      });
    }
    const last = await say(talk, wire, {});
    expect(namesOf(wire, last).slice(0, ALL.length)).toEqual(ALL.map(({ name }) => name));
  });

  test.each(WIRES)("%s: a forced choice in between costs the others nothing", async (wire) => {
    const talk = clientOn(stage, { wire });
    const words = "the mast leans a little over the water ".repeat(330);
    for (let turn = 0; turn < 10; turn += 1) await say(talk, wire, { words: `${turn} ${words}` });
    const before = listText(stage.requestsOf(talk.key).at(-1));
    const name = "mcp__issues1__delete_issue";
    talk.client.say("Delete it.");
    stage.script(talk.key, calling(wire, "delete", name));
    await askWith(talk.client, wire, ALL, forcedChoice(wire, name));
    talk.client.give("delete", "It is gone.");
    stage.script(talk.key, reply(text("Aye.")));
    await askWith(talk.client, wire, ALL);
    const after = stage.requestsOf(talk.key).at(-1);
    // Gemini refuses the result of a function that is not declared, so the tool that was called stays.
    if (wire === "gemini") expect(namesOf(wire, after)).toContain(name);
    else expect(listText(after)).toBe(before);
    expect(after?.body.toString()).toContain(`0 ${words.slice(0, 200)}`);
    const session = talk.client.headers.get("x-plimsoll-session") ?? "";
    const strategies = (await readEdits(stage.service, session)).map(({ strategy }) => strategy);
    expect(strategies.filter((one) => one !== "warning")).toEqual(
      wire === "gemini" ? ["defer_tools", "defer_tools"] : ["defer_tools"],
    );
  });

  test.each(WIRES)("%s: more tools than the window holds, and one that must be", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    const tools = [...BUILT_INS, ...mcpTools(520)];
    const name = "mcp__issues7__delete_issue";
    client.say("Delete it.");
    stage.script(key, calling(wire, "delete", name));
    await askWith(client, wire, tools, forcedChoice(wire, name));
    const names = namesOf(wire, stage.requestsOf(key)[0]);
    expect(names).toContain(name);
    expect(names).not.toContain("tool_search");
    expect(names.length).toBeLessThan(60);
  });
});

describe("a provider that takes 128 tools", () => {
  const stage = new OwnStage({ config: configOf() });

  test("gets no more, whatever the client adds", async () => {
    const wire = "openai-chat";
    const { client, key } = clientOn(stage, { wire });
    const small = mcpTools(200).map((tool) => ({ ...tool, description: "", parameters: {} }));
    const more = Array.from({ length: 6 }, (_, index) => ({
      ...(BUILT_INS[0] as GivenTool),
      name: `another_${index}`,
    }));
    for (const tools of [small, [...more, ...small], [...more, ...BUILT_INS, ...small]]) {
      client.say("Hello.");
      stage.script(key, reply(text("Hello.")));
      await askWith(client, wire, tools);
      expect(toolsOf(stage.requestsOf(key).at(-1)).length).toBeLessThanOrEqual(128);
    }
  });
});

describe("where the provider holds tools back itself", () => {
  const stage = new OwnStage({ config: configOf({ native_tool_deferral: true }) });

  test.each(["anthropic", "openai-responses"] as const)(
    "%s: a server that does not, after all, is not asked to again",
    async (wire) => {
      const { client, key } = clientOn(stage, { wire, model: `untrusted-${wire}` });
      client.say("Good morning.");
      const message =
        "tools.4.defer_loading: Extra inputs are not permitted; tool_search is unknown";
      const body =
        wire === "anthropic"
          ? { type: "error", error: { type: "invalid_request_error", message } }
          : { error: { type: "invalid_request_error", message, param: null, code: null } };
      stage.script(key, { kind: "failure", status: 400, body });
      await expect(askWith(client, wire, ALL)).rejects.toThrow("defer_loading");
      stage.script(key, reply(text("Good morning.")));
      await askWith(client, wire, ALL);
      const names = namesOf(wire, stage.requestsOf(key).at(-1));
      expect(names.at(-1)).toBe("tool_search");
      expect(listText(stage.requestsOf(key).at(-1))).not.toContain("defer_loading");
    },
  );

  test("a tool that was found and is gone is named no more", async () => {
    const wire = "anthropic";
    const { client, key } = clientOn(stage, { wire });
    const wanted = "mcp__flights1__approve_flight";
    client.say("Approve the flight.");
    const search = lookUp("tool_search", { query: "approve a flight of flights1" });
    stage.script(key, reply(search), reply(text("Aye.")));
    await askWith(client, wire, ALL);
    for (let turn = 0; turn < 4; turn += 1) {
      client.say("And now?");
      stage.script(key, reply(text("Aye.")));
      await askWith(
        client,
        wire,
        ALL.filter(({ name }) => name !== wanted),
      );
      const body = stage.requestsOf(key).at(-1)?.body.toString() ?? "";
      expect(body).not.toContain(`"tool_name":"${wanted}"`);
      expect(body).toContain(`Found: ${wanted}`);
    }
  });
});
