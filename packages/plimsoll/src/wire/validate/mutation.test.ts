import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Dice, diceOf } from "../../../demo/dice.ts";
import type { RuleInput, ValidatedWire } from "./rules/rule.ts";
import { newViolations, rules, validate } from "./validate.ts";

/** Number of mutants per rule. Each is a valid body, made longer by random turns, with one violation added. */
const mutantsPerRule = 50;
/** A mutator may find no place in a body. If it finds none in this many bodies, the mutator itself is wrong. */
const mostAttempts = 20_000;

interface Part {
  [key: string]: unknown;
}
interface Message extends Part {
  role: string;
}
interface Subject {
  wire: ValidatedWire;
  body: Part;
  original?: Part;
  previousOriginal?: Part;
  previousSent?: Part;
  headers?: Record<string, string>;
  originalHeaders?: Record<string, string>;
  model?: string;
  profile?: "openai" | "mistral" | "deepseek" | "strict-alternation";
  synthetic?: string[];
}

/** Gives the same numbers in every run. */
class Random {
  readonly #dice: Dice;
  constructor(seed: number) {
    this.#dice = diceOf(seed);
  }
  below(limit: number): number {
    return Math.floor(this.#dice() * limit);
  }
  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length || 1)];
  }
  word(): string {
    return `w${this.below(2 ** 30).toString(36)}`;
  }
  one<T>(first: T, ...rest: T[]): T {
    return this.pick([first, ...rest]) ?? first;
  }
}

/** Adds one violation to the subject. Returns false if there is no place for it. */
type Mutate = (subject: Subject, random: Random) => boolean;

const listKey = {
  anthropic: "messages",
  "openai-chat": "messages",
  "openai-responses": "input",
  gemini: "contents",
};
const clone = <T>(value: T): T => structuredClone(value);
const messagesOf = (wire: ValidatedWire, body: Part): Message[] => {
  const list = body[listKey[wire]];
  return Array.isArray(list) ? (list as Message[]) : [];
};
const partsOf = (message: Part): Part[] => {
  const list = message["content"] ?? message["parts"];
  return Array.isArray(list) ? (list as Part[]) : [];
};
/** The blocks of an Anthropic message. A string becomes a block. */
function blocksOf(message: Part): Part[] {
  if (typeof message["content"] === "string")
    message["content"] = [{ type: "text", text: message["content"] }];
  return partsOf(message);
}
const listOf = (value: unknown): Part[] => (Array.isArray(value) ? (value as Part[]) : []);

// --- random turns -------------------------------------------------------------------------------

type Turns = (random: Random) => Part[];
const says = (random: Random) => `${random.word()} ${random.word()}`;

const turnsOf: Record<ValidatedWire, Turns[]> = {
  anthropic: [
    (r) => [
      { role: "user", content: says(r) },
      { role: "assistant", content: [{ type: "text", text: says(r) }] },
    ],
    (r) => {
      const id = `toolu_${r.word()}`;
      return [
        { role: "user", content: [{ type: "text", text: says(r) }] },
        {
          role: "assistant",
          content: [{ type: "tool_use", id, name: "f", input: { path: r.word() } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: says(r) }] },
        { role: "assistant", content: says(r) },
      ];
    },
    (r) => [
      { role: "user", content: says(r) },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: says(r), signature: r.word() },
          { type: "text", text: says(r) },
        ],
      },
    ],
  ],
  "openai-chat": [
    (r) => [
      { role: "user", content: says(r) },
      { role: "assistant", content: says(r) },
    ],
    (r) => {
      const id = `call_${r.word()}`;
      const call = { name: "f", arguments: `{"path": "${r.word()}", "n":1.0}` };
      return [
        { role: "user", content: says(r) },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: call }],
        },
        { role: "tool", tool_call_id: id, content: says(r) },
        { role: "assistant", content: says(r) },
      ];
    },
  ],
  "openai-responses": [
    (r) => [
      { type: "message", role: "user", content: [{ type: "input_text", text: says(r) }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: says(r) }] },
    ],
    (r) => {
      const call = r.word();
      return [
        { type: "message", role: "user", content: [{ type: "input_text", text: says(r) }] },
        { type: "reasoning", id: `rs_${call}`, summary: [], encrypted_content: r.word() },
        { type: "function_call", id: `fc_${call}`, call_id: call, name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: call, output: says(r) },
      ];
    },
    (r) => {
      const call = r.word();
      return [
        { type: "message", role: "user", content: [{ type: "input_text", text: says(r) }] },
        { type: "custom_tool_call", call_id: call, name: "f", input: says(r) },
        { type: "custom_tool_call_output", call_id: call, output: says(r) },
      ];
    },
  ],
  gemini: [
    (r) => [
      { role: "user", parts: [{ text: says(r) }] },
      { role: "model", parts: [{ text: says(r) }] },
    ],
    (r) => [
      { role: "user", parts: [{ text: says(r) }] },
      { role: "model", parts: [{ functionCall: { name: "read", args: { path: r.word() } } }] },
      {
        role: "user",
        parts: [{ functionResponse: { name: "read", response: { output: r.word() } } }],
      },
      { role: "model", parts: [{ text: says(r), thoughtSignature: r.word() }] },
    ],
  ],
};

