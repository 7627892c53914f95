import { afterEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import { openCacheModel } from "../../prompt/cache-model.ts";
import { priceListOf } from "../../prompt/prices.ts";
import type { PromptSection } from "../../prompt/sections.ts";
import { validate } from "../../wire/validate/validate.ts";
import { wires } from "../../wire/wires.ts";

const model = "claude-sonnet-4-5";
const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

async function opened(window = 200_000): Promise<Engine> {
  const settings = { contextWindow: window, contextWindowBufferTokens: 0, maxOutputTokens: 1000 };
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { anthropic: { models: { [model]: settings } } } },
  });
  open.push(plimsoll);
  return plimsoll;
}

/** Numbers that look random but are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

interface Placed {
  readonly path: string;
  readonly mark: JsonValue;
}

/** Every mark of a body with its place, in the order in which a provider reads them. */
function marksIn(body: JsonObject): readonly Placed[] {
  const found: Placed[] = [];
  const look = (value: JsonValue | undefined, path: string): void => {
    if (Array.isArray(value)) for (const [at, item] of value.entries()) look(item, `${path}/${at}`);
    if (!isObject(value)) return;
    for (const [key, field] of Object.entries(value)) {
      if (key === "cache_control") found.push({ path, mark: field ?? null });
      else look(field, `${path}/${key}`);
    }
  };
  for (const name of ["tools", "system", "messages"]) look(body[name], name);
  return found;
}

function isValid(body: JsonObject): boolean {
  const findings = validate({
    wire: "anthropic",
    model,
    body,
    bodyText: JSON.stringify(body),
    synthetic: [],
  });
  expect(findings).toEqual([]);
  return findings.length === 0;
}

function calls(turn: number, count: number): JsonObject {
  return {
    role: "assistant",
    content: Array.from({ length: count }, (_, at) => ({
      type: "tool_use",
      id: `call_${turn}_${at}`,
      name: "read",
      input: { path: `${turn}/${at}` },
    })),
  };
}

function results(turn: number, count: number, mark?: JsonObject): JsonObject {
  return {
    role: "user",
    content: Array.from({ length: count }, (_, at) => ({
      type: "tool_result",
      tool_use_id: `call_${turn}_${at}`,
      content: `the file ${turn}/${at} has ${"many ".repeat(20)}words`,
      ...(mark !== undefined && at === count - 1 ? { cache_control: mark } : {}),
    })),
  };
}

const tools = [{ name: "read", description: "reads", input_schema: { type: "object" } }];

interface Marked {
  readonly mark: JsonObject;
  readonly clientMarks?: number;
  /** Added after the results of each turn. */
  readonly behind?: JsonObject;
}

function withBlock(message: JsonObject, block: JsonObject | undefined): JsonObject {
  const content = message["content"];
  return block === undefined || !Array.isArray(content)
    ? message
    : { ...message, content: [...content, block] };
}

/** A client that marks its system prompt and the end of its conversation, as coding agents do. */
async function agentTurns(
  plimsoll: Engine,
  counts: readonly number[],
  { mark, clientMarks = 1, behind }: Marked,
): Promise<readonly { readonly original: JsonObject; readonly sent: JsonObject }[]> {
  const said: JsonObject[] = [{ role: "user", content: "Read everything, please. ".repeat(300) }];
  const turns: { original: JsonObject; sent: JsonObject }[] = [];
  for (const [turn, count] of counts.entries()) {
    const marked = withBlock(results(turn, count, mark), behind);
    const messages = turn === 0 ? [...said] : [...said, calls(turn, count), marked];
    const system = Array.from({ length: clientMarks }, (_, at) => ({
      type: "text",
      text: `Part ${at} of the prompt. ${"Be careful. ".repeat(100)}`,
      cache_control: mark,
    }));
    const original = { model, max_tokens: 1000, system, tools, messages };
    const body = new TextEncoder().encode(JSON.stringify(original));
    const hints = { clientKey: "one", isCompacted: false };
    const wire = wires.anthropic;
    const received = await plimsoll.receive({
      tenant: "t",
      provider: "anthropic",
      wire,
      body,
      hints,
    });
    const text = new TextDecoder().decode(received.body ?? body);
    turns.push({ original, sent: JSON.parse(text) as JsonObject });
    const inputTokens = received.fitted.measured.total;
    await received.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [[calls(turn + 1, counts[turn + 1] ?? 1)]],
        usage: { inputTokens, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: inputTokens },
      },
    });
    if (turn > 0) said.push(calls(turn, count), results(turn, count));
  }
  return turns;
}

