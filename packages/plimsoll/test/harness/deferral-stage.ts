/** Clients whose tools take more than a tenth of the window, and a model that calls only tools that it can see. */
import { call, reply } from "./answer.ts";
import { type JsonObject, objects, type Wire } from "./json.ts";
import type { OwnClient, Step } from "./own-stage.ts";
import { bodyIn } from "./own-talk.ts";
import { callableIn, type GivenTool, onWire } from "./tool-catalogue.ts";

export const WINDOW_TOKENS = 40_000;

export function configOf(settings: JsonObject = {}) {
  return ({ url }: { readonly url: string }): JsonObject => {
    const model = {
      contextWindow: WINDOW_TOKENS,
      maxOutputTokens: 1_000,
      contextWindowBufferTokens: 500,
      tokenizer: "tiktoken:o200k_base",
    };
    const models = { "claude-sonnet-4-6": model, "gpt-5.1": model };
    return {
      providers: {
        anthropic: { baseUrl: url, models, ...settings },
        openai: { baseUrl: `${url}/v1`, models, ...settings },
      },
    };
  };
}

/** Calls a tool, or throws if the model cannot see that tool in the request. */
export function calling(wire: Wire, id: string, name: string): Step {
  return ({ body }) => {
    if (!callableIn(wire, body as JsonObject).has(name)) throw new Error(`Nobody told of ${name}.`);
    return reply(call(id, name, {}));
  };
}

export function toolsOf(request: { readonly body: Buffer } | undefined): readonly JsonObject[] {
  return request === undefined ? [] : objects<JsonObject>(bodyIn(request)["tools"]);
}

export function listText(request: { readonly body: Buffer } | undefined): string {
  return JSON.stringify(toolsOf(request));
}

export async function askWith(
  client: OwnClient,
  wire: Wire,
  tools: readonly GivenTool[],
  { isStreamed = false, ...fields }: JsonObject & { readonly isStreamed?: boolean } = {},
): Promise<JsonObject> {
  return client.ask({ isStreamed, fields: { tools: onWire(wire, tools), ...fields } });
}
