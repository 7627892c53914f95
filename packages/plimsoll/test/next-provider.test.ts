/**
 * The next provider when one is full: through the running service, between strict providers. Whoever sends something invalid gets
 * an error, and the test fails.
 */

import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Script, scripts } from "./generate/script.ts";
import {
  TRANSLATED_WIRES,
  type TranslatedWire,
  translatableBodies,
} from "./generate/translatable.ts";
import { type Answer, call, reply, text } from "./harness/answer.ts";
import { effort, seedOr } from "./harness/effort.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf, keyIn, type Question } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "./harness/upstream.ts";

const ownersKeys = { ANTHROPIC_NEXT: "owner-key-anthropic", OPENAI_NEXT: "owner-key-openai" };
const CLIENT_KEY = "key-of-the-client";
const isOwners = (key: string): boolean => (Object.values(ownersKeys) as string[]).includes(key);

const overloaded: Answer = { kind: "failure", status: 529, body: { error: { message: "Busy." } } };
const spoken = reply(text("Aye, ", "captain."), call("call_9", "look", { at: "deck" }));
let first: (request: ScriptRequest) => Answer = () => overloaded;
let second: (request: ScriptRequest) => Answer = () => spoken;
let upstream: Upstream;
let service: Service;

/** Models that a client asks for, and who answers instead. The names say so. */
const from = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-4.1",
  "openai-responses": "gpt-4.1",
};
const next: Readonly<Record<TranslatedWire, string>> = {
  anthropic: "anthropic2/claude-haiku-4-5",
  "openai-chat": "openai2/gpt-4.1-mini",
  "openai-responses": "answers/gpt-4.1-mini",
};
const modelFor = (wire: TranslatedWire, to: TranslatedWire): string => `${from[wire]}-${to}`;