function someTurns(wire: ValidatedWire, random: Random): Part[] {
  const count = 1 + random.below(4);
  return Array.from({ length: count }).flatMap(() => random.pick(turnsOf[wire])?.(random) ?? []);
}

const valid: Record<ValidatedWire, Subject[]> = {
  anthropic: [],
  "openai-chat": [],
  "openai-responses": [],
  gemini: [],
};
for (const wire of ["anthropic", "openai-chat", "openai-responses", "gemini"] as const) {
  const file = new URL(`../../../test/wire-fixtures/${wire}/valid.ndjson`, import.meta.url);
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const row = JSON.parse(line) as Subject & Part;
    const isPlain = row["recipe"] === undefined && row["bodyRaw"] === undefined;
    const { body, headers, model } = row;
    if (isPlain && Array.isArray(body[listKey[wire]]))
      valid[wire].push({ wire, body, ...(headers && { headers }), ...(model && { model }) });
  }
}

/** A valid body with random turns in front. */
function subjectOf(wire: ValidatedWire, random: Random): Subject {
  const subject = clone(random.pick(valid[wire]) ?? { wire, body: {} });
  putInFront(subject, someTurns(wire, random));
  return subject;
}

/** Returns the index at which the turns begin. */
function putInFront({ wire, body }: Subject, turns: readonly Part[]): number {
  const messages = messagesOf(wire, body);
  const start = ["system", "developer"].includes(messages[0]?.role ?? "") ? 1 : 0;
  messages.splice(start, 0, ...(turns as Message[]));
  return start;
}

// --- pieces of mutators -------------------------------------------------------------------------

/** A random message that fits, or undefined if there is none. */
function messageWhere(
  { wire, body }: Subject,
  random: Random,
  fits: (message: Message, index: number, all: Message[]) => boolean,
): Message | undefined {
  return random.pick(messagesOf(wire, body).filter(fits));
}

function blockWhere(
  subject: Subject,
  random: Random,
  type: string,
): { message: Message; block: Part; blocks: Part[] } | undefined {
  const found = messagesOf(subject.wire, subject.body).flatMap((message) =>
    partsOf(message)
      .filter((part) => part["type"] === type)
      .map((block) => ({ message, block, blocks: partsOf(message) })),
  );
  return random.pick(found);
}

function remove<T>(list: T[], item: T | undefined): boolean {
  const index = item === undefined ? -1 : list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
  return index >= 0;
}

function setKey(part: Part | undefined, key: string, value: unknown): boolean {
  if (part !== undefined) part[key] = value;
  return part !== undefined;
}

function insert(list: unknown[], index: number, item: unknown): boolean {
  list.splice(index, 0, item);
  return true;
}

const image =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
const isUser = (message: Message) => message.role === "user";
const isAssistant = (message: Message) => message.role === "assistant";
const tool = (name: string, more: Part = {}) => ({
  name,
  input_schema: { type: "object" },
  ...more,
});

/** Ends an Anthropic conversation with a tool loop in which the model thinks at every step. */
function openLoop(subject: Subject, random: Random, thinking: () => string): Message[] {
  const messages = messagesOf("anthropic", subject.body);
  const last = messages.at(-1)?.role;
  if (last === "system") messages.pop();
  if (messages.at(-1)?.role === "user") messages.push({ role: "assistant", content: says(random) });
  messages.push({ role: "user", content: says(random) });
  const steps: Message[] = [];
  for (let step = 0; step <= random.below(3); step += 1) {
    const id = `toolu_${random.word()}`;
    const thought = { type: "thinking", thinking: thinking(), signature: random.word() };
    const call = { type: "tool_use", id, name: "f", input: {} };
    steps.push({ role: "assistant", content: [thought, call] });
    const result = { type: "tool_result", tool_use_id: id, content: says(random) };
    messages.push(steps.at(-1) ?? { role: "user" }, { role: "user", content: [result] });
  }
  return steps;
}

/** Makes the body before the mutation the client's body. */
const keepOriginal = (subject: Subject) => {
  subject.original = clone(subject.body);
};

/** The last request had this body, and the client then added a turn. */
function secondTurn(subject: Subject, random: Random): void {
  subject.previousOriginal = clone(subject.body);
  subject.previousSent = clone(subject.body);
  const more = random.pick(turnsOf[subject.wire])?.(random) ?? [];
  messagesOf(subject.wire, subject.body).push(...(more as Message[]));
  keepOriginal(subject);
}

// --- Anthropic ----------------------------------------------------------------------------------

