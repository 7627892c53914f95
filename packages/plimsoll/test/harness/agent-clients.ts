/**
 * Agents on the official SDKs. Each keeps its whole history in its SDK's own form, sends all of it with every request, and
 * adds the answer.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type Question, type ScriptedCall, TOOL_NAMES } from "./agent.ts";
import { callsOf, partsOf } from "./gemini-contents.ts";
import { askGoogle, contentIn } from "./gemini-sdk.ts";
import { isString, type JsonObject, type Wire } from "./json.ts";
import type { Target } from "./recording-fetch.ts";

export interface AgentOptions {
  readonly wire: Wire;
  readonly model: string;
  readonly isStreamed: boolean;
  readonly outputTokensMax: number;
}

export interface AgentClient {
  /** Adds the user's words. */
  hear(question: Question): void;
  /** Adds the results of the last answer's calls. */
  giveResults(calls: readonly ScriptedCall[]): void;
  /** Sends the whole history and adds the answer to it. Returns the text of the answer. Rejects like the SDK. */
  ask(target: Target): Promise<Heard>;
}

export interface Heard {
  readonly text: string;
  readonly callIds: readonly string[];
}

const SYSTEM = `You are a careful engineer on board of a ship. Read before you write, say what you have seen, and keep
every path, number and name exactly as it stood. Größe bleibt Größe, 日本語 stays 日本語.`;

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where to look, from the root of the repository." },
    note: { type: "string", description: "Why this is needed." },
  },
  required: ["path"],
} as const;

/** A black PNG of 40 x 30 pixels. */
const IMAGE_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAACgAAAAeAQAAAAB2pmFwAAAADElEQVR4nGNgGHoAAAC0AAGPUo/gAAAAAElFTkSuQmCC";

export function createAgentClient(options: AgentOptions): AgentClient {
  return new AGENTS[options.wire](options);
}

function describe(name: string): string {
  return `The tool ${name}: gives back text, a line for each thing that it found.`;
}

class AnthropicAgent implements AgentClient {
  readonly #options: AgentOptions;
  readonly #messages: Anthropic.MessageParam[] = [];

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  hear({ text, hasImage }: Question): void {
    const image: Anthropic.ImageBlockParam = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: IMAGE_BASE64 },
    };
    const content = hasImage ? [image, { type: "text", text } as const] : text;
    this.#messages.push({ role: "user", content });
  }

  giveResults(calls: readonly ScriptedCall[]): void {
    const content = calls.map(
      ({ id, result }) => ({ type: "tool_result", tool_use_id: id, content: result }) as const,
    );
    this.#messages.push({ role: "user", content });
  }

  async ask({ baseUrl, apiKey, fetch }: Target): Promise<Heard> {
    const client = new Anthropic({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 });
    const request = this.#request();
    const { content } = this.#options.isStreamed
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    this.#messages.push({ role: "assistant", content });
    return {
      text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
      callIds: content.filter((block) => block.type === "tool_use").map(({ id }) => id),
    };
  }

  #request(): Anthropic.MessageCreateParamsNonStreaming {
    return {
      model: this.#options.model,
      max_tokens: this.#options.outputTokensMax,
      thinking: { type: "adaptive" },
      system: SYSTEM,
      tools: TOOL_NAMES.map((name) => ({
        name,
        description: describe(name),
        input_schema: { ...PARAMETERS, required: ["path"] },
      })),
      messages: [...this.#messages],
    };
  }
}

