/** Large results in a compaction: every byte behind its handle, and a view that is never poorer than without. */

import { afterEach, describe, expect, test } from "vitest";
import { called, requestOf, result, said, tool } from "../../test/generate/bodies.ts";
import { WIRES } from "../../test/generate/conversations.ts";
import { openWith, type Passed, pass, violationsOf } from "../../test/generate/rehearsal.ts";
import { archivedText, readPages } from "../../test/generate/whole.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import { handlesIn, lostMessages, messageTexts } from "../../test/harness/kept.ts";
import type { Config } from "../config/schema.ts";
import type { Engine, EngineOptions } from "../engine.ts";
import { simulateConversation } from "../simulate/simulate.ts";
import { createMemoryStore } from "../store/memory.ts";
import { wires } from "../wire/wires.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

async function opened(limit: number, options: EngineOptions = {}): Promise<Engine> {
  const plimsoll = await openWith(limit, options);
  open.push(plimsoll);
  return plimsoll;
}

/** So many bytes, in lines that stand nowhere else. */
function output(name: string, bytes: number): string {
  const lines: string[] = [];
  for (let size = 0; size <= bytes; size += (lines.at(-1) ?? "").length + 1)
    lines.push(`${name} ${lines.length}: the value is ${(lines.length * 7919) % 1009}`);
  return lines.join("\n").slice(0, bytes);
}

/** Every third result is small. */
const sizes = Array.from({ length: 21 }, (_, at) => (at % 3 === 0 ? 900 : 9000));

function talk(wire: Wire, all: readonly number[] = sizes): readonly JsonObject[] {
  return [
    said("Find the leak."),
    ...all.flatMap((bytes, at) => [
      called(wire, `c${at}`, `deck ${at}`),
      result(wire, `c${at}`, output(`out${at}`, bytes)),
    ]),
  ];
}

const send = (plimsoll: Engine, wire: Wire, messages: readonly JsonObject[]): Promise<Passed> =>
  pass(plimsoll, wire, requestOf(wire, messages, { tools: [tool(wire)] }));

function strategiesIn({ newEdits }: Passed): ReadonlySet<string> {
  return new Set(newEdits.map(({ strategy }) => strategy));
}

async function contentsOf(plimsoll: Engine, { sentText }: Passed): Promise<readonly string[]> {
  return Promise.all(handlesIn(sentText).map((handle) => archivedText(plimsoll, handle)));
}

describe.each(WIRES)("%s: where references are enough", (wire) => {
  // 14 results of 9,000 bytes, 7 of 900: some 33,000 tokens, of which 3,500 are not in large results.
  const limit = 33_000;

  test("every large result that was answered leaves, nothing else does, and all of it comes back", async () => {
    const plimsoll = await opened(limit);
    const messages = talk(wire);
    const passed = await send(plimsoll, wire, messages);
    expect(passed.turn.fitted.outcome).toBe("compacted");
    expect(violationsOf(passed)).toEqual([]);
    expect([...strategiesIn(passed)]).toEqual(["offload_results"]);
    const answeredLarge = sizes.slice(0, -1).filter((bytes) => bytes > 4096).length;
    expect(passed.newEdits).toHaveLength(answeredLarge);
    const handles = passed.newEdits.map(({ action }) => ("handle" in action ? action.handle : ""));
    expect(handlesIn(passed.sentText).toSorted()).toEqual(handles.toSorted());
    for (const [at, bytes] of sizes.entries()) {
      const isGone = bytes > 4096 && at < sizes.length - 1;
      if (!isGone) expect(passed.sentText).toContain(JSON.stringify(output(`out${at}`, bytes)));
    }
    const contents = new Set(await contentsOf(plimsoll, passed));
    for (const [at, bytes] of sizes.slice(0, -1).entries())
      if (bytes > 4096) expect(contents).toContain(output(`out${at}`, bytes));
  });

  test("pages of any size, put together, are the result", async () => {
    const plimsoll = await opened(limit);
    const passed = await send(plimsoll, wire, talk(wire));
    const [handle = ""] = handlesIn(passed.sentText);
    const record = await plimsoll.store.archived("t", handle);
    if (record === undefined) throw new Error("It opens nothing.");
    const whole = await archivedText(plimsoll, handle);
    for (const size of [7, 1000, 4096, 8999])
      expect(await readPages(plimsoll, record, size)).toBe(whole);
    expect(whole).toBe(output("out1", 9000));
  });

  test("the view is not emptier than it must be: the newest show their ends, and the goal is met", async () => {
    const passed = await send(await opened(limit), wire, talk(wire));
    const { tokensAfter } = passed.turn.fitted;
    expect(tokensAfter).toBeLessThanOrEqual(limit / 2);
    expect(tokensAfter).toBeGreaterThan(limit * 0.38);
    const places = [...passed.sentText.matchAll(/its first and last lines follow/g)];
    expect(places.length).toBeGreaterThan(0);
    const lastBare = passed.sentText.lastIndexOf("it begins:");
    expect(places[0]?.index).toBeGreaterThan(lastBare);
  });

  test("undone, the client's own bytes go out again", async () => {
    const plimsoll = await opened(60_000);
    const { turn } = await send(plimsoll, wire, talk(wire));
    await plimsoll.steering.compact(turn.session, { budget: 15_000 });
    const after = await send(plimsoll, wire, talk(wire));
    expect(after.sentText).toContain("read_result with ref_id");
    await plimsoll.steering.undo(turn.session, {});
    expect((await send(plimsoll, wire, talk(wire))).turn.body).toBeUndefined();
  });

  test("a later compaction still finds everything, and names nothing that does not open", async () => {
    const plimsoll = await opened(limit);
    const all = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? 900 : 9000));
    let compactions = 0;
    for (let length = 3; length <= all.length; length += 3) {
      const messages = talk(wire, all.slice(0, length));
      const passed = await send(plimsoll, wire, messages);
      if (passed.turn.fitted.outcome === "compacted") compactions++;
      expect(violationsOf(passed)).toEqual([]);
      const contents = await contentsOf(plimsoll, passed);
      const history = messageTexts(wire, passed.clientText);
      const { sentText: sentBody } = passed;
      expect(lostMessages({ wire, history, sentBody, contents })).toEqual([]);
    }
    expect(compactions).toBeGreaterThan(1);
  });
});

