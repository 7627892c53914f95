/** Google's official SDK. It has no helper that puts a stream together, so this file does. */
import { type Content, type GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { joinedParts } from "./gemini-contents.ts";
import { isObject, type Json, type JsonObject, objects, parseJson } from "./json.ts";
import type { Target } from "./recording-fetch.ts";

export function googleClient({ baseUrl, apiKey, fetch }: Target): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl, fetch } });
}

interface Body {
  readonly model?: Json;
  readonly stream?: Json;
  readonly contents?: Json;
  readonly generationConfig?: Json;
}

/** A body of the wire as the arguments of the SDK, which writes the same body from them. */
function parametersOf(
  body: JsonObject,
  signal: AbortSignal | undefined,
): GenerateContentParameters {
  const { model, stream: _stream, contents, generationConfig, ...fields }: Body = body;
  return {
    model: String(model),
    contents: contents as unknown as Content[],
    config: {
      ...fields,
      ...(isObject(generationConfig) ? generationConfig : {}),
      ...(signal === undefined ? {} : { abortSignal: signal }),
    },
  };
}

export interface AskedGemini {
  readonly isStreamed: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The whole response. Rejects like the SDK, and if the answer has no end, which the SDK does not notice. */
export async function askGoogle(
  target: Target,
  body: JsonObject,
  { isStreamed, signal }: AskedGemini,
): Promise<JsonObject> {
  const { models } = googleClient(target);
  const parameters = parametersOf(body, signal);
  const responses: unknown[] = [];
  if (isStreamed) {
    for await (const chunk of await models.generateContentStream(parameters)) responses.push(chunk);
  } else {
    responses.push(await models.generateContent(parameters));
  }
  const whole = assembled(parseJson(JSON.stringify(responses)));
  const [candidate] = objects<JsonObject>(whole["candidates"]);
  if (candidate !== undefined && candidate["finishReason"] === undefined) {
    throw new Error("The answer has no end.");
  }
  return whole;
}

/** One response from those of a stream: all parts, and the last figures. */
function assembled(responses: Json): JsonObject {
  const list = objects<JsonObject>(responses);
  const candidates = list.flatMap((response) => objects<JsonObject>(response["candidates"]));
  const parts = candidates.flatMap(({ content }) =>
    isObject(content) ? objects<JsonObject>(content["parts"]) : [],
  );
  const content = { role: "model", parts: joinedParts(parts) };
  const { sdkHttpResponse: _headers, ...whole } = Object.assign({}, ...list) as JsonObject;
  return {
    ...whole,
    ...(list[0]?.["responseId"] === undefined ? {} : { responseId: list[0]["responseId"] }),
    candidates: [{ ...(Object.assign({}, ...candidates) as JsonObject), content }],
  };
}

/** The content of an answer, as clients add it to their history. */
export function contentIn({ candidates }: JsonObject): JsonObject {
  const [candidate] = objects<JsonObject>(candidates);
  return isObject(candidate?.["content"]) ? candidate["content"] : { role: "model", parts: [] };
}
