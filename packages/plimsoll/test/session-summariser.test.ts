/**
 * `summariser: session`: after an answer, the service asks the session's own model once more, with the client's credentials, for
 * the story so far. The scripted provider is strict, so every such request is valid. Whatever comes of it, the client's own
 * turns are as they would be without it, and no credential is stored.
 */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, call, reply, text } from "./harness/answer.ts";
import type { UpstreamRequest } from "./harness/answer-writer.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  WIRES,
  type Wire,
} from "./harness/json.ts";
import { overflowBody } from "./harness/overflow.ts";
import { bodyOf, keyIn, post } from "./harness/raw-client.ts";
import {
  OWNER_TOKEN,
  readLog,
  readSessions,
  type Service,
  startService,
} from "./harness/service.ts";
import { Talk } from "./harness/talk.ts";
import { BUILT_INS, toolsField } from "./harness/tool-catalogue.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, pause } from "./harness/waiting.ts";
import {
  CONVERSATION_FIELDS,
  forbidsCalls,
  outputLimit,
  outputLimitIn,
  providersAt,
  usualModels,
} from "./harness/wires.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const RULE = "Never touch the tests.";
/** A rule, a change and an open item. The view shows them itself, or the story tells them. */
const MUST_STAY = [RULE, "src/berth_1.ts", "Error: berth 1 has no tide table"];
const QUESTION = "This message is from Plimsoll";
const LIMIT_MS = 10_000;
const WINDOW = 6_000;
const OUTPUT = 500;
/** The window without the room for an answer and the buffer. */
const LIMIT = WINDOW - 2 * OUTPUT;
const FILLER = "The tide was low, and the crane moved nothing. ".repeat(14);
const UNPRICED = "unheard-of-model";

type Story = (draft: string) => Answer;

/** A service with a small window, and the strict provider behind it. */
interface Stage {
  readonly upstream: Upstream;
  readonly service: Service;
  readonly events: readonly Prepared[];
  /** By the key of a client: what the model answers when it is asked for the story. */
  readonly stories: Map<string, Story>;
  /** The keys of clients whose next request is too long for the provider. */
  readonly tooLong: Set<string>;
  /** Whether the service asks for stories. */
  readonly isAsking: boolean;
  stop(): Promise<void>;
}

interface Prepared {
  readonly type: string;
  readonly session?: string;
  readonly status?: string;
  readonly verdict?: string;
  readonly reason?: string;
}

async function openStage(summariser: JsonObject | string | undefined): Promise<Stage> {
  const stories = new Map<string, Story>();
  const tooLong = new Set<string>();
  const upstream = await startUpstream({
    window: { tokens: WINDOW },
    script: (request) => {
      const key = keyIn(request.headers);
      const draft = draftIn(request);
      if (draft !== undefined) return (stories.get(key) ?? inBetterWords)(draft);
      return tooLong.delete(key) ? overflow(request.wire) : nextStep(request);
    },
  });
  const small = {
    contextWindow: WINDOW,
    maxOutputTokens: OUTPUT,
    contextWindowBufferTokens: OUTPUT,
  };
  const models = { ...usualModels(small), [UNPRICED]: small };
  const service = await startService({
    upstreams: {},
    config: {
      providers: providersAt(upstream.url, { models }),
      agent: { warning_note: false },
      ...(summariser === undefined ? {} : { summariser }),
    },
  });
  const { events, leave } = await followEvents(service);
  return {
    upstream,
    service,
    events,
    stories,
    tooLong,
    isAsking: summariser !== undefined,
    stop: async () => {
      leave();
      await service.kill("SIGKILL");
      await service.stop();
      await upstream.close();
    },
  };
}

/** Collects the events of a service. */
async function followEvents(
  service: Service,
): Promise<{ readonly events: readonly Prepared[]; readonly leave: () => void }> {
  const leaving = new AbortController();
  const response = await fetch(`${service.url}/events`, {
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "last-event-id": "0" },
    signal: leaving.signal,
  });
  const events: Prepared[] = [];
  const read = async (): Promise<void> => {
    let rest = "";
    for await (const chunk of response.body ?? []) {
      rest += Buffer.from(chunk).toString();
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.startsWith("data: ")) events.push(JSON.parse(line.slice(6)) as Prepared);
    }
  };
  read().catch(() => undefined);
  return { events, leave: () => leaving.abort() };
}

function overflow(wire: Wire): Answer {
  const figures = { inputTokens: 9_000, maxOutputTokens: 500, windowTokens: WINDOW };
  return { kind: "failure", status: 400, body: overflowBody(wire, figures) };
}

