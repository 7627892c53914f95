/** Tests the scripted provider on the Gemini wire: with both SDKs, without a proxy, and every refusal. */
import { createGoogle } from "@ai-sdk/google";
import { ApiError, GoogleGenAI } from "@google/genai";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { type Answer, call, reasoning, reply, text } from "./answer.ts";
import { askGoogle, contentIn } from "./gemini-sdk.ts";
import { isObject, type JsonObject, objects } from "./json.ts";
import { readAnswer } from "./reading.ts";
import { startUpstream, type Upstream, type UpstreamOptions } from "./upstream.ts";

const SIGNING = "gemini-3-pro-preview";
const OLDER = "gemini-2.5-pro";

let upstream: Upstream | undefined;
afterEach(async () => {
  await upstream?.close();
});

async function start(options: UpstreamOptions = {}): Promise<Upstream> {
  upstream = await startUpstream(options);
  return upstream;
}

/** Answers in this order. */
function saying(...answers: readonly Answer[]): UpstreamOptions {
  return {
    script: (_request, { requestNumber }) => answers[requestNumber - 1] ?? reply(text("ok")),
  };
}

const READ = { name: "read", description: "Reads.", parametersJsonSchema: { type: "object" } };
const GREP = { ...READ, name: "grep" };
const TOOLS = [{ functionDeclarations: [READ, GREP] }];
const ASKED = { role: "user", parts: [{ text: "Read it." }] };

function targetAt({ url }: Upstream) {
  return { baseUrl: url, apiKey: "key", fetch };
}

function result(name: string, id?: string): JsonObject {
  const named = id === undefined ? { name } : { id, name };
  return { functionResponse: { ...named, response: { output: "ok" } } };
}

const PARALLEL = reply(
  reasoning("unused", "Both, ", "I think."),
  text("Let ", "me see."),
  call("c_1", "read", { path: "ö" }),
  call("c_2", "grep", {}),
);

describe.each([false, true])("@google/genai (streamed: %s)", (isStreamed) => {
  test.each([SIGNING, OLDER])("%s: parallel calls, and their results", async (model) => {
    const at = await start(saying(PARALLEL, reply(text("So ", "be it."))));
    const body = { model, contents: [ASKED], tools: TOOLS };
    const content = contentIn(await askGoogle(targetAt(at), body, { isStreamed }));
    const isSigning = model === SIGNING;
    const ids = isSigning ? [{ id: "c_1" }, { id: "c_2" }] : [{}, {}];
    const signature = isSigning ? { thoughtSignature: expect.any(String) } : {};
    expect(content).toEqual({
      role: "model",
      parts: [
        { text: "Both, I think.", thought: true },
        { text: "Let me see." },
        { functionCall: { ...ids[0], name: "read", args: { path: "ö" } }, ...signature },
        { functionCall: { ...ids[1], name: "grep", args: {} } },
      ],
    });
    const results = isSigning
      ? [result("read", "c_1"), result("grep", "c_2")]
      : [result("read"), result("grep")];
    const contents = [ASKED, content, { role: "user", parts: results }];
    const last = contentIn(await askGoogle(targetAt(at), { ...body, contents }, { isStreamed }));
    const said = objects<{ readonly text?: unknown }>(last["parts"]).map((part) => part.text);
    expect(said.join("")).toBe("So be it.");
    expect(at.refusals).toEqual({ overflow: 0, invalid: [] });
  });

  test("too long: the SDK rejects with the provider's words", async () => {
    const at = await start({ window: { tokens: 5 } });
    const asked = askGoogle(targetAt(at), { model: SIGNING, contents: [ASKED] }, { isStreamed });
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 400 });
    expect(String(error)).toContain("The input token count (7) exceeds the maximum number");
    expect(at.refusals.overflow).toBe(1);
  });

  test("reports all figures, or none", async () => {
    const usage = { input: 100, output: 50, cached: 60, reasoning: 20 };
    const answer = { ...reply(text("ok")), usage };
    const body = { model: SIGNING, contents: [ASKED] };
    const talking = await start(saying(answer));
    expect((await askGoogle(targetAt(talking), body, { isStreamed }))["usageMetadata"]).toEqual({
      promptTokenCount: 100,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 20,
      cachedContentTokenCount: 60,
      totalTokenCount: 150,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }],
    });
    await talking.close();
    const silent = await start({ ...saying(answer), hasNoUsage: true });
    const heard = await askGoogle(targetAt(silent), body, { isStreamed });
    expect(heard["usageMetadata"]).toBeUndefined();
  });

  test("an answer that breaks off is an error", async () => {
    const early = { kind: "end", afterEvents: 2 } as const;
    const at = await start(saying({ ...reply(text("one ", "two ", "three")), early }));
    const asked = askGoogle(targetAt(at), { model: SIGNING, contents: [ASKED] }, { isStreamed });
    if (isStreamed) await expect(asked).rejects.toThrow("no end");
    else await expect(asked).resolves.toMatchObject({ responseId: "r_00000001" });
  });
});