beforeAll(async () => {
  upstream = await startUpstream({
    // The generated histories have thoughts that no provider has signed.
    forgives: ["R5"],
    script: (request) => (isOwners(keyIn(request.headers)) ? second(request) : first(request)),
  });
  const targets: Record<string, string[]> = {};
  for (const wire of TRANSLATED_WIRES)
    for (const to of TRANSLATED_WIRES) targets[modelFor(wire, to)] = [next[to]];
  targets["gpt-4.1-poor"] = ["poor/gpt-4.1-mini"];
  targets["claude-sonnet-4-5-keyless"] = ["keyless/gpt-4.1-mini", "unset/gpt-4.1-mini"];
  targets["gpt-4.1-unpriced"] = ["openai2/nobody-knows-1"];
  targets["claude-sonnet-4-5-small"] = [next["openai-chat"]];
  const openai = { wire: "openai", baseUrl: `${upstream.url}/v1` };
  const prices = { prices: { input: 1, output: 4 } };
  const mini = { models: { "gpt-4.1-mini": prices } };
  service = await startService({
    upstreams: {},
    env: ownersKeys,
    config: {
      targets,
      providers: {
        anthropic: {
          baseUrl: upstream.url,
          models: { "claude-sonnet-4-5-small": { contextWindow: 4000, tokenizer: "approximate" } },
        },
        openai: { baseUrl: `${upstream.url}/v1` },
        anthropic2: {
          wire: "anthropic",
          baseUrl: upstream.url,
          apiKeyEnv: "ANTHROPIC_NEXT",
          models: { "claude-haiku-4-5": prices },
          maxUsdPerDay: 1000,
        },
        openai2: { ...openai, ...mini, apiKeyEnv: "OPENAI_NEXT", maxUsdPerDay: 1000 },
        answers: {
          ...openai,
          ...mini,
          apiKeyEnv: "OPENAI_NEXT",
          api: "responses",
          maxUsdPerDay: 1000,
        },
        poor: { ...openai, ...mini, apiKeyEnv: "OPENAI_NEXT", maxUsdPerDay: 0.005 },
        keyless: { ...openai, ...mini },
        unset: { ...openai, ...mini, apiKeyEnv: "NOBODY_SET_THIS" },
      },
    },
  });
});
beforeEach(() => {
  first = () => overloaded;
  second = () => spoken;
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

const toOwners = () => upstream.requests.filter(({ headers }) => isOwners(keyIn(headers)));
function hail(wire: TranslatedWire, fields: JsonObject, more: Partial<Question> = {}) {
  const store = wire === "openai-responses" ? { store: false } : {};
  const body = bodyOf(wire, [{ role: "user", content: "Ahoy." }], { ...store, ...fields });
  return ask(service.url, { wire, body, apiKey: CLIENT_KEY, ...more });
}

describe.each(TRANSLATED_WIRES)("a client of %s", (wire) => {
  describe.each(TRANSLATED_WIRES)("whose provider is overloaded is answered by %s", (to) => {
    const model = modelFor(wire, to);

    test.each([false, true])("skip: Skip this provider, try next (stream: %s)", async (stream) => {
      const asked = await hail(wire, { model, stream });
      expect([asked.status, asked.isComplete]).toEqual([200, true]);
      expect(asked.headers.get("x-plimsoll-target")).toBe(next[to]);
      expect(JSON.stringify(asked.message)).toContain("Aye, captain.");
      expect(JSON.stringify(asked.message)).toContain("call_9");
      const { items } = await service.api<{ items: { role: string }[] }>(
        `/api/sessions/${asked.sessionId}/log`,
      );
      expect(items.filter(({ role }) => role === "assistant").length).toBeGreaterThan(0);
    });

    test("in random conversations: 0 invalid", async () => {
      const refusedBefore = upstream.refusals.invalid.length;
      const conversations = fc.sample(scripts({ roundsMin: 1, roundsMax: 4 }), {
        seed: seedOr(200 + TRANSLATED_WIRES.indexOf(wire) * 3 + TRANSLATED_WIRES.indexOf(to)),
        numRuns: effort(34, 300),
      });
      const statuses = await Promise.all(
        conversations.map(async (script: Script, index) => {
          const body = translatableBodies(wire, script).at(-1) ?? {};
          const stream = index % 2 === 0;
          const headers = { "x-plimsoll-session": `${model}-${index}` };
          const question = { wire, body: { ...body, model, stream }, headers, apiKey: CLIENT_KEY };
          const asked = await ask(service.url, question);
          return [asked.status, asked.isComplete, asked.headers.get("x-plimsoll-target")];
        }),
      );
      expect(upstream.refusals.invalid.slice(refusedBefore)).toEqual([]);
      expect(statuses).toEqual(conversations.map(() => [200, true, next[to]]));
      expect(upstream.refusals.invalid.slice(refusedBefore)).toEqual([]);
    });
  });
});

test("the client's credential never leaves its provider, and the owner's keys never go to another one", () => {
  expect(toOwners().length).toBeGreaterThan(300);
  for (const { headers, body } of toOwners()) {
    const sent = JSON.stringify([headers, String(body)]);
    expect(sent).not.toContain(CLIENT_KEY);
    expect(Object.keys(headers).filter((name) => name.startsWith("x-plimsoll"))).toEqual([]);
  }
  expect(service.stdout + service.stderr).not.toContain("owner-key");
});

test.each([
  ["429", { kind: "failure", status: 429, body: { error: { message: "Slow down." } } }],
  [
    "context overflow",
    {
      kind: "failure",
      status: 400,
      body: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "prompt is too long: 9 tokens > 8 maximum",
        },
      },
    },
  ],
] as const)("a provider that answers %s is full", async (_name, answer) => {
  first = () => answer;
  const asked = await hail("anthropic", { model: modelFor("anthropic", "openai-chat") });
  expect([asked.status, asked.headers.get("x-plimsoll-target")]).toEqual([
    200,
    next["openai-chat"],
  ]);
});