const anthropic: Record<string, Mutate> = {
  A1: ({ body }, random) => {
    const messages = messagesOf("anthropic", body);
    const way = random.below(8);
    if (way === 0) delete body["messages"];
    else if (way === 1) messages.length = 0;
    else messages.splice(0, messages.findIndex(isAssistant));
    return true;
  },
  A2: ({ body }, random) => {
    const messages = messagesOf("anthropic", body);
    const index = random.below(messages.length);
    const role = messages[index]?.role;
    return role !== "system" && insert(messages, index + 1, { role, content: says(random) });
  },
  A3: (subject, random) => {
    const found = blockWhere(subject, random, "tool_result");
    if (found === undefined) return false;
    if (random.below(2) === 0) return setKey(found.block, "tool_use_id", random.word());
    return remove(found.blocks, found.block);
  },
  A4: (subject, random) => {
    const message = messageWhere(subject, random, isUser);
    const old = blockWhere(subject, random, "tool_result");
    if (old !== undefined && random.below(2) === 0) return insert(old.blocks, 0, clone(old.block));
    const result = { type: "tool_result", tool_use_id: `toolu_${random.word()}`, content: "ok" };
    return message !== undefined && insert(blocksOf(message), 0, result);
  },
  A5: (subject, random) => {
    const found = blockWhere(subject, random, "tool_result");
    const block = random.one<Part>(
      { type: "text", text: says(random) },
      { type: "image", source: { type: "url", url: `https://example.com/${random.word()}` } },
    );
    return found !== undefined && insert(found.blocks, 0, block);
  },
  A6: (subject, random) => {
    const one = blockWhere(subject, random, "tool_use");
    const other = blockWhere(subject, random, "tool_use");
    if (one === undefined || other === undefined) return false;
    if (one.block !== other.block) return setKey(one.block, "id", other.block["id"]);
    return setKey(one.block, "id", `${random.word()}${random.one(".", ":", " ", "é", "/")}`);
  },
  A7: ({ body }, random) => {
    const bad = random.one(
      `${random.word()}.x`,
      "n".repeat(129 + random.below(50)),
      "",
      `é${random.word()}`,
    );
    body["tools"] = [...listOf(body["tools"]), tool(bad), tool(random.word())];
    return true;
  },
  A8: (subject, random) => {
    const found = blockWhere(subject, random, "thinking");
    const isFinished = found?.blocks.every((block) => block["type"] !== "tool_use");
    if (found === undefined || !isFinished) return false;
    if (random.below(3) === 0) return delete found.block["signature"];
    keepOriginal(subject);
    return setKey(found.block, random.one("thinking", "signature"), random.word());
  },
  A9: (subject, random) => {
    const step = random.pick(openLoop(subject, random, () => says(random)));
    keepOriginal(subject);
    const [thought] = partsOf(step ?? {});
    const way = random.below(3);
    if (way === 0) return remove(partsOf(step ?? {}), thought);
    if (way === 1) return setKey(thought, "thinking", ` ${thought?.["thinking"]}`);
    return insert(partsOf(step ?? {}), 0, {
      type: "thinking",
      thinking: "x",
      signature: random.word(),
    });
  },
  A10: (subject, random) => {
    const [first] = openLoop(subject, random, () => says(random));
    subject.body["thinking"] = { type: "enabled", budget_tokens: 1024 + random.below(1000) };
    Object.assign(subject.body, { model: "claude-sonnet-4-5", max_tokens: 4000 });
    const parts = partsOf(first ?? {});
    if (random.below(2) === 0) return insert(parts, 0, { type: "text", text: says(random) });
    return remove(parts, parts[0]);
  },
  A11: (subject, random) => {
    const step = random.pick(openLoop(subject, random, () => ""));
    keepOriginal(subject);
    const parts = partsOf(step ?? {});
    if (random.below(2) === 0) return remove(parts, parts[0]);
    return setKey(parts[0], "thinking", random.word());
  },
  A12: (subject, random) => {
    const { body } = subject;
    delete subject.headers;
    const way = random.below(6);
    const budget_tokens = 2000 + random.below(50_000);
    if (way === 0) body["thinking"] = { type: "enabled", budget_tokens: random.below(1024) };
    if (way === 1) body["thinking"] = { type: "adaptive" };
    if (way === 2) body["thinking"] = { type: "enabled", budget_tokens };
    if (way <= 2) body["model"] = "claude-sonnet-4-5";
    if (way <= 2) body["max_tokens"] = budget_tokens - random.below(900);
    if (way === 3) Object.assign(body, { model: "claude-fable-5", thinking: { type: "disabled" } });
    if (way === 4)
      Object.assign(body, { model: "claude-opus-4-7", top_p: random.below(100) / 100 });
    if (way === 5)
      Object.assign(body, {
        model: "claude-opus-4-8",
        thinking: { type: "enabled", budget_tokens },
      });
    return true;
  },
  A13: (subject, random) => {
    const blank = random.one("", " ", "\n\t", "   ");
    const system = subject.body["system"];
    if (Array.isArray(system) && random.below(3) === 0)
      return insert(system, system.length, { type: "text", text: blank });
    const text = blockWhere(subject, random, "text");
    if (text !== undefined && random.below(2) === 0) return setKey(text.block, "text", blank);
    return setKey(messageWhere(subject, random, isUser), "content", random.one<unknown>(blank, []));
  },
  A14: (subject, random) => {
    const message = messageWhere(subject, random, isUser);
    const mark = { type: "ephemeral", ttl: random.one("5m", "1h") };
    const block = { type: "text", text: "", cache_control: mark };
    return message !== undefined && insert(blocksOf(message), blocksOf(message).length, block);
  },
  A15: (subject, random) => {
    const mark = { type: "ephemeral" };
    const thought = blockWhere(subject, random, "thinking");
    if (thought !== undefined && random.below(2) === 0)
      return setKey(thought.block, "cache_control", mark);
    for (let count = 0; count <= 4; count += 1) {
      const message = messageWhere(subject, random, isUser);
      if (message === undefined) return false;
      blocksOf(message).push({ type: "text", text: says(random), cache_control: mark });
    }
    return true;
  },
  A16: (subject, random) => {
    const mark = (ttl: string) => ({ type: "ephemeral", ttl });
    const first = { type: "text", text: says(random), cache_control: mark("5m") };
    const last = { type: "text", text: says(random), cache_control: mark("1h") };
    const message = messageWhere(subject, random, isUser);
    if (message === undefined) return false;
    if (random.below(2) === 0) blocksOf(message).push(first);
    else subject.body["system"] = [...listOf(subject.body["system"]), first];
    blocksOf(message).push(last);
    return true;
  },
  A19: ({ body }, random) => {
    const messages = messagesOf("anthropic", body);
    const way = random.below(4);
    const system: Part = { role: "system", content: says(random) };
    body["model"] = way === 0 ? "claude-sonnet-4-5" : "claude-opus-4-8";
    if (way === 1) return insert(messages, 0, system);
    if (way === 2)
      system["content"] = [{ type: "image", source: { type: "url", url: random.word() } }];
    const users = messages.filter((item, index) => isUser(item) && (way !== 3 || index > 0));
    const at = messages.indexOf(random.pick(users) ?? { role: "" });
    return at >= 0 && insert(messages, way === 3 ? at : at + 1, system);
  },
  A20: ({ body }, random) => {
    body["model"] = random.one(
      "claude-opus-4-6",
      "claude-sonnet-4-6",
      "claude-fable-5",
      "claude-opus-4-8",
    );
    const content = random.one<unknown>(says(random), [{ type: "text", text: says(random) }]);
    messagesOf("anthropic", body).push({ role: "assistant", content });
    return true;
  },
  A21: (subject, random) => {
    const kept = blockWhere(subject, random, "web_search_tool_result");
    const result = listOf(kept?.block["content"])[0];
    keepOriginal(subject);
    if (result !== undefined) return setKey(result, "encrypted_content", random.word());
    const message = messageWhere(subject, random, isAssistant);
    const type = random.one("web_search_tool_result", "advisor_tool_result", "mcp_tool_result");
    const block = { type, tool_use_id: random.word(), content: [] };
    return message !== undefined && insert(blocksOf(message), 0, block);
  },
  A22: (subject, random) => {
    const message = messageWhere(subject, random, isAssistant);
    if (message === undefined) return false;
    const block = { type: "compaction", content: says(random), encrypted_content: random.word() };
    blocksOf(message).unshift(block);
    if (random.below(2) === 0) subject.headers = { "anthropic-version": "2023-06-01" };
    else subject.headers = { "anthropic-beta": "compact-2026-01-12" };
    keepOriginal(subject);
    if (subject.headers["anthropic-beta"] === undefined) return true;
    if (random.below(2) === 0 && blocksOf(message).length > 1)
      return remove(blocksOf(message), block);
    return setKey(block, "encrypted_content", random.word());
  },
  A23: (subject, random) => {
    const { body } = subject;
    const deferred = { defer_loading: true };
    const way = random.below(3);
    const search = { type: "tool_search_tool_bm25_20251119", name: random.word(), ...deferred };
    if (way === 0) body["tools"] = [tool(random.word(), deferred), tool(random.word(), deferred)];
    if (way === 1) body["tools"] = [...listOf(body["tools"]), search];
    if (way < 2) return true;
    body["tools"] = [tool("f")];
    const found = blockWhere(subject, random, "tool_result");
    return setKey(found?.block, "content", [{ type: "tool_reference", tool_name: random.word() }]);
  },
  A24: (subject, random) => {
    subject.headers = { "anthropic-version": "2023-06-01", "anthropic-beta": random.word() };
    subject.body[random.one("context_management", "mcp_servers", "fallbacks")] = [
      { a: random.word() },
    ];
    return true;
  },
  A25: (subject, random) => {
    const message = messageWhere(subject, random, isUser);
    const header = Buffer.from(image, "base64");
    header.writeUInt32BE(8001 + random.below(1000), random.one(16, 20));
    const source = random.one<Part>(
      { type: "base64", media_type: `image/${random.word()}`, data: image },
      { type: "base64", media_type: "image/png", data: header.toString("base64") },
    );
    return message !== undefined && blocksOf(message).push({ type: "image", source }) > 0;
  },
  A27: (subject, random) => {
    const text = `x-anthropic-billing-header: cc_version=${random.word()};`;
    const system = [
      { type: "text", text },
      { type: "text", text: says(random) },
    ];
    subject.body["system"] = system;
    keepOriginal(subject);
    const way = random.below(3);
    if (way === 0) system.reverse();
    if (way === 1) system.shift();
    if (way === 2) return setKey(system[0], "text", text.slice(0, -1 - random.below(3)));
    return true;
  },
};

