/**
 * Codex sends no list of tools: an item of its input brings them, in namespaces. Plimsoll's tools stand there beside them, and what
 * takes too much is held back there. Where a request has no tools at all, nothing that the model reads names ours.
 */
import { describe, expect, test, vi } from "vitest";
import { call, reply, text } from "./harness/answer.ts";
import { configOf } from "./harness/deferral-stage.ts";
import { type JsonObject, objects, type Wire } from "./harness/json.ts";
import { handlesIn } from "./harness/kept.ts";
import { type Asking, clientOn, type OwnClient, OwnStage } from "./harness/own-stage.ts";
import { bodyIn } from "./harness/own-talk.ts";
import { ENDS, lookUp, resultOf, told } from "./harness/own-told.ts";
import { BUILT_INS, mcpTools, onWire } from "./harness/tool-catalogue.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const wire = "openai-responses";
const OWN_NAMES = ["read_result", "recall", "compact_context"];

/** As Codex 0.166 writes it. */
function bringing(tools: readonly JsonObject[]): JsonObject {
  return { type: "additional_tools", role: "developer", tools: [...tools] };
}

function namespace(name: string, tools: readonly JsonObject[]): JsonObject {
  return { type: "namespace", name, description: `Tools of ${name}.`, tools: [...tools] };
}

/** What the item brings: names of namespaces, and of tools that are in none. */
function broughtBy({ input }: JsonObject): readonly string[] {
  return objects<JsonObject>(input)
    .filter(({ type }) => type === "additional_tools")
    .flatMap(({ tools }) => objects<JsonObject>(tools).map(({ name }) => String(name)));
}

const shell: JsonObject = { type: "custom", name: "exec", description: "Runs a command." };

type Sent = { readonly body: Buffer } | undefined;

function bodyOf(request: Sent): JsonObject {
  return bodyIn(request ?? { body: Buffer.from("{}") });
}

/** The item as the provider got it, in its bytes. */
function itemIn(request: Sent): string {
  const body = request?.body.toString() ?? "";
  const [item] = objects<JsonObject>(bodyOf(request)["input"]);
  const written = JSON.stringify(item);
  return body.includes(written) ? written : "";
}

const LINES = 160;

function logText(name: string): string {
  return Array.from(
    { length: LINES },
    (_, index) =>
      `${name} line ${index}: the gauge of tank ${(index * 7_919) % 1_000} reads ${index}`,
  ).join("\n");
}

/** Reads until something was taken out. */
async function fill(
  stage: OwnStage,
  { client, key }: { readonly client: OwnClient; readonly key: string },
  asking: Asking,
): Promise<void> {
  client.say("Read all the logs, one after the other, please.");
  for (let number = 0; number < 40; number += 1) {
    stage.script(key, reply(call(`read_${number}`, "read_file", { path: `log-${number}` })));
    await client.ask(asking);
    const isCompacted = client.headers.get("x-plimsoll-action") === "compacted";
    client.give(`read_${number}`, isCompacted ? "It is empty." : logText(`log-${number}`));
    if (isCompacted) return;
  }
  throw new Error("Nothing was ever taken out.");
}

