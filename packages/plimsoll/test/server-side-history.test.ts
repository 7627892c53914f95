/** Responses clients that let the provider keep the history: by the last answer's name, or by the names of single items. */

import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { call, reasoning, reply, text } from "./harness/answer.ts";
import type { Reply } from "./harness/answer-parts.ts";
import { type JsonObject, parseJson } from "./harness/json.ts";
import { handlesIn } from "./harness/kept.ts";
import { ask } from "./harness/raw-client.ts";
import { readArchive, readEdits, type Service, startService } from "./harness/service.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const WINDOW = 8_000;
const settings = {
  contextWindow: WINDOW,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const MODELS = {
  "gpt-5.1": settings,
  "gpt-5-mini": { ...settings, contextWindow: 4_000 },
  "gpt-5.2": settings,
};
const TOOLS = [
  {
    type: "function" as const,
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: {} },
    strict: false,
  },
];

let upstream: Upstream;
let service: Service;
let answered = 0;

/** Every other answer is a call, and every third thinks first. */
function script(_request: ScriptRequest): Reply {
  answered++;
  const thought = answered % 3 === 0 ? [reasoning(`sig-${answered}`, "Hm.")] : [];
  const said =
    answered % 2 === 0 ? call(`call_${answered}`, "look", { at: answered }) : text("I see it.");
  return reply(...thought, said);
}

