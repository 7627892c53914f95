/**
 * Tools that Plimsoll answers itself, turn by turn: what a lookup gives back, a model that never stops looking, names that the
 * client has, too, requests that leave no place for ours, and the clients of every SDK.
 */
import { describe, expect, test, vi } from "vitest";
import { call, reasoning, reply, text } from "./harness/answer.ts";
import { archivistScript, CLIENTS, FINAL_TEXTS } from "./harness/clients.ts";
import { type JsonObject, objects, parseJson, type Wire } from "./harness/json.ts";
import { handlesIn, messageTexts, prefixText } from "./harness/kept.ts";
import { eventsOf } from "./harness/own-events.ts";
import { callsIn, isOwnName, resultsIn, toolNamesIn } from "./harness/own-judge.ts";
import { clientOn, type OwnClient, OwnStage, type Step } from "./harness/own-stage.ts";
import { bodyIn } from "./harness/own-talk.ts";
import { ENDS, lookUp, resultOf, told, type Way, waysOf } from "./harness/own-told.ts";
import { modelHeaders } from "./harness/raw-client.ts";
import { readAnswer } from "./harness/reading.ts";
import type { ScriptRequest } from "./harness/upstream.ts";
import {
  CONVERSATION_FIELDS,
  forbidsCalls,
  forcedChoice,
  providersAt,
  usualModels,
} from "./harness/wires.ts";

const WAYS = waysOf("streamed");

const READS_MAX = 30;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const WINDOW_TOKENS = 12_000;
const OUTPUT_TOKENS_MAX = 1_000;
const BUFFER_TOKENS = 200;

function smallWindow({ url }: { readonly url: string }): JsonObject {
  const settings = {
    contextWindow: WINDOW_TOKENS,
    maxOutputTokens: OUTPUT_TOKENS_MAX,
    contextWindowBufferTokens: BUFFER_TOKENS,
    tokenizer: "tiktoken:o200k_base",
  };
  return { providers: providersAt(url, { models: usualModels(settings) }) };
}

/** Lines that a reader can tell apart. */
function logText(name: string, count: number): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `${name} line ${index}: the gauge of tank ${(index * 7_919) % 1_000} öre reads ${index * 31}`,
  ).join("\n");
}