describe("a client's own marks", () => {
  const mark = { type: "ephemeral" };

  test("stay as they are while the provider can look back to the last request", async () => {
    const turns = await agentTurns(await opened(), [1, 2, 3, 4, 5], { mark });
    for (const { original, sent } of turns) expect(sent).toEqual(original);
  });

  test.each([mark, { type: "ephemeral", ttl: "1h" }])(
    "get one more where the last request ended, when a turn brings many blocks",
    async (own) => {
      const turns = await agentTurns(await opened(), [1, 2, 30, 3, 25], { mark: own });
      const added = turns.map(({ original, sent }) => {
        const before = new Set(marksIn(original).map(({ path }) => path));
        expect(isValid(sent)).toBe(true);
        for (const { path } of marksIn(original))
          expect(marksIn(sent).map((placed) => placed.path)).toContain(path);
        return marksIn(sent).filter(({ path }) => !before.has(path));
      });
      expect(added.map(({ length }) => length)).toEqual([0, 0, 1, 0, 1]);
      expect(added[2]?.[0]).toEqual({ path: "messages/2/content/1", mark: own });
    },
  );

  test("of different times stay in their order", async () => {
    const [long, short] = [{ type: "ephemeral", ttl: "1h" }, { type: "ephemeral" }];
    const counts = [1, 2, 30];
    const turns = await agentTurns(await opened(), counts, {
      mark: long,
      behind: { type: "text", text: "Go on.", cache_control: short },
    });
    for (const { sent } of turns) expect(isValid(sent)).toBe(true);
    const times = marksIn(turns[2]?.sent ?? {}).map(({ mark }) => mark);
    expect(times).toEqual([long, long, long, short]);
  });

  test("are never more than four", async () => {
    const full = await agentTurns(await opened(), [1, 2, 30, 30], { mark, clientMarks: 3 });
    for (const { original, sent } of full) expect(sent).toEqual(original);
    const almost = await agentTurns(await opened(), [1, 2, 30, 30], { mark, clientMarks: 2 });
    expect(almost.map(({ sent }) => marksIn(sent).length)).toEqual([2, 3, 4, 4]);
  });

  test("let a simulated cache find the last request, which it would have missed", async () => {
    const turns = await agentTurns(await opened(), [1, 2, 30, 30], { mark });
    const readBy = (pick: (turn: (typeof turns)[number]) => JsonObject): readonly number[] => {
      const cache = openCacheModel(priceListOf("anthropic", model).cache);
      return turns.map((turn, at) => cache.take(blocksOf(pick(turn)), at).cacheRead);
    };
    const [plain, ours] = [readBy(({ original }) => original), readBy(({ sent }) => sent)];
    expect(ours[2]).toBeGreaterThan(plain[2] ?? 0);
    expect(ours[3]).toBeGreaterThan(plain[3] ?? 0);
  });
});

/** Each block of a body, counted as one token per four characters. */
function blocksOf(body: JsonObject) {
  const pieces = ["tools", "system", "messages"].flatMap((name) => {
    const list = body[name];
    const items = Array.isArray(list) ? list : [];
    return items.flatMap((item) => {
      const content = isObject(item) ? item["content"] : undefined;
      if (typeof content === "string") return [{ type: "text", text: content }];
      return name === "messages" && Array.isArray(content) ? content : [item];
    });
  });
  const textOf = (piece: JsonValue): string =>
    JSON.stringify(piece, (key, value: unknown) => (key === "cache_control" ? undefined : value));
  return {
    blocks: pieces.map((piece) => ({ key: textOf(piece), tokens: textOf(piece).length / 4 })),
    marks: pieces.flatMap((piece, block) =>
      isObject(piece) && piece["cache_control"] !== undefined ? [{ block }] : [],
    ),
  };
}

