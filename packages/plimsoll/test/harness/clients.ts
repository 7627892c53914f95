/**
 * The official client SDKs. Each has the same conversation with tools: a question, one tool call, two parallel calls,
 * a final text, a second question, one more call, a final text. They run against any base URL. So tests can require the
 * same results through the service as directly from the scripted provider.
 */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import type { Chat, Part } from "@google/genai";
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import OpenAI from "openai";
import { call, reasoning, reply, text } from "./answer.ts";
import type { Reply } from "./answer-parts.ts";
import { callsOf, partsOf } from "./gemini-contents.ts";
import { askGoogle, contentIn, googleClient } from "./gemini-sdk.ts";
import { isString, type Json, type JsonObject, objects, type Wire } from "./json.ts";
import type { Target } from "./recording-fetch.ts";
import { answersIn, inputItems } from "./responses-items.ts";
import type { ScriptRequest } from "./upstream.ts";
import { MODELS } from "./wires.ts";

export interface Client {
  readonly name: string;
  readonly wire: Wire;
  /** Runs the conversation and returns the final text for each question. */
  converse(target: Target): Promise<readonly string[]>;
}

const QUESTIONS = ["What do the notes say?", "And the draft?"] as const;
export const FINAL_TEXTS = [
  "The notes speak of öre and 😀, twice.",
  "The draft is empty.",
] as const;
/** Number of requests in the whole conversation. */
export const STEPS_COUNT = 5;

const SYSTEM = "You are a careful archivist.";
const ANTHROPIC_MODEL = MODELS.anthropic;
const OPENAI_MODEL = MODELS["openai-chat"];
const OUTPUT_TOKENS_MAX = 4_000;
const THINKING_BUDGET_TOKENS = 2_000;
const STEPS_PER_QUESTION_MAX = 5;

const READ_FILE_SCHEMA = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
} as const;

/** The provider's side: its answer depends only on how many answers it has already given. */
export function archivistScript({ wire, body }: ScriptRequest): Reply {
  const { messages, input, contents } = body;
  const said = objects<{ readonly role?: Json }>(contents ?? messages);
  const spoken =
    wire === "openai-responses"
      ? answersIn(inputItems(input))
      : said.filter(({ role }) => role === "assistant" || role === "model").length;
  const step = ARCHIVIST_STEPS[spoken] ?? reply(text("There is nothing more to say."));
  return wire !== "openai-chat" && spoken === 0
    ? { ...step, parts: [ARCHIVIST_THOUGHT, ...step.parts] }
    : step;
}

/** OpenAI itself shows no reasoning on the Chat wire. */
const ARCHIVIST_THOUGHT = reasoning("c2lnbmF0dXJlLTE=", "The notes ", "come first.");

const ARCHIVIST_STEPS: readonly Reply[] = [
  reply(text("I shall ", "read them."), call("call_step_1", "read_file", { path: "notes.txt" })),
  reply(
    call("call_step_2a", "read_file", { path: "öre/😀.txt" }),
    call("call_step_2b", "list_files", { path: 'a "quoted"\\folder\n' }),
  ),
  { ...reply(text("The notes speak", " of öre ", "and 😀, twice.")), usage: usage(180, 9) },
  reply(text("One more."), call("call_step_4", "read_file", { path: "draft.txt" })),
  { ...reply(text("The draft ", "is empty.")), usage: usage(260, 5) },
];

function usage(input: number, output: number): { input: number; output: number } {
  return { input, output };
}

function runTool(name: string, input: unknown): string {
  return `${name} of ${JSON.stringify(input)}: 3 lines\nöre\t😀\n"end"`;
}

/* @anthropic-ai/sdk */

type AskAnthropic = (
  client: Anthropic,
  request: Anthropic.MessageCreateParamsNonStreaming,
) => Promise<Anthropic.Message>;

function anthropicClient(name: string, ask: AskAnthropic): Client {
  return {
    name,
    wire: "anthropic",
    converse: ({ baseUrl, apiKey, fetch }) => {
      const client = new Anthropic({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 });
      return converseAnthropic((request) => ask(client, request));
    },
  };
}

