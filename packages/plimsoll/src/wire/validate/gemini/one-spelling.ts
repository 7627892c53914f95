/**
 * Gemini bodies in one spelling, for the rules. Google's servers accept `function_call` for `functionCall`, and a single element
 * without the brackets of its list.
 */
import { isObject, type JsonObject, type JsonValue } from "../../../message/json.ts";

/** Fields whose values belong to the user's tools and data. Their names are no names of Google's. */
const foreign = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseSchema",
  "responseJsonSchema",
]);
const lists = new Set(["contents", "parts", "tools", "functionDeclarations"]);

export function inOneSpelling(body: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const usual = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      return [usual, value === undefined ? undefined : spelled(usual, value)];
    }),
  );
}

function spelled(name: string, value: JsonValue): JsonValue {
  if (foreign.has(name)) return value;
  if (Array.isArray(value))
    return value.map((item) => (isObject(item) ? inOneSpelling(item) : item));
  if (!isObject(value)) return value;
  const plain = inOneSpelling(value);
  return lists.has(name) ? [plain] : plain;
}