test("a chat that streams keeps each piece as a content, and goes on", async () => {
  const at = await start(saying(reply(text("one ", "two")), reply(text("three"))));
  const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: at.url } });
  const chat = client.chats.create({ model: SIGNING });
  for (const message of ["Count.", "Go on."]) {
    const chunks: string[] = [];
    for await (const chunk of await chat.sendMessageStream({ message }))
      chunks.push(chunk.text ?? "");
    expect(chunks.join("")).toBe(message === "Count." ? "one two" : "three");
  }
  const roles = chat.getHistory().map(({ role }) => role);
  expect(roles).toEqual(["user", "model", "model", "model", "user", "model", "model"]);
  expect(at.refusals.invalid).toEqual([]);
});

describe("@ai-sdk/google", () => {
  const READ_TOOL = tool({
    description: "Reads.",
    inputSchema: jsonSchema<{ path: string }>({ type: "object", properties: {} }),
    execute: () => "the words",
  });

  test.each([SIGNING, OLDER])("%s: tools, streamed and not", async (model) => {
    const calling = reply(
      text("Let ", "me see."),
      call("c_1", "read", {}),
      call("c_2", "read", {}),
    );
    const at = await start(saying(calling, reply(text("a")), calling, reply(text("b"))));
    const google = createGoogle({ baseURL: `${at.url}/v1beta`, apiKey: "key" });
    const options = {
      model: google(model),
      prompt: "Read it.",
      tools: { read: READ_TOOL },
      maxRetries: 0,
      stopWhen: ({ steps }: { readonly steps: readonly unknown[] }) => steps.length === 2,
    };
    expect((await generateText(options)).text).toBe("a");
    expect(await streamText(options).text).toBe("b");
    expect(at.requests).toHaveLength(4);
    expect(at.refusals).toEqual({ overflow: 0, invalid: [] });
  });
});

/* Bytes */

function post(
  { url }: Upstream,
  path: string,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = { "x-goog-api-key": "key" },
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

const METHODS = `/v1beta/models/${SIGNING}`;
const BODY = { contents: [ASKED] };

describe("the bytes of a stream", () => {
  test("are events whose lines end in CRLF", async () => {
    const at = await start(saying(reply(text("one ", "two"))));
    const response = await post(at, `${METHODS}:streamGenerateContent?alt=sse`, BODY);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const answer = await response.text();
    expect(answer.replaceAll("\r\n", "")).not.toContain("\n");
    expect(answer.match(/^data: /gm)).toHaveLength(3);
    expect(readAnswer("gemini", answer)).toMatchObject({ isComplete: true });
  });

  test("are a JSON array without alt=sse", async () => {
    const at = await start(saying(PARALLEL));
    const response = await post(at, `${METHODS}:streamGenerateContent`, BODY);
    expect(response.headers.get("content-type")).toContain("application/json");
    const answer = await response.text();
    const pieces = JSON.parse(answer) as JsonObject[];
    expect(pieces).toHaveLength(6);
    expect(pieces.every(isObject)).toBe(true);
    const { isComplete, message } = readAnswer("gemini", answer);
    expect(isComplete).toBe(true);
    expect(objects(message["parts"])).toHaveLength(4);
    const broken = readAnswer("gemini", answer.slice(0, answer.indexOf(",\r\n") + 1));
    expect(broken.isComplete).toBe(false);
  });

  test("a refusal instead of a JSON array is an array of one error", async () => {
    const at = await start({ window: { tokens: 5 } });
    const response = await post(at, `${METHODS}:streamGenerateContent`, BODY);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual([
      { error: { code: 400, message: expect.any(String), status: "INVALID_ARGUMENT" } },
    ]);
  });
});

test.each([
  METHODS,
  `/v1/models/${SIGNING}`,
  `/v1/projects/p/locations/us-central1/publishers/google/models/${SIGNING}`,
  `/v1beta1/projects/p/locations/global/publishers/google/models/${SIGNING}`,
])("%s answers and counts", async (methods) => {
  const at = await start({ window: { tokens: 100 } });
  expect((await post(at, `${methods}:generateContent?key=k`, BODY, {})).status).toBe(200);
  const counted = await post(at, `${methods}:countTokens`, BODY);
  expect(await counted.json()).toEqual({ totalTokens: 7 });
  const whole = { model: `models/${SIGNING}`, ...BODY, tools: TOOLS };
  const more = await post(at, `${methods}:countTokens`, { generateContentRequest: whole });
  const { totalTokens } = (await more.json()) as { readonly totalTokens: number };
  expect(totalTokens).toBeGreaterThan(7);
  expect(at.refusals.invalid).toEqual([]);
});

test("both spellings are read, and a single element without brackets", async () => {
  const at = await start();
  const body = {
    contents: { parts: { text: "hello" } },
    system_instruction: { parts: { text: "Count." } },
    tools: { function_declarations: [READ] },
    tool_config: { function_calling_config: { mode: "NONE" } },
    generation_config: { max_output_tokens: 5 },
  };
  expect((await post(at, `${METHODS}:generateContent`, body)).status).toBe(200);
  expect(at.refusals.invalid).toEqual([]);
});

test("a caller without a key is refused", async () => {
  const at = await start();
  const response = await post(at, `${METHODS}:generateContent`, BODY, {});
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ error: { status: "PERMISSION_DENIED" } });
});