test("a view that cannot be made to fit goes to a provider whose window has room, whole", async () => {
  const words = "Load the ship with barrels of salt. ".repeat(2000);
  const body = bodyOf("anthropic", [{ role: "user", content: words }], {
    model: "claude-sonnet-4-5-small",
  });
  const before = upstream.requests.length;
  const asked = await ask(service.url, { wire: "anthropic", body, apiKey: CLIENT_KEY });
  expect([asked.status, asked.headers.get("x-plimsoll-target")]).toEqual([
    200,
    next["openai-chat"],
  ]);
  const sent = upstream.requests.slice(before);
  expect(sent.map(({ headers }) => isOwners(keyIn(headers)))).toEqual([true]);
  expect(JSON.parse(String(sent[0]?.body))).toMatchObject({ messages: [{ content: words }] });
});

test.each([
  [
    "claude-sonnet-4-5-keyless",
    /keyless\/gpt-4.1-mini: providers.keyless has no apiKeyEnv; unset.* NOBODY_SET_THIS is not set/,
  ],
  [
    "gpt-4.1-unpriced",
    /no price is known for the model, so the limit of 1000 USD per day cannot be kept/,
  ],
])(
  "there only where the user's configuration names a key and a price is known: %s",
  async (model, reason) => {
    const before = toOwners().length;
    const asked = await hail(model.startsWith("claude") ? "anthropic" : "openai-chat", { model });
    expect([asked.status, asked.answer]).toEqual([529, JSON.stringify(overloaded.body)]);
    expect(asked.headers.get("x-plimsoll-failover")).toMatch(reason);
    expect(toOwners()).toHaveLength(before);
  },
);

const lookingTools = [{ name: "look", input_schema: { type: "object" } }];

/** Anthropic says so inside a stream that began normally. */
const beginsOverloaded = (): Answer => {
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const event = `event: error\ndata: ${JSON.stringify(error)}\n\n`;
  const headers = { "content-type": "text/event-stream" };
  return { kind: "raw", headers, pieces: [new TextEncoder().encode(event)] };
};

test.each([
  ["JSON", false, () => overloaded],
  ["stream", true, () => overloaded],
  ["stream that begins overloaded", true, beginsOverloaded],
] as const)(
  "also when Plimsoll's own tools are in the request, which stay at home (%s)",
  async (name, stream, begins) => {
    first = begins;
    const model = modelFor("anthropic", "openai-chat");
    const headers = { "x-plimsoll-session": `own-tools ${name}` };
    const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
    const content = "a line of the log\n".repeat(40_000);
    const body = bodyOf(
      "anthropic",
      [
        { role: "user", content: "Look." },
        { role: "assistant", content: [call] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content }] },
      ],
      { model, stream, tools: lookingTools },
    );
    const before = upstream.requests.length;
    const asked = await ask(service.url, { wire: "anthropic", body, headers, apiKey: CLIENT_KEY });
    const [own, others] = upstream.requests.slice(before).map((sent) => String(sent.body));
    // The huge result left for a handle, so the first provider's request has the tools that read it.
    expect(own).toContain("read_result");
    expect([asked.status, asked.headers.get("x-plimsoll-target")]).toEqual([
      200,
      next["openai-chat"],
    ]);
    expect(asked.isComplete).toBe(true);
    expect(others).not.toContain('"name":"read_result"');
    expect(upstream.refusals.invalid).toEqual([]);
  },
);

test("a provider that says overloaded in the first event of its stream is skipped too", async () => {
  first = beginsOverloaded;
  const model = modelFor("anthropic", "openai-chat");
  const asked = await hail("anthropic", { model, stream: true });
  expect([asked.status, asked.isComplete]).toEqual([200, true]);
  expect(asked.headers.get("x-plimsoll-target")).toBe(next["openai-chat"]);
  expect(asked.answer).not.toContain("Overloaded");
});