async function converseAnthropic(
  ask: (request: Anthropic.MessageCreateParamsNonStreaming) => Promise<Anthropic.Message>,
): Promise<string[]> {
  const messages: Anthropic.MessageParam[] = [];
  const finalTexts: string[] = [];
  for (const question of QUESTIONS) {
    messages.push({ role: "user", content: question });
    for (let step = 0; step < STEPS_PER_QUESTION_MAX; step += 1) {
      const { content } = await ask(anthropicRequest(messages));
      messages.push({ role: "assistant", content });
      const calls = content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) {
        finalTexts.push(content.map((block) => (block.type === "text" ? block.text : "")).join(""));
        break;
      }
      messages.push({ role: "user", content: calls.map(anthropicResult) });
    }
  }
  return finalTexts;
}

function anthropicRequest(
  messages: readonly Anthropic.MessageParam[],
): Anthropic.MessageCreateParamsNonStreaming {
  return {
    model: ANTHROPIC_MODEL,
    max_tokens: OUTPUT_TOKENS_MAX,
    thinking: { type: "enabled", budget_tokens: THINKING_BUDGET_TOKENS },
    system: [{ type: "text", text: SYSTEM, cache_control: { type: "ephemeral" } }],
    tools: ["read_file", "list_files"].map((name) => ({
      name,
      description: `The tool ${name}.`,
      input_schema: { ...READ_FILE_SCHEMA, required: ["path"] },
    })),
    messages: [...messages],
  };
}

function anthropicResult(block: Anthropic.ToolUseBlock): Anthropic.ToolResultBlockParam {
  return {
    type: "tool_result",
    tool_use_id: block.id,
    content: runTool(block.name, block.input),
  };
}

/* openai */

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatRequest = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
type AskChat = (
  client: OpenAI,
  request: ChatRequest,
) => Promise<OpenAI.Chat.ChatCompletionMessage | undefined>;

function chatClient(name: string, ask: AskChat): Client {
  return {
    name,
    wire: "openai-chat",
    converse: ({ baseUrl, apiKey, fetch }) => {
      const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch, maxRetries: 0 });
      return converseChat((request) => ask(client, request));
    },
  };
}

async function converseChat(
  ask: (request: ChatRequest) => Promise<OpenAI.Chat.ChatCompletionMessage | undefined>,
): Promise<string[]> {
  const messages: ChatMessage[] = [{ role: "system", content: SYSTEM }];
  const finalTexts: string[] = [];
  for (const question of QUESTIONS) {
    messages.push({ role: "user", content: question });
    for (let step = 0; step < STEPS_PER_QUESTION_MAX; step += 1) {
      const answer = await ask(chatRequest(messages));
      if (answer === undefined) throw new Error("The answer has no choice.");
      messages.push(answer);
      if (answer.tool_calls === undefined || answer.tool_calls.length === 0) {
        finalTexts.push(answer.content ?? "");
        break;
      }
      messages.push(...answer.tool_calls.map(chatResult));
    }
  }
  return finalTexts;
}

function chatRequest(messages: readonly ChatMessage[]): ChatRequest {
  return {
    model: OPENAI_MODEL,
    messages: [...messages],
    tools: ["read_file", "list_files"].map((name) => ({
      type: "function",
      function: { name, description: `The tool ${name}.`, parameters: { ...READ_FILE_SCHEMA } },
    })),
  };
}

function chatResult(toolCall: OpenAI.Chat.ChatCompletionMessageToolCall): ChatMessage {
  const content =
    toolCall.type === "function"
      ? runTool(toolCall.function.name, JSON.parse(toolCall.function.arguments))
      : "unknown tool";
  return { role: "tool", tool_call_id: toolCall.id, content };
}

/* openai responses */

type ResponseRequest = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type AskResponses = (
  client: OpenAI,
  request: ResponseRequest,
) => Promise<OpenAI.Responses.Response>;
/** Who keeps the items of the conversation. */
type Keeper = "client" | "provider";
type ResponseItem = OpenAI.Responses.ResponseInputItem;

const KEEPING: Readonly<Record<Keeper, Partial<ResponseRequest>>> = {
  client: { store: false, include: ["reasoning.encrypted_content"] },
  provider: { store: true },
};

function responsesClient(name: string, keeper: Keeper, ask: AskResponses): Client {
  return {
    name,
    wire: "openai-responses",
    converse: ({ baseUrl, apiKey, fetch }) => {
      const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch, maxRetries: 0 });
      return converseResponses(keeper, (request) => ask(client, request));
    },
  };
}