/* Refusals */

function called(name: string, fields: JsonObject = {}): JsonObject {
  return { role: "model", parts: [{ functionCall: { name, args: {} }, ...fields }] };
}

function given(...parts: readonly JsonObject[]): JsonObject {
  return { role: "user", parts };
}

const NONE = { toolConfig: { functionCallingConfig: { mode: "NONE" } } };
const ONLY = { mode: "ANY", allowedFunctionNames: ["write"] };

interface Fault {
  readonly what: string;
  readonly body: JsonObject;
  readonly message: RegExp;
}

const FAULTS: readonly Fault[] = [
  {
    what: "an unknown field",
    body: { ...BODY, messages: [] },
    message: /Unknown name "messages": Cannot find field/,
  },
  {
    what: "a field of another wire",
    body: { ...BODY, stream: true },
    message: /Unknown name "stream"/,
  },
  {
    what: "an unknown field of a part",
    body: { contents: [given({ text: "a", cache_control: {} })] },
    message: /Unknown name "cacheControl" at 'contents\[0\]\.parts\[0\]'/,
  },
  {
    what: "an unknown field of a content",
    body: { contents: [{ ...ASKED, name: "a" }] },
    message: /Unknown name "name" at 'contents\[0\]'/,
  },
  {
    what: "a part without content",
    body: { contents: [given({ text: "a" }, {})] },
    message: /must have one initialized field/,
  },
  {
    what: "a part with two contents",
    body: { contents: [given({ text: "a", ...result("read") })] },
    message: /must have one initialized field/,
  },
  {
    what: "an empty text without a signature",
    body: { contents: [given({ text: "" })] },
    message: /must have a text parameter/,
  },
  {
    what: "functions in several tools",
    body: {
      ...BODY,
      tools: [{ functionDeclarations: [READ] }, { functionDeclarations: [GREP] }],
    },
    message: /Multiple tools are supported only when they are all search tools/,
  },
  {
    what: "a function that is declared twice",
    body: { ...BODY, tools: [{ functionDeclarations: [READ, READ] }] },
    message: /Duplicate function declaration found: read/,
  },
  {
    what: "a function with an odd name",
    body: { ...BODY, tools: [{ functionDeclarations: [{ ...READ, name: "read it" }] }] },
    message: /Invalid function name/,
  },
  {
    what: "a list without functions",
    body: { ...BODY, tools: [{ functionDeclarations: [] }] },
    message: /should not be empty/,
  },
  {
    what: "a choice without functions",
    body: { ...BODY, ...NONE },
    message: /Function calling config is set without function_declarations/,
  },
  {
    what: "a choice of a function that is not declared",
    body: { ...BODY, tools: TOOLS, toolConfig: { functionCallingConfig: ONLY } },
    message: /write is not declared/,
  },
  {
    what: "allowed functions where all calls are forbidden",
    body: {
      ...BODY,
      tools: TOOLS,
      toolConfig: { functionCallingConfig: { mode: "NONE", allowedFunctionNames: ["read"] } },
    },
    message: /mode must be ANY/,
  },
  {
    what: "a call of a function that is not declared",
    body: { contents: [ASKED, called("write"), given(result("write"))], tools: TOOLS },
    message: /The function write is not declared/,
  },
  {
    what: "a result with another name than its call",
    body: { contents: [ASKED, called("read"), given(result("grep"))], tools: TOOLS },
    message: /number of function response parts/,
  },
  {
    what: "a result with the id of no call",
    body: {
      contents: [
        ASKED,
        { role: "model", parts: [{ functionCall: { id: "c_1", name: "read" } }] },
        given(result("read", "c_2")),
      ],
      tools: TOOLS,
    },
    message: /number of function response parts/,
  },
  {
    what: "a result before the answer of the model",
    body: { contents: [ASKED, given(result("read"))], tools: TOOLS },
    message: /number of function response parts/,
  },
  {
    what: "a call of the user",
    body: {
      contents: [ASKED, given({ functionCall: { name: "read" } }), given(result("read"))],
      tools: TOOLS,
    },
    message: /must be in a turn of the model/,
  },
  {
    what: "a response that is no object",
    body: {
      contents: [
        ASKED,
        called("read"),
        given({ functionResponse: { name: "read", response: "a" } }),
      ],
      tools: TOOLS,
    },
    message: /Invalid value/,
  },
  {
    what: "a signature that was never issued",
    body: {
      contents: [ASKED, { role: "model", parts: [{ text: "a", thoughtSignature: "YQ==" }] }, ASKED],
    },
    message: /Corrupted thought signature/,
  },
];