function sectionsOf(turn: number, roll: (below: number) => number): readonly PromptSection[] {
  const long = (word: string): string => `${word} `.repeat(200 + roll(20) * 100);
  const fixed = dice(7);
  const same = (word: string): string => `${word} `.repeat(200 + fixed(20) * 100);
  return [
    { name: "status", content: `turn ${turn}` },
    { name: "base", content: same("base") },
    { name: "scratchpad", content: long("scratch") },
    { name: "rules", content: same("rules") },
    { name: "memories", content: same("memory") },
    { name: "skills", content: same("skill") },
  ];
}

describe("a library session", () => {
  test.each([1, 2, 3, 4])("is marked validly, and keeps what it marked (seed %i)", async (seed) => {
    const roll = dice(seed);
    const plimsoll = await opened(30_000);
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "Read everything, please." });
    let before: string | undefined;
    for (let turn = 1; turn <= 12; turn++) {
      const prepared = await session.prepare<JsonObject>({
        target: `anthropic/${model}`,
        system: sectionsOf(turn, roll),
        tools: [{ name: "read", parameters: { type: "object" } }],
      });
      const request = JSON.parse(JSON.stringify(prepared.request)) as JsonObject;
      expect(isValid(request)).toBe(true);
      const marks = marksIn(request);
      expect(marks.length).toBeGreaterThanOrEqual(2);
      expect(marks.length).toBeLessThanOrEqual(4);
      const text = JSON.stringify(blocksOf(request).blocks.map(({ key }) => key));
      expect(text.slice(text.lastIndexOf("scratch ") - 1).includes(`turn ${turn}`)).toBe(true);
      const marked = upToLastMark(request);
      if (before !== undefined && prepared.outcome.kind === "passthrough")
        expect(text.startsWith(before)).toBe(true);
      before = marked;
      const count = 1 + roll(24);
      await session.commit({
        ...calls(turn, count),
        type: "message",
        usage: { input_tokens: 100, output_tokens: 1 },
        stop_reason: "tool_use",
      });
      await session.append(results(turn, count));
    }
  });

  test("has no marks where nobody wants any", async () => {
    const session = await (await opened()).session();
    await session.append({ role: "user", content: "word ".repeat(5000) });
    const { request } = await session.prepare<JsonObject>({
      target: `anthropic/${model}`,
      system: "prompt ".repeat(3000),
      cacheMarks: false,
    });
    expect(marksIn(JSON.parse(JSON.stringify(request)) as JsonObject)).toEqual([]);
    expect(request["system"]).toBe("prompt ".repeat(3000));
  });

  test("has none where it is too short to be cached, and none on other wires", async () => {
    const session = await (await opened()).session();
    await session.append({ role: "user", content: "Hello." });
    const short = await session.prepare<JsonObject>({
      target: `anthropic/${model}`,
      system: "Hi.",
    });
    expect(JSON.stringify(short.request)).not.toContain("cache_control");
    const other = await (await opened()).session();
    await other.append({ role: "user", content: "word ".repeat(5000) });
    const chat = await other.prepare<JsonObject>({
      target: "openai/gpt-4.1",
      system: sectionsOf(1, dice(1)),
    });
    expect(JSON.stringify(chat.request)).not.toContain("cache_control");
    const [first] = chat.request["messages"] as readonly JsonObject[];
    expect(first?.["content"]).toMatch(/^base .*rules .*memory .*skill /s);
  });

  test("counts skills apart", async () => {
    const session = await (await opened()).session();
    await session.append({ role: "user", content: "Hello." });
    const { measurement } = await session.prepare({
      target: "openai/gpt-4.1",
      system: [
        { name: "base", content: "base" },
        { name: "skills", content: "skill ".repeat(500) },
      ],
    });
    expect(measurement.skills).toBeGreaterThan(400);
    expect(measurement.system).toBeLessThan(50);
  });
});

function upToLastMark(request: JsonObject): string {
  const { blocks, marks } = blocksOf(request);
  const last = Math.max(...marks.map(({ block }) => block));
  return JSON.stringify(blocks.slice(0, last + 1).map(({ key }) => key)).slice(0, -1);
}