test("x-plimsoll-off sends nothing elsewhere", async () => {
  const headers = { "x-plimsoll-off": "1" };
  const asked = await hail(
    "anthropic",
    { model: modelFor("anthropic", "openai-chat") },
    { headers },
  );
  expect([asked.status, asked.headers.get("x-plimsoll-failover")]).toEqual([529, null]);
});

test("an answer that breaks off after its beginning is not begun again elsewhere", async () => {
  second = () => ({ ...spoken, early: { kind: "cut", afterEvents: 3 } }) as Answer;
  const model = modelFor("anthropic", "openai-chat");
  const asked = await hail("anthropic", { model, stream: true });
  expect([asked.status, asked.isComplete]).toEqual([200, false]);
  expect(asked.answer).toContain("event: error");
});

test("per tenant, with a spend cap", async () => {
  const fields = { model: "gpt-4.1-poor", max_completion_tokens: 1000 };
  const answers: unknown[] = [];
  for (const apiKey of ["key-of-tenant-1", "key-of-tenant-1", "key-of-tenant-2"]) {
    second = () => ({ ...spoken, usage: { input: 900, output: 700 } });
    const { status, headers } = await hail("openai-chat", fields, { apiKey });
    answers.push([status, headers.get("x-plimsoll-failover")]);
  }
  expect(answers).toEqual([
    [200, null],
    [529, expect.stringMatching(/poor.*the limit of 0.005 USD per day would be exceeded/)],
    [200, null],
  ]);
});

test.each<[string, TranslatedWire, JsonObject, RegExp]>([
  [
    "unknown fields",
    "anthropic",
    { x_new: 1 },
    /its field x_new means nothing to the other provider/,
  ],
  ["several answers", "openai-chat", { n: 2 }, /it wants several answers/],
  ["answers that are to be kept", "openai-responses", { store: true }, /store is not false/],
  [
    "a provider's own tools",
    "anthropic",
    { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    /only Anthropic has the tool web_search/,
  ],
  [
    "documents",
    "anthropic",
    {
      messages: [
        {
          role: "user",
          content: [
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            },
          ],
        },
      ],
    },
    /it contains a document/,
  ],
])(
  "what cannot be translated is refused with a sentence, and the client gets its own provider's answer: %s",
  async (_name, wire, fields, reason) => {
    const to = wire === "anthropic" ? "openai-chat" : "anthropic";
    const asked = await hail(wire, { model: modelFor(wire, to), ...fields });
    expect([asked.status, asked.answer]).toEqual([529, JSON.stringify(overloaded.body)]);
    expect(asked.headers.get("x-plimsoll-failover")).toMatch(reason);
  },
);

test("nothing is silently ignored: what only the first provider can use is named", async () => {
  const fields = {
    model: modelFor("anthropic", "openai-chat"),
    metadata: { user_id: "u" },
    top_k: 5,
  };
  const asked = await hail("anthropic", fields);
  expect(asked.headers.get("x-plimsoll-left-out")).toBe("metadata, top_k");
});

test("if the next provider fails too, the client gets its own provider's answer and both reasons", async () => {
  second = () => ({
    kind: "failure",
    status: 401,
    body: { error: { message: "Bad key owner-key-openai." } },
  });
  const asked = await hail("anthropic", { model: modelFor("anthropic", "openai-chat") });
  expect(asked.status).toBe(529);
  const reason = asked.headers.get("x-plimsoll-failover") ?? "";
  expect(reason).toMatch(/openai2\/gpt-4.1-mini: it answered 401: Bad key/);
  expect(reason).not.toContain("owner-key-openai");
});

test("the service says at its start which targets it cannot use", () => {
  expect(service.stderr).toContain(
    "targets.claude-sonnet-4-5-keyless: the service does not use keyless/gpt-4.1-mini, because providers.keyless has no apiKeyEnv.",
  );
  expect(service.stderr).toContain("because the environment variable NOBODY_SET_THIS is not set.");
});