class ChatAgent implements AgentClient {
  readonly #options: AgentOptions;
  readonly #messages: OpenAI.Chat.ChatCompletionMessageParam[] = [
    { role: "system", content: SYSTEM },
  ];

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  hear({ text, hasImage }: Question): void {
    const url = `data:image/png;base64,${IMAGE_BASE64}`;
    const content = hasImage
      ? [{ type: "text", text } as const, { type: "image_url", image_url: { url } } as const]
      : text;
    this.#messages.push({ role: "user", content });
  }

  giveResults(calls: readonly ScriptedCall[]): void {
    this.#messages.push(
      ...calls.map(
        ({ id, result }) => ({ role: "tool", tool_call_id: id, content: result }) as const,
      ),
    );
  }

  async ask({ baseUrl, apiKey, fetch }: Target): Promise<Heard> {
    const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch, maxRetries: 0 });
    const message = this.#options.isStreamed
      ? await client.chat.completions
          .stream({ ...this.#request(), stream: true, stream_options: { include_usage: true } })
          .finalMessage()
      : (await client.chat.completions.create(this.#request())).choices[0]?.message;
    if (message === undefined) throw new Error("The answer has no choice.");
    this.#messages.push(message);
    return {
      text: message.content ?? "",
      callIds: (message.tool_calls ?? []).map(({ id }) => id),
    };
  }

  #request(): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming {
    return {
      model: this.#options.model,
      max_completion_tokens: this.#options.outputTokensMax,
      messages: [...this.#messages],
      tools: TOOL_NAMES.map((name) => ({
        type: "function",
        function: { name, description: describe(name), parameters: { ...PARAMETERS } },
      })),
    };
  }
}

class ResponsesAgent implements AgentClient {
  readonly #options: AgentOptions;
  readonly #items: OpenAI.Responses.ResponseInputItem[] = [];

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  hear({ text }: Question): void {
    this.#items.push({ role: "user", content: text });
  }

  giveResults(calls: readonly ScriptedCall[]): void {
    this.#items.push(
      ...calls.map(
        ({ id, result }) =>
          ({ type: "function_call_output", call_id: id, output: result }) as const,
      ),
    );
  }

  async ask({ baseUrl, apiKey, fetch }: Target): Promise<Heard> {
    const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch, maxRetries: 0 });
    const request = this.#request();
    const {
      status,
      error,
      output,
      output_text: text,
    } = this.#options.isStreamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    if (status !== "completed") {
      throw new Error(`The response is ${status}: ${error?.code} ${error?.message}`);
    }
    // Every output item can be sent back, but the SDK's types do not allow it for three of them.
    this.#items.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    const callIds = output.flatMap((item) => (item.type === "function_call" ? [item.call_id] : []));
    return { text, callIds };
  }

  #request() {
    return {
      model: this.#options.model,
      max_output_tokens: this.#options.outputTokensMax,
      instructions: SYSTEM,
      input: [...this.#items],
      store: false,
      include: ["reasoning.encrypted_content" as const],
      tools: TOOL_NAMES.map((name) => ({
        type: "function" as const,
        name,
        description: describe(name),
        parameters: { ...PARAMETERS },
        strict: false,
      })),
    };
  }
}

class GeminiAgent implements AgentClient {
  readonly #options: AgentOptions;
  readonly #contents: JsonObject[] = [];

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  hear({ text, hasImage }: Question): void {
    const image = { inlineData: { mimeType: "image/png", data: IMAGE_BASE64 } };
    this.#contents.push({ role: "user", parts: [...(hasImage ? [image] : []), { text }] });
  }

  giveResults(calls: readonly ScriptedCall[]): void {
    const parts = calls.map(({ id, name, result }) => ({
      functionResponse: { id, name, response: { output: result } },
    }));
    this.#contents.push({ role: "user", parts });
  }

  async ask(target: Target): Promise<Heard> {
    const { isStreamed } = this.#options;
    const content = contentIn(await askGoogle(target, this.#request(), { isStreamed }));
    this.#contents.push(content);
    return {
      text: partsOf(content)
        .map(({ text, thought }) => (isString(text) && thought !== true ? text : ""))
        .join(""),
      callIds: callsOf(content).map(({ id }) => String(id)),
    };
  }

  #request(): JsonObject {
    const { model, outputTokensMax } = this.#options;
    const declared = TOOL_NAMES.map((name) => ({
      name,
      description: describe(name),
      parametersJsonSchema: PARAMETERS,
    }));
    return {
      model,
      contents: [...this.#contents],
      systemInstruction: { parts: [{ text: SYSTEM }] },
      tools: [{ functionDeclarations: declared }],
      generationConfig: {
        maxOutputTokens: outputTokensMax,
        thinkingConfig: { includeThoughts: true },
      },
    };
  }
}

const AGENTS: Readonly<Record<Wire, new (options: AgentOptions) => AgentClient>> = {
  anthropic: AnthropicAgent,
  "openai-chat": ChatAgent,
  "openai-responses": ResponsesAgent,
  gemini: GeminiAgent,
};