async function converseResponses(
  keeper: Keeper,
  ask: (request: ResponseRequest) => Promise<OpenAI.Responses.Response>,
): Promise<string[]> {
  let items: ResponseItem[] = [];
  let keeping: Partial<ResponseRequest> = KEEPING[keeper];
  const finalTexts: string[] = [];
  for (const question of QUESTIONS) {
    items.push({ role: "user", content: question });
    for (let step = 0; step < STEPS_PER_QUESTION_MAX; step += 1) {
      const { id, status, output, output_text: said } = await ask(responseRequest(items, keeping));
      if (status !== "completed") throw new Error(`The response ${id} is ${status}.`);
      // Every output item can be sent back, but the SDK's types do not allow it for three of them.
      const answer = output as ResponseItem[];
      const results = answer.filter((item) => item.type === "function_call").map(callOutput);
      if (keeper === "provider") keeping = { ...keeping, previous_response_id: id };
      items = keeper === "provider" ? results : [...items, ...answer, ...results];
      if (results.length > 0) continue;
      finalTexts.push(said);
      break;
    }
  }
  return finalTexts;
}

function responseRequest(
  input: readonly ResponseItem[],
  keeping: Partial<ResponseRequest>,
): ResponseRequest {
  return {
    model: OPENAI_MODEL,
    instructions: SYSTEM,
    input: [...input],
    ...keeping,
    tools: ["read_file", "list_files"].map((name) => ({
      type: "function",
      name,
      description: `The tool ${name}.`,
      parameters: { ...READ_FILE_SCHEMA },
      strict: false,
    })),
  };
}

function callOutput(item: OpenAI.Responses.ResponseFunctionToolCall): ResponseItem {
  const output = runTool(item.name, JSON.parse(item.arguments));
  return { type: "function_call_output", call_id: item.call_id, output };
}

function createResponse(
  client: OpenAI,
  request: ResponseRequest,
): Promise<OpenAI.Responses.Response> {
  return client.responses.create(request);
}

function streamResponse(
  client: OpenAI,
  request: ResponseRequest,
): Promise<OpenAI.Responses.Response> {
  const { stream: _unused, ...params } = request;
  return client.responses.stream(params).finalResponse();
}

/* @google/genai */

const GOOGLE_FIELDS = {
  systemInstruction: { parts: [{ text: SYSTEM }] },
  tools: [
    {
      functionDeclarations: ["read_file", "list_files"].map((name) => ({
        name,
        description: `The tool ${name}.`,
        parametersJsonSchema: READ_FILE_SCHEMA,
      })),
    },
  ],
};
const GOOGLE_CONFIG = {
  maxOutputTokens: OUTPUT_TOKENS_MAX,
  thinkingConfig: { includeThoughts: true },
};

function googleModelsClient(name: string, isStreamed: boolean): Client {
  return {
    name,
    wire: "gemini",
    converse: (target) => {
      const contents: JsonObject[] = [];
      return converseGoogle(async (parts) => {
        contents.push({ role: "user", parts });
        const request = {
          model: MODELS.gemini,
          contents: [...contents],
          ...GOOGLE_FIELDS,
          generationConfig: GOOGLE_CONFIG,
        };
        const content = contentIn(await askGoogle(target, request, { isStreamed }));
        contents.push(content);
        return content;
      });
    },
  };
}

/** The SDK's own history. Its streamed form keeps each piece as a content of its own, which the service refuses before calls. */
function googleChatClient(name: string): Client {
  return {
    name,
    wire: "gemini",
    converse: (target) => {
      const config = { ...GOOGLE_FIELDS, ...GOOGLE_CONFIG };
      const chat: Chat = googleClient(target).chats.create({ model: MODELS.gemini, config });
      return converseGoogle(async (message) => {
        const { candidates } = await chat.sendMessage({ message: [...message] as Part[] });
        return (candidates?.[0]?.content ?? {}) as JsonObject;
      });
    },
  };
}

async function converseGoogle(
  ask: (parts: readonly JsonObject[]) => Promise<JsonObject>,
): Promise<string[]> {
  const finalTexts: string[] = [];
  for (const question of QUESTIONS) {
    let parts: readonly JsonObject[] = [{ text: question }];
    for (let step = 0; step < STEPS_PER_QUESTION_MAX && parts.length > 0; step += 1) {
      const content = await ask(parts);
      parts = callsOf(content).map(({ id, name, args }) => ({
        functionResponse: {
          ...(isString(id) ? { id } : {}),
          name: String(name),
          response: { output: runTool(String(name), args) },
        },
      }));
      if (parts.length === 0) finalTexts.push(wordsOf(content));
    }
  }
  return finalTexts;
}

function wordsOf(content: JsonObject): string {
  return partsOf(content)
    .map(({ text, thought }) => (isString(text) && thought !== true ? text : ""))
    .join("");
}

