/** The text in a function response. Its `response` is an object, and clients put the text of a result into different fields. */

import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";

/** Fields that contain the text of a result: Gemini CLI, Google's SDK, the AI SDK, and errors. */
const textFields = ["output", "result", "content", "error"] as const;

/** Fields next to the text that are longer than this are content too. The whole object is then the text. */
const maxOtherChars = 200;

/** The field that contains the text. Undefined if the whole object is the content of the result. */
export function textFieldOf(response: JsonValue | undefined): string | undefined {
  if (!isObject(response)) return undefined;
  const name = textFields.find((field) => typeof response[field] === "string");
  if (name === undefined) return undefined;
  const { [name]: _text, ...others } = response;
  return JSON.stringify(others).length <= maxOtherChars ? name : undefined;
}

export function textOf(response: JsonValue | undefined): string {
  const name = textFieldOf(response);
  const text = name === undefined || !isObject(response) ? undefined : response[name];
  return typeof text === "string" ? text : JSON.stringify(response ?? {});
}

export function responseOf(text: string, isError: boolean): JsonObject {
  return isError ? { error: text } : { output: text };
}