describe("what left the window is one call away", () => {
  const stage = new OwnStage({ config: smallWindow, window: { tokens: WINDOW_TOKENS } });

  /** Takes turns until something was taken out; gives what was read. The last call of the model is answered, too. */
  async function fill(client: OwnClient, key: string, way: Way): Promise<readonly string[]> {
    const read: string[] = [];
    client.say("Read all the logs, one after the other, please.");
    for (let number = 0; number < READS_MAX; number += 1) {
      stage.script(key, reply(call(`read_${number}`, "read_file", { path: `log-${number}` })));
      await client.ask({ isStreamed: way.isStreamed });
      if (client.headers.get("x-plimsoll-action") === "compacted") {
        client.give(`read_${number}`, "This log is empty.");
        return read;
      }
      const content = logText(`log-${number}`, 45);
      read.push(content);
      client.give(`read_${number}`, content);
    }
    throw new Error("Nothing was ever taken out.");
  }

  test.each(WAYS)("$name: by its handle, by number, by words, page by page", async (way) => {
    const { wire } = way;
    const { client, key } = clientOn(stage, { wire });
    const read = await fill(client, key, way);
    const before = stage.requestsOf(key).length;
    const [handle = ""] = handlesIn(stage.requestsOf(key).at(-1)?.body.toString() ?? "");
    expect(handle).toMatch(/^pl_/);

    const all = read.join("\n");
    const pages = ["0", "700", "1400"].map((offset) =>
      lookUp("read_result", { ref_id: handle, offset, limit: 700 }),
    );
    const grep = lookUp("read_result", { ref_id: handle, grep: "log-0 line 17:" });
    const search = lookUp("recall", { query: "log-0 line 23 gauge of tank 137" });
    const nobodys = lookUp("read_result", { ref_id: "pl_0123456789abcdefABCDEF" });
    const broken = lookUp("read_result", { offset: -1 });
    const steps: Step[] = [
      ...pages.map((page) => reply(page)),
      reply(text("Hm. "), grep, search),
      reply(nobodys, broken),
      reply(text("So it is.")),
    ];
    stage.script(key, ...steps);
    const heard = await client.ask({ isStreamed: way.isStreamed });
    expect(told(wire, heard)).toEqual({ text: "Hm. So it is.", calls: [], end: ENDS[wire] });

    const sent = stage.requestsOf(key).slice(before);
    expect(sent).toHaveLength(steps.length);
    const bodies = pages.map((page, index) => {
      const [head = "", ...lines] = resultOf(wire, sent[index + 1], page).split("\n");
      expect(head).toContain(`[${handle}, `);
      expect(head).toMatch(/next offset \d+\]$/);
      return lines.join("\n");
    });
    const joined = bodies.join("");
    const whole = joined.slice(joined.indexOf("log-"), joined.lastIndexOf("\n"));
    expect(whole.length).toBeGreaterThan(1_500);
    expect(all).toContain(whole);

    const matched = resultOf(wire, sent[4], grep);
    expect(matched).toContain(all.split("\n")[17]);
    expect(matched).toContain(all.split("\n")[16]);
    expect(matched).not.toContain("log-0 line 30:");

    const found = resultOf(wire, sent[4], search);
    expect(found).toContain(all.split("\n")[23]);
    const number = /#(\d+)/.exec(found)?.[1];
    expect(resultOf(wire, sent[5], nobodys)).toMatch(/^This handle opens nothing here\. /);
    expect(resultOf(wire, sent[5], broken)).toMatch(/`ref_id`/);

    const byNumber = lookUp("read_result", { ref_id: `#${number}`, grep: "line 23:" });
    const byBoth = lookUp("read_result", { ref_id: `${handle}#${number}`, lines: "1-2" });
    client.say("And then?");
    stage.script(key, reply(byNumber, byBoth), reply(text("That is all.")));
    await client.ask({ isStreamed: way.isStreamed });
    const last = stage.requestsOf(key).at(-1);
    expect(resultOf(wire, last, byNumber)).toContain(all.split("\n")[23]);
    expect(resultOf(wire, last, byBoth)).toContain(`[${handle}#${number}, `);
  });

  test.each(WAYS)("$name: the handle of another conversation opens nothing", async (way) => {
    const { wire } = way;
    const [mine, others] = [clientOn(stage, { wire }), clientOn(stage, { wire })];
    await fill(others.client, others.key, way);
    await fill(mine.client, mine.key, way);
    const [handle = ""] = handlesIn(stage.requestsOf(others.key).at(-1)?.body.toString() ?? "");
    const reading = lookUp("read_result", { ref_id: handle });
    stage.script(mine.key, reply(reading), reply(text("No.")));
    await mine.client.ask({ isStreamed: way.isStreamed });
    const result = resultOf(wire, stage.requestsOf(mine.key).at(-1), reading);
    expect(result).toMatch(/^This handle opens nothing here\. /);
  });

  test.each(WAYS)("$name: compact_context makes room in the middle of a turn", async (way) => {
    const { wire } = way;
    const { client, key } = clientOn(stage, { wire });
    await fill(client, key, way);
    const compact = lookUp("compact_context", {});
    stage.script(key, reply(text("First some room. "), compact), reply(text("Done.")));
    const heard = await client.ask({ isStreamed: way.isStreamed });
    expect(told(wire, heard).text).toBe("First some room. Done.");
    const result = resultOf(wire, stage.requestsOf(key).at(-1), compact);
    expect(result).toMatch(/^(?:Compacted: \d+ → \d+ tokens|Nothing was removed)/);
  });

  test.each(WAYS)(
    "$name: a model that talks between its lookups never fills the window",
    async (way) => {
      const { wire, isStreamed } = way;
      const { client, key } = clientOn(stage, { wire });
      await fill(client, key, way);
      const nearlyFull = WINDOW_TOKENS - OUTPUT_TOKENS_MAX - BUFFER_TOKENS - 1_500;
      let tokens = 0;
      for (let number = 0; number < READS_MAX && tokens < nearlyFull; number += 1) {
        stage.script(key, reply(call(`more_${number}`, "read_file", { path: `more-${number}` })));
        await client.ask({ isStreamed });
        tokens = Number(client.headers.get("x-plimsoll-tokens")?.split(";")[1]);
        client.give(`more_${number}`, logText(`more-${number}`, 12));
      }
      expect(tokens).toBeGreaterThan(nearlyFull);
      const words = "The gauge of the tank reads so much, and the tide is out. ".repeat(30);
      const talking = Array.from({ length: 8 }, () =>
        reply(text(words), lookUp("recall", { query: "gauge of tank 137" })),
      );
      stage.script(key, ...talking, reply(text("So it is.")));
      const heard = await client.ask({ isStreamed });
      expect(told(wire, heard)).toEqual({
        text: `${words.repeat(8)}So it is.`,
        calls: [],
        end: ENDS[wire],
      });
      expect(stage.upstream.refusals).toEqual({ overflow: 0, invalid: [] });
    },
  );

  test("gemini: a lookup in a stream that is a JSON array", async () => {
    const { client, key } = clientOn(stage, { wire: "gemini" });
    await fill(client, key, { name: "", wire: "gemini", isStreamed: true });
    stage.script(
      key,
      reply(text("One ", "moment. "), lookUp("recall", { query: "gauge of tank 137" })),
      reply(text("So ", "it is.")),
    );
    const { model, ...body } = client.body();
    const path = `/v1beta/models/${String(model)}:streamGenerateContent`;
    const response = await fetch(`${stage.service.url}${path}`, {
      method: "POST",
      headers: modelHeaders("gemini", key),
      body: JSON.stringify(body),
    });
    const answer = await response.text();
    const { isComplete, message } = readAnswer("gemini", answer);
    expect(isComplete).toBe(true);
    const pieces = JSON.parse(answer) as JsonObject[];
    const ends = pieces.filter((piece) => JSON.stringify(piece).includes('"finishReason"'));
    expect(ends).toEqual([pieces.at(-1)]);
    const said = objects<{ readonly text?: unknown }>(message["parts"]).map((part) => part.text);
    expect(said.join("")).toBe("One moment. So it is.");
    expect(
      stage
        .requestsOf(key)
        .slice(-2)
        .map((request) => request.path),
    ).toEqual([path, path]);
  });

  test("nothing of it was refused", () => {
    expect(stage.upstream.refusals).toEqual({ overflow: 0, invalid: [] });
  });
});