// --- OpenAI Chat --------------------------------------------------------------------------------

const isTool = (message: Message) => message.role === "tool";
const hasCalls = (message: Message) => listOf(message["tool_calls"]).length > 0;
const callOf = (message: Message | undefined) => listOf(message?.["tool_calls"])[0];
const functionOf = (message: Message | undefined) =>
  callOf(message)?.["function"] as Part | undefined;

const chat: Record<string, Mutate> = {
  C1: (subject, random) => {
    const answer = messageWhere(subject, random, isTool);
    if (random.below(2) === 0) return setKey(answer, "tool_call_id", random.word());
    return remove(messagesOf(subject.wire, subject.body), answer);
  },
  C2: (subject, random) => {
    const messages = messagesOf(subject.wire, subject.body);
    const answer = { role: "tool", tool_call_id: random.word(), content: says(random) };
    return insert(messages, random.below(messages.length + 1), answer);
  },
  C3: (subject, random) => {
    const message = messageWhere(
      subject,
      random,
      (one) =>
        !isTool(one) &&
        !hasCalls(one) &&
        one["function_call"] === undefined &&
        one.role !== "function",
    );
    if (random.below(2) === 0) return setKey(message, "content", null);
    return message !== undefined && delete message["content"];
  },
  C4: (subject, random) => {
    const name = random.one(`${random.word()}.x`, "n".repeat(65 + random.below(20)), "", "a/b");
    const message = messageWhere(subject, random, hasCalls);
    if (random.below(2) === 0) return setKey(functionOf(message), "name", name);
    subject.body["tools"] = [
      ...listOf(subject.body["tools"]),
      { type: "function", function: { name } },
    ];
    return true;
  },
  C5: (subject, random) => {
    const written = functionOf(messageWhere(subject, random, hasCalls));
    keepOriginal(subject);
    const text = String(written?.["arguments"]);
    const way = random.below(3);
    if (way === 0) return setKey(written, "arguments", { path: random.word() });
    if (way === 1) return setKey(written, "arguments", `${text} `);
    return setKey(written, "arguments", `{"path":"${random.word()}"}`);
  },
  C6: (subject, random) => {
    const content = random.one<unknown>(
      null,
      { ok: random.word() },
      [{ type: "image_url", image_url: {} }],
      7,
    );
    return setKey(messageWhere(subject, random, isTool), "content", content);
  },
  C7: (subject, random) => {
    const message = messageWhere(subject, random, hasCalls);
    const many = (item: (index: number) => Part) =>
      Array.from({ length: 129 }, (_, index) => item(index));
    const way = random.below(3);
    if (way === 0) return setKey(callOf(message), "id", "c".repeat(41 + random.below(20)));
    const part = (index: number) => ({
      type: "function",
      function: { name: `t${index}`, arguments: "" },
    });
    if (way === 1) return setKey(subject.body, "tools", many(part));
    return setKey(
      message,
      "tool_calls",
      many((index) => ({ id: `${index}`, ...part(index) })),
    );
  },
  C8: (subject, random) => {
    const messages = messagesOf(subject.wire, subject.body);
    const way = random.below(4);
    subject.profile = random.one("mistral", "mistral");
    const answer = messageWhere(subject, random, isTool);
    const user = { role: "user", content: says(random) };
    if (way === 0)
      return answer !== undefined && insert(messages, messages.indexOf(answer) + 1, user);
    if (way === 1)
      return setKey(callOf(messageWhere(subject, random, hasCalls)), "id", `call_${random.word()}`);
    if (way === 2) {
      subject.profile = "strict-alternation";
      const said = messageWhere(subject, random, isUser);
      return said !== undefined && insert(messages, messages.indexOf(said), user);
    }
    subject.profile = "deepseek";
    const id = random.word();
    const call = { id, type: "function", function: { name: "f", arguments: "{}" } };
    const step: Message = {
      role: "assistant",
      reasoning_content: says(random),
      tool_calls: [call],
    };
    messages.push(user, step, { role: "tool", tool_call_id: id, content: "ok" });
    keepOriginal(subject);
    return delete step["reasoning_content"];
  },
};