describe("where references are not enough", () => {
  const wire = "openai-chat";

  const sentWith = async (seed: number, options: EngineOptions): Promise<Passed> => {
    const messages = wires[wire].messages.encode(
      simulateConversation({ tokens: 40_000, seed, toolCalls: 0.9, types: ["code", "log"] }),
    );
    return send(await opened(20_000, options), wire, messages);
  };

  test.each([1, 2, 3])(
    "lines are chosen from the originals as if there were no references: seed %i",
    async (seed) => {
      const passed = await sentWith(seed, {});
      expect(violationsOf(passed)).toEqual([]);
      expect(strategiesIn(passed)).toContain("excerpt");
      const strategies: NonNullable<EngineOptions["parts"]>["strategies"] = (usual) =>
        usual.filter(({ name }) => name !== "offload_results");
      const without = await sentWith(seed, { parts: { strategies } });
      const plain = ({ sentText }: Passed): string =>
        sentText.replace(/pl_[0-9A-Za-z]{22}/g, "pl_");
      expect(plain(passed)).toBe(plain(without));
      expect(passed.newEdits).toHaveLength(without.newEdits.length);
    },
  );

  test("before strategies that are named, what leaves has left, and they go on from there", async () => {
    const context_config: Config["context_config"] = {
      breaking_strategy: { chain_order: ["prioritize_recent"] },
    };
    const plimsoll = await opened(8_000, { config: { context_config } });
    const passed = await send(
      plimsoll,
      wire,
      talk(
        wire,
        sizes.map((bytes) => bytes - 500),
      ),
    );
    expect(violationsOf(passed)).toEqual([]);
    expect(strategiesIn(passed)).toContain("offload_results");
    expect(strategiesIn(passed)).toContain("prioritize_recent");
    const contents = await contentsOf(plimsoll, passed);
    const history = messageTexts(wire, passed.clientText);
    expect(lostMessages({ wire, history, sentBody: passed.sentText, contents })).toEqual([]);
  });
});

test("result_offload_threshold says what is large", async () => {
  const plimsoll = await opened(33_000, { config: { agent: { result_offload_threshold: 500 } } });
  const passed = await send(plimsoll, "openai-chat", talk("openai-chat"));
  expect(passed.newEdits).toHaveLength(sizes.length - 1);
});

test("a store that fails: nothing leaves, and the request goes", async () => {
  const store = createMemoryStore();
  const commit = (): Promise<never> => Promise.reject(new Error("the disk is full"));
  const plimsoll = await opened(33_000, { parts: { store: { ...store, commit } } });
  const passed = await send(plimsoll, "anthropic", talk("anthropic"));
  expect(passed.turn.fitted.patches).toEqual([]);
  expect(passed.turn.fitted.refusal).toBeUndefined();
  expect(passed.newEdits).toEqual([]);
});

test("outside of a session there is no archive, and nothing is offloaded", async () => {
  const plimsoll = await opened(33_000);
  const wire = wires["openai-chat"];
  const messages = talk("openai-chat");
  const { strategies, messages: left } = await plimsoll.compactMessages({
    wire,
    messages,
    budget: 18_000,
  });
  expect(strategies).not.toContain("offload_results");
  expect(JSON.stringify(left)).not.toContain("ref_id");
});