describe("a model that never stops looking", () => {
  const stage = new OwnStage();
  const ROUNDS_MAX = 9;

  /** Looks up for ever; obeys when it may call nothing, or does not. */
  function stubborn(isObedient: boolean): Step {
    return ({ body }) =>
      isObedient && forbidsCalls(body)
        ? reply(text("Enough."))
        : reply(text("More. "), lookUp("recall", { query: "tides" }));
  }

  test.each(WAYS.flatMap((way) => [true, false].map((isObedient) => ({ ...way, isObedient }))))(
    "$name, obedient: $isObedient: is asked nine times at most, and the client gets an end",
    async ({ wire, isStreamed, isObedient }) => {
      const { client, key } = clientOn(stage, { wire });
      client.say("What do the tides do?");
      stage.script(key, ...Array.from({ length: 20 }, () => stubborn(isObedient)));
      const heard = await client.ask({ isStreamed });
      const sent = stage.requestsOf(key).map(bodyIn);
      expect(sent).toHaveLength(ROUNDS_MAX);
      expect(sent.map(forbidsCalls)).toEqual([...Array(ROUNDS_MAX - 1).fill(false), true]);
      expect(told(wire, heard)).toEqual({
        text: `${"More. ".repeat(ROUNDS_MAX - 1)}${isObedient ? "Enough." : "More. "}`,
        calls: [],
        end: ENDS[wire],
      });
      client.say("And now?");
      stage.script(key, reply(text("Ebb.")));
      expect(told(wire, await client.ask({ isStreamed })).text).toBe("Ebb.");
      expect(stage.upstream.refusals.invalid).toEqual([]);
    },
  );

  test.each(WAYS)("$name: its rounds share one connection", async ({ wire, isStreamed }) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("What do the tides do?");
    const before = stage.upstream.connectionsCount;
    // The end of a stream may come a little after its last event.
    const lookups = Array.from({ length: 6 }, () => ({
      ...reply(lookUp("recall", { query: "tides" })),
      delayBetweenEventsMs: 5,
    }));
    stage.script(key, ...lookups, reply(text("They come.")));
    await client.ask({ isStreamed });
    expect(stage.requestsOf(key)).toHaveLength(7);
    expect(stage.upstream.connectionsCount - before).toBeLessThanOrEqual(1);
  });

  test.each(WAYS)("$name: many calls at once are all answered", async ({ wire, isStreamed }) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("What do the tides do?");
    const lookups = Array.from({ length: 20 }, () => lookUp("recall", { query: "tides" }));
    stage.script(key, reply(...lookups), reply(text("They come.")));
    expect(told(wire, await client.ask({ isStreamed })).text).toBe("They come.");
    const last = stage.requestsOf(key).at(-1);
    for (const lookup of lookups) expect(resultOf(wire, last, lookup)).toMatch(/./);
    expect(stage.upstream.refusals.invalid).toEqual([]);
  });
});