// --- OpenAI Responses ---------------------------------------------------------------------------

const ofType = (type: string) => (item: Message) => item["type"] === type;

const responses: Record<string, Mutate> = {
  R1: (subject, random) => {
    const output = messageWhere(subject, random, ofType("function_call_output"));
    return (
      subject.body["previous_response_id"] === undefined &&
      remove(messagesOf(subject.wire, subject.body), output)
    );
  },
  R2: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    const output = { type: "function_call_output", call_id: random.word(), output: says(random) };
    return (
      subject.body["previous_response_id"] === undefined &&
      insert(items, random.below(items.length + 1), output)
    );
  },
  R3: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    const type = random.one(
      "custom_tool_call",
      "shell_call",
      "apply_patch_call",
      "computer_call",
      "tool_search_call",
      "custom_tool_call_output",
      "shell_call_output",
    );
    return (
      subject.body["previous_response_id"] === undefined &&
      insert(items, random.below(items.length + 1), { type, call_id: random.word() })
    );
  },
  R4: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    const user = messageWhere(subject, random, isUser);
    const at = random.below(2) === 0 || user === undefined ? items.length : items.indexOf(user);
    return insert(items, at, {
      type: "reasoning",
      id: `rs_${random.word()}`,
      summary: [],
      encrypted_content: "e",
    });
  },
  R5: (subject, random) => {
    const reasoning = messageWhere(subject, random, ofType("reasoning"));
    const items = messagesOf(subject.wire, subject.body);
    subject.body["store"] = false;
    const way = random.below(3);
    if (way === 0)
      return insert(items, random.below(items.length + 1), {
        type: "item_reference",
        id: random.word(),
      });
    if (way === 1) return setKey(reasoning, "encrypted_content", null);
    keepOriginal(subject);
    return setKey(reasoning, "encrypted_content", random.word());
  },
  R6: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    keepOriginal(subject);
    const reasoning = messageWhere(
      subject,
      random,
      (item, index) => item["type"] === "reasoning" && items[index + 1]?.["id"] !== undefined,
    );
    if (random.below(2) === 0) return remove(items, reasoning);
    return setKey(reasoning, "id", `rs_${random.word()}`);
  },
  R7: (subject, random) => {
    const key = random.one("previous_response_id", "conversation");
    if (random.below(2) === 0) {
      Object.assign(subject.body, {
        previous_response_id: random.word(),
        conversation: random.word(),
      });
      return true;
    }
    subject.original = { ...clone(subject.body), [key]: random.word() };
    delete subject.body[key];
    return true;
  },
  R8: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    const item = { type: "compaction", id: random.word(), encrypted_content: random.word() };
    insert(items, random.below(items.length + 1), item);
    const way = random.below(3);
    if (way === 0) return setKey(item, "encrypted_content", null);
    keepOriginal(subject);
    if (way === 1) return setKey(item, "encrypted_content", random.word());
    return remove(items as Part[], item);
  },
  R9: (subject, random) => {
    const { body } = subject;
    const part = partsOf(messageWhere(subject, random, isUser) ?? {})[0];
    const way = random.below(4);
    if (way === 0)
      return setKey(body, "prompt_cache_options", { ttl: random.one("1h", "5m", random.word()) });
    if (way === 1) return setKey(part, "prompt_cache_breakpoint", { mode: random.word() });
    body["prompt_cache_key"] = random.word();
    keepOriginal(subject);
    if (way === 2)
      return setKey(body, "prompt_cache_key", random.one<unknown>(random.word(), null));
    for (let count = 0; count <= 4; count += 1) {
      const content = [
        { type: "input_text", text: says(random), prompt_cache_breakpoint: { mode: "explicit" } },
      ];
      messagesOf(subject.wire, body).push({ type: "message", role: "user", content });
    }
    return true;
  },
  R10: (subject, random) => {
    const items = messagesOf(subject.wire, subject.body);
    const key = random.one("phase", "namespace", "encrypted_function_args");
    if (random.below(2) === 0) {
      const item = random.pick(items.filter((one) => one["type"] !== "reasoning"));
      setKey(item, key, random.word());
      keepOriginal(subject);
      return item !== undefined && delete item[key];
    }
    const unknown = { type: `future_${random.word()}`, data: random.below(100) };
    insert(items, random.below(items.length + 1), unknown);
    keepOriginal(subject);
    return remove(items as Part[], unknown);
  },
};