/** The agent's next step, by the last words that it heard. */
function nextStep({ wire, body }: ScriptRequest): Answer {
  const messages = body[CONVERSATION_FIELDS[wire]];
  const heard = JSON.stringify(Array.isArray(messages) ? messages.at(-1) : "");
  const berth = Number(/berth (\d+)/.exec(heard)?.[1] ?? 0);
  const id = `call_${berth}_${heard.length}`;
  if (heard.includes("Is it slow?"))
    return { ...reply(text(..."It is slow. ".repeat(200).split(" "))), delayBetweenEventsMs: 20 };
  if (heard.includes("Please mend"))
    return reply(call(id, "write_file", { path: `src/berth_${berth}.ts` }));
  if (heard.includes("was written") && berth === 1)
    return reply(call(id, "run_command", { command: "npm test" }));
  return reply(text(`The schedule of berth ${berth} is mended. ${FILLER}`));
}

/** The draft in the question for the story, if this request asks for it. */
function draftIn({ body }: Pick<ScriptRequest, "body">): string | undefined {
  let found: string | undefined;
  const search = (value: unknown): void => {
    if (typeof value === "string" && value.includes(QUESTION)) found = value;
    else if (Array.isArray(value)) value.forEach(search);
    else if (isObject(value)) Object.values(value).forEach(search);
  };
  search(body);
  return found && /<<<(\S+) draft of the story\n([\s\S]*)\n\1>>>/.exec(found)?.[2];
}

const BETTER = "the schedule was mended, and the tide was low";