beforeAll(async () => {
  upstream = await startUpstream({ script, window: { tokens: WINDOW } });
  service = await startService({
    upstreams: {},
    config: {
      targets: { "gpt-5-mini": ["openai/gpt-5.2"] },
      providers: { openai: { baseUrl: `${upstream.url}/v1`, models: MODELS } },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

interface Item {
  readonly type: string;
  readonly id?: string;
  readonly call_id?: string;
}

interface Turn {
  readonly sent: string;
  readonly action: string;
  readonly session: string;
}

/** What the client says next: results for the calls of the last answer, else a question of about 300 tokens. */
function nextInput(output: readonly Item[], words: string): JsonObject[] {
  const calls = output.filter(({ type }) => type === "function_call");
  if (calls.length === 0) return [{ role: "user", content: words }];
  return calls.map((made) => ({
    type: "function_call_output",
    call_id: made.call_id ?? "",
    output: words,
  }));
}

/** With a model, and with answers of at most so many tokens. */
async function talkByResponseId(
  turns: number,
  { model = "gpt-5.1", maxTokens = 500 }: { model?: string; maxTokens?: number } = {},
): Promise<readonly Turn[]> {
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "key-of-held", maxRetries: 0 });
  const random = diceOf(7);
  const taken: Turn[] = [];
  let previous: string | undefined;
  let output: readonly Item[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const { data, response } = await client.responses
      .create({
        model,
        input: nextInput(output, prose(random, 300)) as unknown as OpenAI.Responses.ResponseInput,
        tools: TOOLS,
        store: true,
        max_output_tokens: maxTokens,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      })
      .withResponse();
    previous = data.id;
    output = data.output as unknown as readonly Item[];
    taken.push({
      sent: upstream.requests.at(-1)?.body.toString("utf8") ?? "",
      action: response.headers.get("x-plimsoll-action") ?? "",
      session: response.headers.get("x-plimsoll-session") ?? "",
    });
  }
  return taken;
}

describe("a client that names the last answer instead of sending the history", () => {
  let turns: readonly Turn[];
  beforeAll(async () => {
    turns = await talkByResponseId(60);
  }, 60_000);

  test("is one session, and the provider never refuses", () => {
    expect(new Set(turns.map(({ session }) => session)).size).toBe(1);
    expect(upstream.refusals).toMatchObject({ overflow: 0, invalid: [] });
  });

  test("passes untouched until the window is full", () => {
    const first = turns.findIndex(({ action }) => action !== "passthrough");
    expect(first).toBeGreaterThan(10);
    for (const { sent } of turns.slice(1, first))
      expect(parseJson(sent)).toMatchObject({ previous_response_id: expect.any(String) });
  });

  test("gets its whole conversation written out once something is taken out of it", async () => {
    const cuts = turns.filter(({ action }) => action === "compacted");
    expect(cuts.length).toBeGreaterThanOrEqual(2);
    for (const { sent } of cuts) {
      const body = parseJson(sent) as JsonObject;
      expect(body["previous_response_id"]).toBeNull();
      expect(handlesIn(sent).length).toBeGreaterThan(0);
    }
    const [handle = ""] = handlesIn(cuts.at(-1)?.sent ?? "");
    const cut = JSON.parse(await readArchive(service, handle, 5000)) as JsonObject[];
    expect(cut.length).toBeGreaterThan(20);
  });

  test("after that, every request carries the view: the provider holds another conversation", () => {
    const first = turns.findIndex(({ action }) => action === "compacted");
    for (const { sent, action } of turns.slice(first)) {
      expect(action === "edited" || action === "compacted").toBe(true);
      expect((parseJson(sent) as JsonObject)["previous_response_id"]).toBeNull();
    }
  });
});

describe("a client that names the last answer, and a field of whose request is changed", () => {
  /** Nothing was taken out: the provider still holds what it held, and gets what is new. */
  const expectHeld = (turns: readonly Turn[], changed: JsonObject): void => {
    const others = turns.filter(({ sent }) => {
      const body = parseJson(sent) as JsonObject;
      return Object.entries(changed).some(([name, value]) => body[name] !== value);
    });
    expect(others.length).toBeGreaterThan(3);
    for (const { sent } of others) {
      const body = parseJson(sent) as JsonObject;
      expect(body["previous_response_id"]).toEqual(expect.any(String));
      expect(body["input"]).toHaveLength(1);
    }
    expect(upstream.refusals).toMatchObject({ overflow: 0, invalid: [] });
  };

  test("an answer that must be shorter: its conversation stays with the provider", async () => {
    const turns = await talkByResponseId(10, { maxTokens: 7_000 });
    expect(new Set(turns.map(({ action }) => action))).toEqual(new Set(["passthrough"]));
    expectHeld(turns, { max_output_tokens: 7_000 });
  });

  test("another model, because the first is full: its conversation stays with the provider", async () => {
    const turns = await talkByResponseId(16, { model: "gpt-5-mini" });
    expect(turns.some(({ action }) => action === "compacted")).toBe(false);
    expectHeld(turns, { model: "gpt-5-mini" });
  });
});

describe("a client that names single items", () => {
  test("goes on in the same session, and its names stay names", async () => {
    const history: JsonObject[] = [];
    const random = diceOf(9);
    const sessions = new Set<string>();
    let output: readonly Item[] = [];
    for (let turn = 0; turn < 40; turn++) {
      history.push(...nextInput(output, prose(random, 300)));
      const body = {
        model: "gpt-5.1",
        input: [...history],
        tools: TOOLS,
        store: true,
        max_output_tokens: 500,
      };
      const asked = await ask(service.url, {
        wire: "openai-responses",
        body: body as unknown as JsonObject,
        apiKey: "key-of-names",
      });
      expect(asked.status, asked.answer.slice(0, 500)).toBe(200);
      sessions.add(asked.sessionId);
      output = (asked.message["output"] ?? []) as unknown as readonly Item[];
      history.push(...output.map(({ id = "" }) => ({ type: "item_reference", id })));
    }
    expect(sessions.size).toBe(1);
    expect(upstream.refusals).toMatchObject({ overflow: 0, invalid: [] });
    const [session = ""] = sessions;
    const edits = await readEdits(service, session);
    expect(edits.some(({ action }) => action.kind === "remove")).toBe(true);
    const sent = upstream.requests.at(-1)?.body.toString("utf8") ?? "";
    expect(sent).toContain("item_reference");
  });

  test("a name that leads nowhere lets the request pass as it came", async () => {
    const body = {
      model: "gpt-5.1",
      input: [{ role: "user", content: "go on" }],
      previous_response_id: "resp_of_another_account",
    };
    const asked = await ask(service.url, { wire: "openai-responses", body, apiKey: "key-x" });
    expect(upstream.requests.at(-1)?.body.toString("utf8")).toBe(JSON.stringify(body));
    expect(asked.headers.get("x-plimsoll-action")).toBe("passthrough");
  });
});