test.each(FAULTS)("$what is refused", async ({ body, message }) => {
  const at = await start();
  const response = await post(at, `/v1beta/models/${OLDER}:generateContent`, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    error: { code: 400, message: expect.stringMatching(message), status: "INVALID_ARGUMENT" },
  });
  expect(at.refusals.invalid).not.toEqual([]);
});

test.each([
  { ...BODY, generateContentRequest: { model: `models/${SIGNING}`, ...BODY } },
  { generateContentRequest: BODY },
  { generateContentRequest: { model: `models/${SIGNING}`, contents: [] } },
])("a count of %j is refused", async (body) => {
  const at = await start();
  expect((await post(at, `${METHODS}:countTokens`, body)).status).toBe(400);
});

/* Signatures */

type Parts = readonly JsonObject[];

/** What an answer with two calls looks like for the client, and whether the provider takes it back in another form. */
async function ruleFor(
  answer: Answer,
  {
    isStreamed,
    change,
  }: { readonly isStreamed: boolean; readonly change: (parts: Parts) => Parts },
): Promise<string | undefined> {
  const at = await start(saying(answer));
  const body = { model: SIGNING, contents: [ASKED], tools: TOOLS };
  const content = contentIn(await askGoogle(targetAt(at), body, { isStreamed }));
  const parts = change(objects<JsonObject>(content["parts"]));
  const calls = parts.flatMap((part) =>
    isObject(part["functionCall"]) ? [part["functionCall"]] : [],
  );
  const results = calls.map(({ id, name }) => result(String(name), String(id)));
  const next = results.length === 0 ? ASKED : given(...results);
  const contents = [ASKED, { role: "model", parts }, next];
  await post(at, `${METHODS}:generateContent`, { contents, tools: TOOLS });
  return at.refusals.invalid[0]?.rule;
}

describe.each([false, true])("signed parts (streamed: %s)", (isStreamed) => {
  const calls = reply(text("Hm."), call("c_1", "read", { path: "a" }), call("c_2", "grep", {}));
  const words = reply(text("one ", "two"));

  test.each<[string, Answer, (parts: Parts) => Parts, string | undefined]>([
    ["calls as they were", calls, (parts) => parts, undefined],
    ["words as they were", words, (parts) => parts, undefined],
    ["words without their signature", words, () => [{ text: "one two" }], undefined],
    [
      "words of a stream in one part",
      words,
      (parts) => [{ text: "one two", thoughtSignature: parts.at(-1)?.["thoughtSignature"] }],
      undefined,
    ],
    [
      "words that were changed",
      words,
      (parts) => [{ text: "one", thoughtSignature: parts.at(-1)?.["thoughtSignature"] }],
      "G4",
    ],
    [
      "a call that was changed",
      calls,
      ([said = {}, first = {}, ...others]) => {
        const changed = { functionCall: { id: "c_1", name: "read", args: { path: "b" } } };
        return [said, { ...first, ...changed }, ...others];
      },
      "G4",
    ],
    [
      "a signature on another call",
      calls,
      ([said = {}, first = {}, second = {}]) => {
        const { thoughtSignature, ...unsigned } = first;
        return [said, { ...second, thoughtSignature }, unsigned];
      },
      "G4",
    ],
    [
      "a signature on the words before the call",
      calls,
      ([said = {}, first = {}, second = {}]) => {
        const { thoughtSignature, ...unsigned } = first;
        return [{ ...said, thoughtSignature }, unsigned, second];
      },
      "G3",
    ],
    [
      "a signature that was cut",
      calls,
      ([said = {}, first = {}, ...others]) => {
        const cut = String(first["thoughtSignature"]).slice(0, -4);
        return [said, { ...first, thoughtSignature: cut }, ...others];
      },
      "G4",
    ],
    [
      "calls without a signature",
      calls,
      (parts) => parts.map(({ thoughtSignature: _signature, ...part }) => part),
      "G3",
    ],
    [
      "calls with Google's word for an unknown signature",
      calls,
      (parts) =>
        parts.map((part) =>
          part["thoughtSignature"] === undefined
            ? part
            : { ...part, thoughtSignature: "skip_thought_signature_validator" },
        ),
      undefined,
    ],
  ])("%s", async (_what, answer, change, rule) => {
    expect(await ruleFor(answer, { isStreamed, change })).toBe(rule);
  });
});