/** The draft with other words for each outcome. */
function inBetterWords(draft: string): Answer {
  return reply(text(draft.replaceAll(/(→ #\d+: ).*$/gm, `$1${BETTER}`)));
}

let clients = 0;

interface ClientOptions {
  readonly wire?: Wire;
  readonly story?: Story;
  readonly isStreamed?: boolean;
  readonly fields?: JsonObject;
}

/** One conversation, with a key of its own. */
class Client {
  readonly stage: Stage;
  readonly wire: Wire;
  readonly key: string;
  readonly talk: Talk;
  readonly #fields: JsonObject;
  #berth = 0;
  /** One for each compaction. */
  readonly #handles = new Set<string>();

  constructor(stage: Stage, options: ClientOptions = {}) {
    const { wire = "anthropic", story, isStreamed = true, fields = {} } = options;
    clients += 1;
    this.stage = stage;
    this.wire = wire;
    this.key = `sk-client-secret-${clients}-0123456789`;
    this.talk = new Talk(stage.service.url, { wire, apiKey: this.key });
    this.#fields = {
      tools: toolsField(wire, BUILT_INS),
      // As much as the configuration reserves, so that the limit is the same on all wires.
      ...(wire === "anthropic" ? outputLimit(wire, OUTPUT) : {}),
      ...(isStreamed ? { stream: true } : {}),
      ...fields,
    };
    if (story !== undefined) stage.stories.set(this.key, story);
  }

  body(history: readonly JsonObject[]): JsonObject {
    return bodyOf(this.wire, history, this.#fields);
  }

  async #say(words: string): Promise<void> {
    await this.talk.say(words, (history) => this.body(history));
  }

  /** A request of the user, a change, and the agent's closing words. The second request brings a rule and a failure. */
  async mend(): Promise<void> {
    const berth = this.#berth++;
    await this.#say(`Please mend the schedule of berth ${berth}.${berth === 1 ? ` ${RULE}` : ""}`);
    await this.#say(`berth ${berth} was written. ${FILLER}`);
    if (berth === 1) await this.#say("exit code 1\nError: berth 1 has no tide table");
  }

  get session(): string {
    return this.talk.answers.at(-1)?.sessionId ?? "";
  }

  get sent(): readonly UpstreamRequest[] {
    return this.stage.upstream.requests.filter(({ headers }) => keyIn(headers) === this.key);
  }

  /** The requests that asked for the story. */
  get questions(): readonly UpstreamRequest[] {
    return this.sent.filter(({ body }) => body.includes(QUESTION));
  }

  /** The events about the story of this session, as far as they have arrived. */
  get prepared(): readonly Prepared[] {
    return this.stage.events.filter(
      ({ type, session }) => type === "summary-prepared" && session === this.session,
    );
  }

  /** The last request of the client's own that reached the provider. */
  get view(): string {
    const own = this.sent.findLast(({ body }) => !body.includes(QUESTION));
    return own?.body.toString() ?? "";
  }

  /** Share of the limit that the last request used. */
  get #filled(): number {
    const tokens = this.talk.answers.at(-1)?.headers.get("x-plimsoll-tokens") ?? "";
    return Number(tokens.split(";")[1]) / LIMIT;
  }

  /** Makes turns until `isEnough`. Above the threshold, waits for the end of the one question before the next compaction. */
  async until(isEnough: () => boolean): Promise<void> {
    for (let turn = 0; turn < 60; turn += 1) {
      await this.mend();
      for (const [handle] of this.view.matchAll(/pl_\w{22}/g)) this.#handles.add(handle);
      const due = this.#handles.size + 1;
      if (this.stage.isAsking && this.#filled >= 0.8)
        await eventually(LIMIT_MS, "the end of the question", async () =>
          this.prepared.length >= due ? true : undefined,
        );
      if (isEnough()) return;
    }
    throw new Error("60 requests, and it did not come.");
  }

  async untilCompacted(): Promise<string> {
    await this.until(() => /Plimsoll: (?:this conversation was )?shortened/.test(this.view));
    return this.view;
  }

  /** Until the service has said why there is no story. */
  async untilPrepared(count = 1): Promise<void> {
    await this.until(() => this.prepared.length >= count);
  }

  expectNoSecret(): void {
    const { data, stdout, stderr } = this.stage.service;
    const files = readdirSync(data, { recursive: true, encoding: "utf8" })
      .map((name) => join(data, name))
      .filter((path) => statSync(path).isFile());
    expect(files.length).toBeGreaterThan(2);
    expect(files.filter((path) => readFileSync(path).includes(this.key))).toEqual([]);
    expect(stdout + stderr + JSON.stringify(this.stage.events)).not.toContain(this.key);
  }
}

/** Expects that the question has the bytes of the request up to the end of its conversation, and one text more. */
function expectSamePrefix(wire: Wire, question: string, own: string): void {
  const field = CONVERSATION_FIELDS[wire];
  const [asked, sent] = [question, own].map((raw) => messagesIn(wire, raw));
  const whole = `"${field}":${JSON.stringify(sent)}`;
  expect(own).toContain(whole);
  const [last, lastSent] = [asked?.at(-1) ?? {}, sent?.at(-1) ?? {}];
  const isInside = wire === "anthropic" || wire === "gemini";
  if (!isInside) {
    expect(question).toContain(whole.slice(0, -1));
    expect(asked).toHaveLength((sent?.length ?? 0) + 1);
    return;
  }
  // If roles must alternate, the question is the last part of the last message.
  expect(question).toContain(whole.slice(0, whole.lastIndexOf(JSON.stringify(lastSent))));
  expect(asked).toHaveLength(sent?.length ?? 0);
  expect(partsOf(last).slice(0, -1)).toEqual(partsOf(lastSent));
}

function messagesIn(wire: Wire, raw: string): readonly JsonObject[] {
  return (parseJson(raw) as JsonObject)[CONVERSATION_FIELDS[wire]] as readonly JsonObject[];
}

function partsOf({ content, parts }: JsonObject): readonly Json[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content ?? parts) as readonly Json[];
}

describe("with room for many calls", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage({ provider: "session", maxCallsPerHour: 1_000, maxUsdPerDay: 100 });
  });
  afterAll(() => stage.stop());

  describe.each(WIRES)("%s", (wire) => {
    test.each([true, false])(
      "the model is asked once, in the client's name, after its whole request (streamed: %s)",
      async (isStreamed) => {
        const client = new Client(stage, { wire, isStreamed });
        const view = await client.untilCompacted();
        expect(client.questions).toHaveLength(1);
        const [question] = client.questions;
        const own = client.sent[client.sent.indexOf(question as UpstreamRequest) - 1];
        const [asked, sent] = [question, own].map(
          (one) => parseJson(one?.body.toString() ?? "") as JsonObject,
        );
        expect(question?.status).toBe(200);
        expect(stage.upstream.refusals.invalid).toEqual([]);
        expect(question?.path).toBe(own?.path);
        expectSamePrefix(wire, question?.body.toString() ?? "", own?.body.toString() ?? "");
        for (const field of ["model", "system", "tools", "stream"])
          expect(asked?.[field]).toEqual(sent?.[field]);
        expect(outputLimitIn(asked ?? {})).toBeLessThanOrEqual(5_000);
        // On Anthropic, another tool choice would make the cache of the messages useless.
        expect(forbidsCalls(asked ?? {})).toBe(wire !== "anthropic");
        expect(client.prepared).toMatchObject([{ verdict: "passes" }]);
        expect(view).toContain(`\`${BETTER}\``);
        for (const line of MUST_STAY) expect(view).toContain(line);
        client.expectNoSecret();
      },
    );

    test("rules, changes and open items that the model drops are in the view, and the question is in no log", async () => {
      const client = new Client(stage, {
        wire,
        story: (draft) => {
          const done = /## Answered\n(?:- .*\n?)*/.exec(draft)?.[0] ?? "";
          return reply(text(done.replaceAll(/(→ #\d+: ).*$/gm, `$1${BETTER}`)));
        },
      });
      const view = await client.untilCompacted();
      expect(client.prepared).toMatchObject([{ verdict: "patched" }]);
      expect(view).toContain(`\`${BETTER}\``);
      for (const line of MUST_STAY) expect(view).toContain(line);
      const log = await readLog(stage.service, client.session);
      expect(JSON.stringify(log.map(({ message }) => message))).not.toContain(QUESTION);
      const sessions = await readSessions(stage.service);
      const own = sessions.find(({ id }) => id === client.session);
      expect(own?.turns).toBe(client.talk.answers.length);
    });
  });

  test("a later compaction asks again, and keeps the lines of the first story as they are", async () => {
    const client = new Client(stage);
    const first = await client.untilCompacted();
    const line = first.match(/- #\d+ asked:[^#]*berth \d+\..{0,4}→ #\d+: `[^`]*`/g)?.at(-1) ?? "";
    expect(line).toContain(BETTER);
    await client.until(() => client.questions.length > 1);
    const handle = /pl_\w{22}/.exec(client.view)?.[0] ?? "";
    await client.until(() => !client.view.includes(handle));
    expect(client.view).toContain(line);
    // The failure is over: its request and three later ones have been answered.
    const lasting = MUST_STAY.filter((one) => !one.startsWith("Error: "));
    expect(lasting.length).toBe(MUST_STAY.length - 1);
    for (const one of lasting) expect(client.view).toContain(one);
    expect(client.sent.every(({ status }) => status === 200)).toBe(true);
  });

  describe("a provider that does not help", () => {
    const html: Answer = {
      kind: "raw",
      headers: { "content-type": "text/html" },
      pieces: [Buffer.from("<h1>busy</h1>")],
    };
    const lies =
      "## Rules\n- #1 Always touch the tests.\n## Answered\n- #2 noted: all is lost forever in Lisbon";
    test.each<[string, Story, string]>([
      ["answers garbage", () => html, "could not be read"],
      [
        "calls a tool",
        () => reply(call("c1", "run_command", { command: "rm -rf /" })),
        "called a tool",
      ],
      ["says nothing", () => reply(text(" ")), "the answer was empty"],
      ["lies", () => reply(text(lies)), "mostly-invented"],
      [
        "breaks off",
        () => ({ ...reply(text("## Do", "ne")), early: { kind: "cut", afterEvents: 3 } }),
        "",
      ],
    ])("%s: the turns go on with the story without a model", async (_, story, reason) => {
      const client = new Client(stage, { story });
      const view = await client.untilCompacted();
      expect(client.questions).toHaveLength(1);
      expect(client.prepared).toMatchObject([
        { verdict: "replaced", reason: expect.stringContaining(reason) },
      ]);
      for (const line of MUST_STAY) expect(view).toContain(line);
      expect(view).not.toContain("Always touch");
      await client.mend();
      expect(client.talk.answers.every(({ status }) => status === 200)).toBe(true);
    });

    test.each([401, 500])("answers %i, and quotes the key", async (status) => {
      const client: Client = new Client(stage, {
        story: () => {
          const error = { type: "api_error", message: `no access for ${client.key}` };
          return { kind: "failure", status, body: { type: "error", error } };
        },
      });
      const view = await client.untilCompacted();
      expect(client.prepared).toMatchObject([
        { reason: `the provider answered ${status}: no access for [credential]` },
      ]);
      for (const line of MUST_STAY) expect(view).toContain(line);
      client.expectNoSecret();
    });

    test("sends a redirect, which is not followed", async () => {
      const stolen: string[] = [];
      const thief: Server = createServer((request, response) => {
        stolen.push(JSON.stringify(request.headers));
        response.end("{}");
      });
      await new Promise<void>((ready) => thief.listen(0, "127.0.0.1", ready));
      const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`;
      const story = (): Answer => ({
        kind: "failure",
        status: 307,
        body: {},
        headers: { location },
      });
      const client = new Client(stage, { story });
      await client.untilPrepared();
      thief.close();
      expect(client.prepared).toMatchObject([
        { reason: "the provider answered 307: Plimsoll does not follow redirects" },
      ]);
      expect(stolen).toEqual([]);
    });
  });

  test("a model without a price is not asked, and an event says what to do", async () => {
    const client = new Client(stage, { wire: "openai-chat", fields: { model: UNPRICED } });
    await client.untilPrepared();
    expect(client.prepared).toMatchObject([
      {
        verdict: "replaced",
        reason:
          "no price is known for the model, so the limit of 100 USD per day cannot be kept: set the model's prices",
      },
    ]);
    expect(client.questions).toEqual([]);
  });

  test("a request that was too long for the provider asks for nothing", async () => {
    const client = new Client(stage);
    while (client.view.length < 12_500) await client.mend();
    expect(client.questions).toEqual([]);
    stage.tooLong.add(client.key);
    const words = { role: "user", content: `Please mend it. ${FILLER.repeat(7)}` };
    const body = client.body([...client.talk.history, words]);
    const question = { wire: client.wire, apiKey: client.key, body };
    const response = await post(stage.service.url, question);
    await response.text();
    expect(response.status).toBe(200);
    expect(client.sent.at(-2)?.status).toBe(400);
    await pause(100);
    expect(client.questions).toEqual([]);
  });

  test("a turn that the client leaves asks for nothing; the next one that is answered does", async () => {
    const client = new Client(stage);
    while (client.view.length < 12_500) await client.mend();
    expect(client.questions).toEqual([]);
    const leaving = new AbortController();
    const words = { role: "user", content: `Is it slow? ${FILLER.repeat(7)}` };
    const question = { wire: client.wire, apiKey: client.key, signal: leaving.signal };
    const body = client.body([...client.talk.history, words]);
    const response = await post(stage.service.url, { ...question, body });
    expect(response.headers.get("x-plimsoll-action")).toBe("passthrough");
    const [, tokens] = (response.headers.get("x-plimsoll-tokens") ?? "").split(";");
    expect(Number(tokens)).toBeGreaterThan(0.8 * LIMIT);
    leaving.abort();
    await response.text().catch(() => undefined);
    await eventually(LIMIT_MS, "the end of the turn", async () =>
      stage.events.find(
        ({ status, session }) => session === client.session && status === "aborted",
      ),
    );
    await pause(100);
    expect(client.questions).toEqual([]);
    await client.until(() => client.questions.length > 0);
  });
});

describe("other settings", () => {
  test("off by default: nothing else goes out", async () => {
    const stage = await openStage(undefined);
    const client = new Client(stage);
    const view = await client.untilCompacted();
    for (const line of MUST_STAY) expect(view).toContain(line);
    expect(client.questions).toEqual([]);
    expect(stage.upstream.requests).toHaveLength(client.talk.answers.length);
    expect(client.prepared).toEqual([]);
    await stage.stop();
  });

  test("after as many calls as an hour allows there is none, and an event says so", async () => {
    const stage = await openStage({ provider: "session", maxCallsPerHour: 1 });
    const client = new Client(stage);
    await client.untilPrepared(2);
    expect(client.questions).toHaveLength(1);
    expect(client.prepared[1]).toMatchObject({
      verdict: "replaced",
      reason: "the limit of 1 calls per hour is reached",
    });
    expect(await readSessions(stage.service)).toHaveLength(1);
    await stage.stop();
  });

  test("a limit in money that is too low for one call", async () => {
    const stage = await openStage({ provider: "session", maxUsdPerDay: 0.001 });
    const client = new Client(stage);
    await client.untilPrepared();
    expect(client.questions).toEqual([]);
    expect(client.prepared).toMatchObject([
      { reason: "the limit of 0.001 USD per day would be exceeded" },
    ]);
    await stage.stop();
  });

  test("a model that never answers: no turn waits, and the time limit ends it", async () => {
    const stage = await openStage({ provider: "session", timeoutMs: 400 });
    const client = new Client(stage, { story: () => ({ kind: "hang" }) });
    const view = await client.untilCompacted();
    for (const line of MUST_STAY) expect(view).toContain(line);
    expect(client.prepared).toMatchObject([{ reason: "it took too long" }]);
    client.expectNoSecret();
    await stage.stop();
  });

  test("a model that never answers: the client's turns go on, and the service ends", async () => {
    const stage = await openStage("session");
    const client = new Client(stage, { story: () => ({ kind: "hang" }) });
    while (client.questions.length === 0) {
      await client.mend();
      await pause(30);
    }
    for (let more = 0; more < 4; more += 1) await client.mend();
    expect(client.prepared).toEqual([]);
    for (const line of MUST_STAY) expect(client.view).toContain(line);
    await stage.service.kill("SIGTERM");
    expect(stage.service.stderr).not.toContain("failed");
    await stage.stop();
  });
});