// --- Gemini -------------------------------------------------------------------------------------

const hasPart = (key: string) => (content: Message) =>
  partsOf(content).some((part) => part[key] !== undefined);

const gemini: Record<string, Mutate> = {
  G1: (subject, random) => {
    const contents = messagesOf(subject.wire, subject.body);
    const answer = messageWhere(subject, random, hasPart("functionResponse"));
    if (answer === undefined) return false;
    const way = random.below(3);
    if (way === 0) return remove(contents, answer);
    if (way === 1) return setKey(answer, "parts", [{ text: says(random) }]);
    return insert(partsOf(answer), 0, { functionResponse: { name: random.word(), response: {} } });
  },
  G2: (subject, random) => {
    const contents = messagesOf(subject.wire, subject.body);
    const call = messageWhere(subject, random, hasPart("functionCall"));
    if (call === undefined) return false;
    return insert(contents, contents.indexOf(call), {
      role: "model",
      parts: [{ text: says(random) }],
    });
  },
  G3: (subject, random) => {
    const contents = messagesOf(subject.wire, subject.body);
    subject.model = random.one("gemini-3-pro-preview", "models/gemini-3-flash", "gemini-3.1-pro");
    const step = (signature?: string): Message[] => [
      {
        role: "model",
        parts: [
          {
            functionCall: { name: random.word(), args: {} },
            ...(signature && { thoughtSignature: signature }),
          },
        ],
      },
      { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] },
    ];
    contents.push({ role: "user", parts: [{ text: says(random) }] });
    for (let count = random.below(3); count > 0; count -= 1) contents.push(...step(random.word()));
    contents.push(...step());
    return true;
  },
  G4: (subject, random) => {
    const content = messageWhere(subject, random, () => true);
    const way = random.below(4);
    if (way === 0) return setKey(content, "role", random.one("assistant", "system", random.word()));
    if (way === 1) return setKey(content, "parts", []);
    if (way === 2) return content !== undefined && partsOf(content).push({}) > 0;
    const signed = messageWhere(subject, random, hasPart("thoughtSignature"));
    keepOriginal(subject);
    const part = partsOf(signed ?? {}).find((one) => one["thoughtSignature"] !== undefined);
    return setKey(part, random.one("text", "thoughtSignature"), random.word());
  },
  G5: (subject, random) => {
    const called = messageWhere(subject, random, hasPart("functionCall"));
    if (called === undefined) return false;
    return setKey(subject.body, "tools", [{ functionDeclarations: [{ name: random.word() }] }]);
  },
};

