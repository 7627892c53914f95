/** Clients whose tools take more than a tenth of the window, and a model that calls only tools that it can see. */
import { call, reply } from "./answer.ts";
import { declarationsIn } from "./gemini-contents.ts";
import { type JsonObject, objects, type Wire } from "./json.ts";
import type { OwnClient, Step } from "./own-stage.ts";
import { bodyIn } from "./own-talk.ts";
import { callableIn, type GivenTool, toolsField } from "./tool-catalogue.ts";
import { providersAt, usualModels } from "./wires.ts";

export const WINDOW_TOKENS = 40_000;

export function configOf(settings: JsonObject = {}) {
  return ({ url }: { readonly url: string }): JsonObject => {
    const model = {
      contextWindow: WINDOW_TOKENS,
      maxOutputTokens: 1_000,
      contextWindowBufferTokens: 500,
      tokenizer: "tiktoken:o200k_base",
    };
    return { providers: providersAt(url, { models: usualModels(model), ...settings }) };
  };
}

/** Calls a tool, or throws if the model cannot see that tool in the request. */
export function calling(wire: Wire, id: string, name: string): Step {
  return ({ body }) => {
    if (!callableIn(wire, body as JsonObject).has(name)) throw new Error(`Nobody told of ${name}.`);
    return reply(call(id, name, {}));
  };
}

/** The single tools of a request: on Gemini, those in the elements of `tools`. */
export function toolsOf(request: { readonly body: Buffer } | undefined): readonly JsonObject[] {
  const listed = request === undefined ? [] : objects<JsonObject>(bodyIn(request)["tools"]);
  return listed.flatMap((tool) =>
    tool["functionDeclarations"] === undefined ? [tool] : declarationsIn([tool]),
  );
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
  return client.ask({ isStreamed, fields: { tools: toolsField(wire, tools), ...fields } });
}
