/** What differs between the wires in every suite: a usual model, the providers of a configuration, and the fields of a request. */
import { isObject, type JsonObject, type Wire } from "./json.ts";

export const MODELS: Readonly<Record<Wire, string>> = {
  anthropic: "claude-sonnet-4-6",
  "openai-chat": "gpt-5.1",
  "openai-responses": "gpt-5.1",
  gemini: "gemini-3-pro-preview",
};

/** The providers of a configuration if one scripted provider serves all wires. */
export function providersAt(url: string, settings: JsonObject = {}): JsonObject {
  return {
    anthropic: { baseUrl: url, ...settings },
    openai: { baseUrl: `${url}/v1`, ...settings },
    gemini: { baseUrl: url, ...settings },
  };
}

/** The same settings for the usual model of each wire. */
export function usualModels(settings: JsonObject): JsonObject {
  return Object.fromEntries(Object.values(MODELS).map((model) => [model, settings]));
}

/** The field with the conversation. */
export const CONVERSATION_FIELDS: Readonly<Record<Wire, string>> = {
  anthropic: "messages",
  "openai-chat": "messages",
  "openai-responses": "input",
  gemini: "contents",
};

/** The fields that limit an answer to so many tokens. */
export function outputLimit(wire: Wire, tokens: number): JsonObject {
  const fields: Readonly<Record<Wire, JsonObject>> = {
    anthropic: { max_tokens: tokens },
    "openai-chat": { max_completion_tokens: tokens },
    "openai-responses": { max_output_tokens: tokens },
    gemini: { generationConfig: { maxOutputTokens: tokens } },
  };
  return fields[wire];
}

/** The longest answer that a request asks for; NaN if it does not say. */
export function outputLimitIn(body: JsonObject): number {
  const { generationConfig: config, max_tokens: anthropic } = body;
  const { max_completion_tokens: chat, max_output_tokens: responses } = body;
  const gemini = isObject(config) ? config["maxOutputTokens"] : undefined;
  return Number(anthropic ?? chat ?? responses ?? gemini ?? Number.NaN);
}

/** The fields that make the model call this tool. */
export function forcedChoice(wire: Wire, name: string): JsonObject {
  const config = { mode: "ANY", allowedFunctionNames: [name] };
  const fields: Readonly<Record<Wire, JsonObject>> = {
    anthropic: { tool_choice: { type: "tool", name } },
    "openai-chat": { tool_choice: { type: "function", function: { name } } },
    "openai-responses": { tool_choice: { type: "function", name } },
    gemini: { toolConfig: { functionCallingConfig: config } },
  };
  return fields[wire];
}

/** Whether a request forbids the model to call tools. */
export function forbidsCalls({ tool_choice: choice, toolConfig }: JsonObject): boolean {
  const config = isObject(toolConfig) ? toolConfig["functionCallingConfig"] : undefined;
  if (isObject(config)) return config["mode"] === "NONE";
  return choice === "none" || (isObject(choice) && choice["type"] === "none");
}