// --- all wires ----------------------------------------------------------------------------------

/** Parts with a text, and messages that are a text. */
function texts(wire: ValidatedWire, message: Message): { holder: Part; key: string }[] {
  const parts = partsOf(message).filter((part) => typeof part["text"] === "string");
  const found = parts.map((holder) => ({ holder, key: "text" }));
  return typeof message["content"] === "string" && wire !== "gemini"
    ? [{ holder: message, key: "content" }]
    : found;
}

const crossWire: Record<string, Mutate> = {
  X1: (subject, random) => {
    secondTurn(subject, random);
    const before = messagesOf(subject.wire, subject.previousSent ?? {}).length;
    const messages = messagesOf(subject.wire, subject.body);
    const index = random.below(before);
    const message = messages[index];
    if (message === undefined) return false;
    const text = random.pick(texts(subject.wire, message));
    if (text !== undefined && random.below(2) === 0)
      return setKey(text.holder, text.key, `${text.holder[text.key]} `);
    const turned = Object.fromEntries(Object.entries(message).reverse()) as Message;
    messages[index] = turned;
    return JSON.stringify(turned) !== JSON.stringify(message);
  },
  X2: (subject, random) => {
    secondTurn(subject, random);
    const sent = messagesOf(subject.wire, subject.previousSent ?? {});
    const index = random.below(sent.length);
    const edited = texts(subject.wire, sent[index] ?? { role: "" })[0];
    const now = texts(
      subject.wire,
      messagesOf(subject.wire, subject.body)[index] ?? { role: "" },
    )[0];
    setKey(edited?.holder, edited?.key ?? "", `[stored ${random.word()}]`);
    // Half of the edited texts come back in full, and half under another name.
    if (random.below(2) === 0) setKey(now?.holder, now?.key ?? "", `[stored ${random.word()}]`);
    return edited !== undefined && now !== undefined;
  },
  X3: (subject, random) => {
    const [old, now] = [`plm_${random.word()}`, `plm_${random.word()}`];
    const ids =
      JSON.stringify(subject.body).match(/"(toolu_|call_)\w+"|(?<="call_id":)"\w+"/g) ?? [];
    const id = random.pick([...new Set(ids)]);
    if (id === undefined) return false;
    const named = (name: string) =>
      JSON.parse(JSON.stringify(subject.body).replaceAll(id, `"${name}"`)) as Part;
    subject.previousSent = named(old);
    subject.body = named(now);
    subject.synthetic = [old, now];
    return true;
  },
  X4: (subject, random) => {
    const message = messageWhere(subject, random, () => true);
    const text = random.pick(message === undefined ? [] : texts(subject.wire, message));
    const half = random.one("\ud83d", "\ude00", "\udbff");
    if (subject.wire === "anthropic" && message?.role === "user" && random.below(2) === 0) {
      const data = image.slice(0, 4 * random.below(20) + 1 + random.below(3));
      return (
        blocksOf(message).push({
          type: "image",
          source: { type: "base64", media_type: "image/png", data },
        }) > 0
      );
    }
    return setKey(text?.holder, text?.key ?? "", `${random.word()}${half}${random.one("", "x")}`);
  },
  X5: (subject, random) => {
    const messages = messagesOf(subject.wire, subject.body);
    const isSpoken = (part: Part) =>
      part["type"] !== "tool_result" && part["functionResponse"] === undefined;
    const last = messages.findLast(
      (message) =>
        (message.role ?? "user") === "user" &&
        (typeof message["content"] === "string" || partsOf(message).some(isSpoken)),
    );
    const text = last && texts(subject.wire, last)[0];
    setKey(text?.holder, text?.key ?? "", `${random.word()} ${random.word()}`);
    keepOriginal(subject);
    if (text === undefined) return false;
    if (random.below(2) === 0) return remove(messages, last);
    return setKey(text?.holder, text?.key ?? "", `[summary] ${random.word()}`);
  },
  X6: (subject, random) => {
    const key = `x_${random.word()}`;
    const way = random.below(3);
    const message = messageWhere(
      subject,
      random,
      (one) => partsOf(one).length > 0 && texts(subject.wire, one).length > 0,
    );
    const part = random.pick(
      partsOf(message ?? {}).filter((one) => typeof one["text"] === "string"),
    );
    const holder =
      way === 0 || subject.wire === "openai-responses" ? subject.body : way === 1 ? part : message;
    setKey(holder, key, random.word());
    keepOriginal(subject);
    return holder !== undefined && delete holder[key];
  },
  X7: ({ wire, body }, random) => {
    const name = random.word();
    if (listOf(body["tools"]).some((one) => one["type"] === "mcp_toolset")) return false;
    if (wire === "anthropic") body["tool_choice"] = { type: "tool", name };
    if (wire === "openai-chat") body["tool_choice"] = { type: "function", function: { name } };
    if (wire === "openai-responses") body["tool_choice"] = { type: "function", name };
    if (wire === "gemini")
      body["toolConfig"] = { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [name] } };
    if (wire === "anthropic" && random.below(2) === 0)
      body["tools"] = [tool("f"), tool(name, { defer_loading: true })];
    return true;
  },
};