/* ai */

interface AiOptions {
  readonly model: LanguageModel;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly instructions: string;
  readonly maxOutputTokens: number;
  readonly maxRetries: number;
  readonly stopWhen: ReturnType<typeof stepCountIs>;
}
type AskAi = (options: AiOptions) => Promise<{ text: string; messages: readonly ModelMessage[] }>;

function aiClient(wire: Wire, name: string, ask: AskAi): Client {
  return {
    name,
    wire,
    converse: (target) => converseAi(aiModel(wire, target), ask),
  };
}

function aiModel(wire: Wire, { baseUrl, apiKey, fetch }: Target): LanguageModel {
  if (wire === "gemini") {
    return createGoogle({ baseURL: `${baseUrl}/v1beta`, apiKey, fetch })(MODELS.gemini);
  }
  const baseURL = `${baseUrl}/v1`;
  if (wire === "anthropic") return createAnthropic({ baseURL, apiKey, fetch })(ANTHROPIC_MODEL);
  const options = { name: "scripted", baseURL, apiKey, fetch, includeUsage: true };
  return createOpenAICompatible(options)(OPENAI_MODEL);
}

async function converseAi(model: LanguageModel, ask: AskAi): Promise<string[]> {
  const messages: ModelMessage[] = [];
  const finalTexts: string[] = [];
  for (const question of QUESTIONS) {
    messages.push({ role: "user", content: question });
    const answer = await ask({
      model,
      messages: [...messages],
      tools: { read_file: aiTool("read_file"), list_files: aiTool("list_files") },
      instructions: SYSTEM,
      maxOutputTokens: OUTPUT_TOKENS_MAX,
      maxRetries: 0,
      stopWhen: stepCountIs(STEPS_PER_QUESTION_MAX),
    });
    messages.push(...answer.messages);
    finalTexts.push(answer.text);
  }
  return finalTexts;
}

function aiTool(name: string): ToolSet[string] {
  return tool({
    description: `The tool ${name}.`,
    inputSchema: jsonSchema<{ path: string }>({ ...READ_FILE_SCHEMA, required: ["path"] }),
    execute: (input) => runTool(name, input),
  });
}

async function generate(options: AiOptions): ReturnType<AskAi> {
  const result = await generateText(options);
  return { text: result.text, messages: result.responseMessages };
}

async function stream(options: AiOptions): ReturnType<AskAi> {
  let failure: unknown;
  const result = streamText({
    ...options,
    onError: ({ error }) => {
      failure = error;
    },
  });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  return { text: await result.text, messages: await result.responseMessages };
}

/** The clients of the Responses wire: two keep the items themselves; for the third, the provider keeps them. */
const RESPONSES_CLIENTS: readonly Client[] = [
  responsesClient("openai responses.create", "client", createResponse),
  responsesClient("openai responses.stream", "client", streamResponse),
  responsesClient("openai responses.create with previous_response_id", "provider", createResponse),
];

const GEMINI_CLIENTS: readonly Client[] = [
  googleModelsClient("@google/genai models.generateContent", false),
  googleModelsClient("@google/genai models.generateContentStream", true),
  googleChatClient("@google/genai chats.sendMessage"),
  aiClient("gemini", "ai generateText with @ai-sdk/google", generate),
  aiClient("gemini", "ai streamText with @ai-sdk/google", stream),
];

export const CLIENTS: readonly Client[] = [
  anthropicClient("@anthropic-ai/sdk messages.create", (client, request) =>
    client.messages.create(request),
  ),
  anthropicClient("@anthropic-ai/sdk messages.stream", (client, request) =>
    client.messages.stream(request).finalMessage(),
  ),
  chatClient("openai chat.completions.create", async (client, request) => {
    const { choices } = await client.chat.completions.create(request);
    return choices[0]?.message;
  }),
  chatClient("openai chat.completions.stream", (client, request) => {
    const options = { ...request, stream: true, stream_options: { include_usage: true } } as const;
    return client.chat.completions.stream(options).finalMessage();
  }),
  aiClient("anthropic", "ai generateText with @ai-sdk/anthropic", generate),
  aiClient("anthropic", "ai streamText with @ai-sdk/anthropic", stream),
  aiClient("openai-chat", "ai generateText with @ai-sdk/openai-compatible", generate),
  aiClient("openai-chat", "ai streamText with @ai-sdk/openai-compatible", stream),
  ...RESPONSES_CLIENTS,
  ...GEMINI_CLIENTS,
];