describe("names and requests that leave no place for ours", () => {
  const stage = new OwnStage();

  /** A turn with a lookup, and one in which the client's own call stands beside ours. */
  async function lookTwice(
    client: OwnClient,
    key: string,
    { wire, isStreamed }: Way,
  ): Promise<void> {
    client.say("Look it up.");
    stage.script(
      key,
      reply(...thoughtOf(wire), text("One moment. "), lookUp("recall", { query: "tides" })),
      reply(text("It is so.")),
    );
    await client.ask({ isStreamed });
    client.say("Read it, too.");
    stage.script(
      key,
      reply(lookUp("recall", { query: "moon" }), call(`read_${key}`, "read_file", { path: "a" })),
    );
    await client.ask({ isStreamed });
    client.give(`read_${key}`, "The moon is full.");
  }

  test.each(WAYS)(
    "$name: a client's own recall stays the client's",
    async ({ wire, isStreamed }) => {
      const { client, key } = clientOn(stage, { wire, toolNames: ["read_file", "recall"] });
      client.say("Recall it.");
      const ours = lookUp("plimsoll_recall", { query: "tides" });
      const theirs = call(`theirs_${key}`, "recall", { path: "b" });
      stage.script(key, reply(ours, theirs));
      const heard = await client.ask({ isStreamed });
      expect(told(wire, heard).calls).toEqual(["recall"]);
      client.give(theirs.id, "What the client remembers.");
      stage.script(key, reply(text("I see.")));
      await client.ask({ isStreamed });
      const [first, second] = stage.requestsOf(key).map(bodyIn);
      expect(toolNamesIn(wire, first ?? {})).toEqual([
        "read_file",
        "recall",
        "plimsoll_read_result",
        "plimsoll_recall",
        "plimsoll_compact_context",
      ]);
      const results = resultsIn(wire, second ?? {});
      expect(results.find(({ id }) => id === theirs.id)?.text).toBe("What the client remembers.");
      expect(results.find(({ id }) => id === ours.id)?.text).toMatch(/./);
      expect(stage.upstream.refusals.invalid).toEqual([]);
      const session = client.headers.get("x-plimsoll-session") ?? "";
      await eventsOf(stage.service, session, {
        limitMs: 5_000,
        isEnough: (seen) => seen.some(({ type }) => type === "own-tools-renamed"),
      });
    },
  );

  const FORCED: Readonly<Record<Wire, readonly JsonObject[]>> = {
    anthropic: [
      { tool_choice: { type: "tool", name: "read_file" } },
      { tool_choice: { type: "any" } },
    ],
    "openai-chat": [
      { tool_choice: "required" },
      { tool_choice: { type: "function", function: { name: "read_file" } } },
      { n: 2 },
    ],
    "openai-responses": [
      { tool_choice: "required" },
      { tool_choice: { type: "function", name: "read_file" } },
    ],
    gemini: [
      forcedChoice("gemini", "read_file"),
      { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
    ],
  };

  test.each(
    WAYS.flatMap((way) => [
      { ...way, what: "no tools", asking: { toolNames: [] } },
      ...FORCED[way.wire].map((fields) => ({
        ...way,
        what: JSON.stringify(fields),
        asking: { fields },
      })),
    ]),
  )("$name: with $what there is none of ours, though there were lookups before", async (way) => {
    const { wire, isStreamed, asking } = way;
    const { client, key } = clientOn(stage, { wire });
    await lookTwice(client, key, way);
    const before = stage.upstream.refusals.invalid.length;
    stage.script(key, reply(text("As you say.")));
    expect(told(wire, await client.ask({ isStreamed, ...asking })).text).toBe("As you say.");
    const sent = bodyIn(stage.requestsOf(key).at(-1) ?? { body: Buffer.from("{}") });
    expect(toolNamesIn(wire, sent).filter(isOwnName)).toEqual([]);
    expect(stage.upstream.refusals.invalid.slice(before)).toEqual([]);
    client.say("Now with everything.");
    stage.script(key, reply(text("Gladly.")));
    await client.ask({ isStreamed });
    const after = bodyIn(stage.requestsOf(key).at(-1) ?? { body: Buffer.from("{}") });
    expect(toolNamesIn(wire, after).filter(isOwnName)).toHaveLength(3);
    expect(stage.upstream.refusals.invalid.slice(before)).toEqual([]);
  });

  test.each(WAYS)(
    "$name: after a restart the lookups stand there in the same bytes",
    async (way) => {
      const { wire, isStreamed } = way;
      const { client, key } = clientOn(stage, { wire });
      await lookTwice(client, key, way);
      stage.script(key, reply(lookUp("recall", { query: "tides" })), reply(text("Flood.")));
      await client.ask({ isStreamed });
      const before = stage.requestsOf(key).at(-1)?.body.toString() ?? "";
      await stage.restart();
      client.say("And now?");
      stage.script(key, reply(text("Ebb.")));
      await client.ask({ isStreamed });
      const after = stage.requestsOf(key).at(-1)?.body.toString() ?? "";
      const count = messageTexts(wire, before).length;
      expect(prefixText(wire, after, count)).toBe(prefixText(wire, before, count));
      expect(
        callsIn(wire, parseJson(after) as JsonObject).filter(({ name }) => isOwnName(name)),
      ).toHaveLength(3);
    },
  );

  test("anthropic: cache marks that move with every turn stay valid", async () => {
    const { client, key } = clientOn(stage, { wire: "anthropic" });
    const before = stage.upstream.refusals.invalid.length;
    const mark = { cache_control: { type: "ephemeral" } };
    for (let turn = 0; turn < 5; turn += 1) {
      const question = { type: "text", text: `Question ${turn}` };
      client.messages.push({ role: "user", content: [{ ...question, ...mark }] });
      stage.script(
        key,
        reply(text("Hm. "), lookUp("recall", { query: "tides" })),
        reply(text(`Answer ${turn}.`)),
      );
      await client.ask({ isStreamed: turn % 2 === 0 });
      // The mark moves on to the next question.
      client.messages.splice(-2, 1, { role: "user", content: [question] });
    }
    expect(stage.upstream.refusals.invalid.slice(before)).toEqual([]);
    const bodies = stage.requestsOf(key).map(({ body }) => body.toString());
    expect(bodies).toHaveLength(10);
    for (const body of bodies) expect(body.match(/"cache_control"/g)).toHaveLength(1);
  });

  test.each(WAYS.filter(({ wire }) => wire !== "openai-chat"))(
    "$name: an answer of which only thoughts are left can be sent back",
    async ({ wire, isStreamed }) => {
      const { client, key } = clientOn(stage, { wire });
      const before = stage.upstream.refusals.invalid.length;
      client.say("Look it up.");
      stage.script(key, reply(text("Hm.")));
      await client.ask({ isStreamed });
      client.say("Again.");
      stage.script(
        key,
        reply(text("Well. "), lookUp("recall", { query: "tides" })),
        reply(...thoughtOf(wire), lookUp("recall", { query: "moon" })),
        reply(),
      );
      await client.ask({ isStreamed });
      client.say("So?");
      stage.script(key, reply(text("I do not know.")));
      await client.ask({ isStreamed, toolNames: [] });
      expect(stage.upstream.refusals.invalid.slice(before)).toEqual([]);
    },
  );
});

let thoughtsCount = 0;
function thoughtOf(wire: Wire): readonly ReturnType<typeof reasoning>[] {
  return wire === "openai-chat"
    ? []
    : [reasoning(`c2lnbmVk${++thoughtsCount}`, `Thought ${thoughtsCount}.`)];
}

describe("clients of every SDK", () => {
  const stage = new OwnStage();

  /** Looks something up before each step of the archivist, and beside its first calls. */
  function looking(key: string): Step[] {
    const spokenSteps = [0, 1, 2, 3, 4];
    return spokenSteps.flatMap((step) => {
      const said: Step = (request) => {
        const whole = archivistScript(withAnswers(request, step));
        const isMixed = step === 0 || step === 3;
        return isMixed
          ? { ...whole, parts: [...whole.parts, lookUp("recall", { query: key })] }
          : whole;
      };
      return step % 2 === 0 ? [reply(lookUp("recall", { query: `${key} ${step}` })), said] : [said];
    });
  }

  /** The archivist goes by how often it has spoken. */
  function withAnswers({ wire, ...request }: ScriptRequest, count: number): ScriptRequest {
    const answers = Array.from({ length: count }, () => [
      { role: "assistant", content: "" },
      { role: "user", content: "" },
    ]).flat();
    return { ...request, wire, body: { [CONVERSATION_FIELDS[wire]]: answers } };
  }

  test.each(CLIENTS)("$name reaches both final texts", async ({ name, converse }) => {
    const key = `key-of-${name.replaceAll(/\W/g, "-")}`;
    stage.script(key, ...looking(key));
    expect(await converse({ baseUrl: stage.service.url, apiKey: key, fetch })).toEqual(FINAL_TEXTS);
    expect(stage.upstream.refusals.invalid).toEqual([]);
    expect(stage.requestsOf(key)).toHaveLength(8);
  });
});