describe("tools that an item brings", () => {
  const stage = new OwnStage({ config: configOf(), window: { tokens: 40_000 } });

  test.each([false, true])("ours stand beside them, streamed: %s", async (isStreamed) => {
    const on = clientOn(stage, { wire });
    const { client, key } = on;
    const files = namespace("files", onWire(wire, BUILT_INS));
    client.messages.push(bringing([files, shell]));
    await fill(stage, on, { isStreamed, toolNames: [] });
    const sent = stage.requestsOf(key);
    const compacted = bodyOf(sent.at(-1));
    expect(compacted["tools"]).toBeUndefined();
    expect(broughtBy(compacted)).toEqual(["files", "exec", ...OWN_NAMES]);
    // Before there was a handle, the item went as the client wrote it; since then it is always the same.
    expect(broughtBy(bodyOf(sent.at(-2)))).toEqual(["files", "exec"]);
    const item = itemIn(sent.at(-1));
    expect(item).not.toBe("");

    const [handle = ""] = handlesIn(sent.at(-1)?.body.toString() ?? "");
    const look = lookUp("read_result", { ref_id: handle, limit: 500 });
    stage.script(key, reply(look), reply(text("So it is.")));
    const heard = await client.ask({ isStreamed, toolNames: [] });
    expect(told(wire, heard)).toEqual({ text: "So it is.", calls: [], end: ENDS[wire] });
    expect(resultOf(wire, stage.requestsOf(key).at(-1), look)).toContain(`[${handle}, `);

    client.say("Go on.");
    stage.script(key, reply(text("Yes.")));
    await client.ask({ isStreamed, toolNames: [] });
    const next = stage.requestsOf(key).slice(sent.length);
    expect(next.map(itemIn)).toEqual(next.map(() => item));
    // What the model has looked up is still there.
    expect(resultOf(wire, next.at(-1), look)).toContain(`[${handle}, `);
  });

  test("ours have other names where a namespace has a tool that is called so", async () => {
    const on = clientOn(stage, { wire });
    const own = { type: "function", name: "recall", description: "Mine.", parameters: {} };
    on.client.messages.push(bringing([namespace("memory", [own]), shell]));
    await fill(stage, on, { toolNames: [] });
    const names = broughtBy(bodyOf(stage.requestsOf(on.key).at(-1)));
    expect(names).toEqual(["memory", "exec", ...OWN_NAMES.map((name) => `plimsoll_${name}`)]);
  });

  test("what takes too much of the window is held back, and found", async () => {
    const { client, key } = clientOn(stage, { wire });
    const mcp = mcpTools(120);
    const servers = Map.groupBy(mcp, ({ name }) => name.split("__").slice(0, 2).join("__"));
    const spaces = [...servers].map(([name, tools]) => namespace(name, onWire(wire, tools)));
    client.messages.push(bringing([shell, ...spaces]));
    client.say("Approve the flight.");
    const search = lookUp("tool_search", { query: "approve a flight of flights1" });
    stage.script(key, reply(search), reply(text("Found it.")));
    const heard = await client.ask({ toolNames: [] });
    expect(told(wire, heard).text).toBe("Found it.");
    const [first, second] = stage.requestsOf(key).map(bodyOf);
    const before = broughtBy(first ?? {});
    expect(before).toContain("exec");
    expect(before).toEqual(expect.arrayContaining([...OWN_NAMES, "tool_search"]));
    expect(before).not.toContain("mcp__flights1");
    expect(second?.["tools"]).toBeUndefined();
    expect(broughtBy(second ?? {})).toEqual(
      expect.arrayContaining(["exec", ...OWN_NAMES, "tool_search", "mcp__flights1"]),
    );
  });
});

describe("a request that has no place for tools of ours", () => {
  const stage = new OwnStage({ config: configOf(), window: { tokens: 40_000 } });
  const none: Asking = { toolNames: [] };
  const forced: Asking = {
    fields: { tool_choice: { type: "any" }, thinking: { type: "disabled" } },
  };

  test.each<readonly [Wire, string, Asking]>([
    ["openai-chat", "without any tools", none],
    ["openai-responses", "without any tools", none],
    ["anthropic", "with a forced choice", forced],
  ])("%s, %s: nothing that the model reads names them", async (without, _name, asking) => {
    const on = clientOn(stage, { wire: without });
    await fill(stage, on, asking);
    const sent = stage.requestsOf(on.key).at(-1)?.body.toString() ?? "";
    expect(handlesIn(sent)).not.toEqual([]);
    expect(sent).not.toMatch(/read_result|recall|compact_context|ref_id/);
    // Lines of what was read are still there, and not only how it began.
    expect(sent).toMatch(/log-0 line \d/);
  });
});