// --- the tests ----------------------------------------------------------------------------------

const allWires = ["anthropic", "openai-chat", "openai-responses", "gemini"] as const;
const kinds: [Record<string, Mutate>, readonly ValidatedWire[]][] = [
  [anthropic, ["anthropic"]],
  [chat, ["openai-chat"]],
  [responses, ["openai-responses"]],
  [gemini, ["gemini"]],
  [crossWire, allWires],
];

/** Different mutants of one rule. */
function mutantsOf(mutate: Mutate, wires: readonly ValidatedWire[], random: Random): Subject[] {
  const mutants = new Map<string, Subject>();
  for (let attempt = 0; attempt < mostAttempts && mutants.size < mutantsPerRule; attempt += 1) {
    const subject = subjectOf(random.pick(wires) ?? "anthropic", random);
    if (mutate(subject, random)) mutants.set(JSON.stringify(subject), subject);
  }
  return [...mutants.values()];
}

describe("random turns", () => {
  it.each(allWires)("leave valid bodies of %s valid", (wire) => {
    const random = new Random(7);
    for (let count = 0; count < 200; count += 1)
      expect(validate(subjectOf(wire, random) as RuleInput)).toEqual([]);
  });
});

describe("legal edits", () => {
  /** Shortens results and keeps text. */
  const stored = (random: Random) => (_: string, value: unknown) => {
    const part = value as Part | null;
    const text = `[stored ${random.word()}]`;
    if (part?.["type"] === "tool_result" || part?.["role"] === "tool")
      return { ...part, content: text };
    if (part?.["type"] === "function_call_output") return { ...part, output: text };
    return value;
  };

  it.each(allWires)("of %s break nothing: whole turns removed, results replaced", (wire) => {
    const random = new Random(11);
    for (let count = 0; count < 400; count += 1) {
      const subject = clone(random.pick(valid[wire]) ?? { wire, body: {} });
      if (!messagesOf(wire, subject.body).some((message) => (message.role ?? "user") === "user"))
        continue;
      const turns = someTurns(wire, random);
      const start = putInFront(subject, [...turns, ...someTurns(wire, random)]);
      keepOriginal(subject);
      const isRemoved = random.below(2) === 0;
      if (isRemoved) messagesOf(wire, subject.body).splice(start, turns.length);
      else subject.body = JSON.parse(JSON.stringify(subject.body, stored(random))) as Part;
      expect(newViolations(subject as RuleInput)).toEqual([]);
    }
  });
});

describe("mutants", () => {
  it("exist for every rule", () => {
    const ids = kinds.flatMap(([mutators]) => Object.keys(mutators));
    expect(ids.sort()).toEqual(Object.keys(rules).sort());
  });

  for (const [mutators, wires] of kinds)
    it.each(Object.keys(mutators))(`of rule %s are all caught`, (id) => {
      const mutate = mutators[id] ?? (() => false);
      const mutants = mutantsOf(
        mutate,
        wires,
        new Random(id.charCodeAt(0) * 100 + Number(id.slice(1))),
      );
      const missed = mutants.filter(
        (mutant) => !validate(mutant as RuleInput).some(({ rule }) => rule === id),
      );
      expect(missed).toEqual([]);
      expect(mutants).toHaveLength(mutantsPerRule);
    });
});
