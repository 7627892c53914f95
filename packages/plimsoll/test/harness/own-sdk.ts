/** The official SDKs as readers: sends one request, and returns the object that the SDK assembles from the answer. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { askGoogle, contentIn } from "./gemini-sdk.ts";
import { isObject, type Json, type JsonObject, objects, parseJson, type Wire } from "./json.ts";
import type { Target } from "./recording-fetch.ts";

export interface Asking {
  readonly wire: Wire;
  /** The body without `stream`, which the SDK sets. On Gemini, its `model` goes into the path. */
  readonly body: JsonObject;
  readonly isStreamed: boolean;
  readonly signal?: AbortSignal;
}

/** Rejects like the SDK. */
export async function askSdk(target: Target, asking: Asking): Promise<JsonObject> {
  const { wire, body, isStreamed, signal } = asking;
  if (wire === "gemini") return askGoogle(target, body, { isStreamed, signal });
  const options = signal === undefined ? {} : { signal };
  const whole =
    wire === "anthropic"
      ? await askAnthropic(target, asking, options)
      : await askOpenai(target, asking, options);
  return parseJson(JSON.stringify(whole)) as JsonObject;
}

interface Options {
  readonly signal?: AbortSignal;
}

function askAnthropic(
  { baseUrl, apiKey, fetch }: Target,
  { body, isStreamed }: Asking,
  options: Options,
): Promise<unknown> {
  const client = new Anthropic({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 });
  const request = body as unknown as Anthropic.MessageCreateParamsNonStreaming;
  return isStreamed
    ? client.messages.stream(request, options).finalMessage()
    : client.messages.create(request, options);
}

function askOpenai(
  { baseUrl, apiKey, fetch }: Target,
  { wire, body, isStreamed }: Asking,
  options: Options,
): Promise<unknown> {
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch, maxRetries: 0 });
  if (wire === "openai-chat") {
    const request = body as unknown as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
    return isStreamed
      ? client.chat.completions.stream({ ...request, stream: true }, options).finalChatCompletion()
      : client.chat.completions.create(request, options);
  }
  const { stream: _unused, ...params } =
    body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
  return isStreamed
    ? client.responses.stream(params, options).finalResponse()
    : client.responses.create(params, options);
}

interface Whole {
  readonly content?: Json;
  readonly choices?: Json;
  readonly output?: Json;
}

/** The messages that a client adds to its history for such an object. */
export function historyOf(wire: Wire, whole: JsonObject): readonly JsonObject[] {
  const { content = [], choices, output }: Whole = whole;
  if (wire === "anthropic") return [{ role: "assistant", content }];
  if (wire === "openai-responses") return objects<JsonObject>(output);
  if (wire === "gemini") return withParts(contentIn(whole));
  const [choice] = objects<{ readonly message?: Json }>(choices);
  return isObject(choice?.message) ? [choice.message] : [];
}

/** An answer without any parts cannot be sent back. */
function withParts(content: JsonObject): readonly JsonObject[] {
  return objects(content["parts"]).length === 0 ? [] : [content];
}

/** A user message. */
export function spoken(wire: Wire, words: string): JsonObject {
  return wire === "gemini"
    ? { role: "user", parts: [{ text: words }] }
    : { role: "user", content: words };
}

export interface GivenResult {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** The results of a client's calls as messages. */
export function resultMessages(wire: Wire, results: readonly GivenResult[]): readonly JsonObject[] {
  switch (wire) {
    case "anthropic": {
      const content = results.map(({ id, text }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: text,
      }));
      return [{ role: "user", content }];
    }
    case "openai-chat":
      return results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
    case "openai-responses":
      return results.map(({ id, text }) => ({
        type: "function_call_output",
        call_id: id,
        output: text,
      }));
    case "gemini": {
      const parts = results.map(({ id, name, text }) => ({
        functionResponse: { id, name, response: { output: text } },
      }));
      return [{ role: "user", parts }];
    }
  }
}

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where to look, from the root of the repository." },
    note: { type: "string", description: "Why this is needed." },
  },
  required: ["path"],
};

/** A client's tool in the form of its wire. */
function toolNamed(wire: Wire, name: string): JsonObject {
  const description = `The tool ${name}: gives back text, a line for each thing that it found.`;
  switch (wire) {
    case "anthropic":
      return { name, description, input_schema: PARAMETERS };
    case "openai-chat":
      return { type: "function", function: { name, description, parameters: PARAMETERS } };
    case "openai-responses":
      return { type: "function", name, description, parameters: PARAMETERS, strict: false };
    case "gemini":
      return { name, description, parametersJsonSchema: PARAMETERS };
  }
}

const SYSTEM = `You are a careful engineer on board of a ship. Read before you write, say what you have seen, and keep
every path, number and name exactly as it stood. Größe bleibt Größe, 日本語 stays 日本語.`;

export interface RequestOf {
  readonly model: string;
  readonly messages: readonly JsonObject[];
  readonly toolNames: readonly string[];
  readonly outputTokensMax: number;
}

/** The request with the whole history, as the client sends it every time. */
export function requestBody(wire: Wire, request: RequestOf, fields: JsonObject = {}): JsonObject {
  const { model, messages, toolNames, outputTokensMax } = request;
  const tools = toolNames.map((name) => toolNamed(wire, name));
  const offered = tools.length === 0 ? {} : { tools };
  switch (wire) {
    case "anthropic":
      return {
        model,
        max_tokens: outputTokensMax,
        thinking: { type: "adaptive" },
        system: SYSTEM,
        ...offered,
        messages,
        ...fields,
      };
    case "openai-chat":
      return {
        model,
        max_completion_tokens: outputTokensMax,
        messages: [{ role: "system", content: SYSTEM }, ...messages],
        ...offered,
        ...fields,
      };
    case "openai-responses":
      return {
        model,
        max_output_tokens: outputTokensMax,
        instructions: SYSTEM,
        input: messages,
        store: false,
        include: ["reasoning.encrypted_content"],
        ...offered,
        ...fields,
      };
    case "gemini":
      return {
        model,
        contents: messages,
        systemInstruction: { parts: [{ text: SYSTEM }] },
        ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools }] }),
        generationConfig: {
          maxOutputTokens: outputTokensMax,
          thinkingConfig: { includeThoughts: true },
        },
        ...fields,
      };
  }
}
