/** The contents of the Gemini wire: their parts, calls and results, and the functions that a request declares. */
import { isObject, isString, type Json, type JsonObject, objects } from "./json.ts";

export interface Part {
  readonly text?: unknown;
  readonly thought?: unknown;
  readonly thoughtSignature?: unknown;
  readonly functionCall?: unknown;
  readonly functionResponse?: unknown;
  readonly inlineData?: unknown;
}
export interface Content {
  readonly role?: unknown;
  readonly parts?: unknown;
}
/** The fields of a call and of its result. */
export interface Named {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly args?: unknown;
  readonly response?: unknown;
}

/** The newest models sign their parts, and give ids to their calls. */
export function isGemini3(model: string): boolean {
  return /^gemini-[3-9]/.test(model);
}

export function contentsIn(body: { readonly contents?: unknown }): readonly JsonObject[] {
  return objects<JsonObject>(body.contents);
}

export function partsOf(content: Content | undefined): readonly Part[] {
  return objects<Part>(content?.parts);
}

/** A content of the model. A content without a role is the user's. */
export function isModel(content: Content): boolean {
  return content.role === "model";
}

export function callsOf(content: Content | undefined): readonly Named[] {
  return partsOf(content).flatMap(({ functionCall: called }) => (isObject(called) ? [called] : []));
}

export function responsesOf(content: Content | undefined): readonly Named[] {
  return partsOf(content).flatMap(({ functionResponse: result }) =>
    isObject(result) ? [result] : [],
  );
}

/** The id of each call or result of one content. Without an id, its place among those of its name counts. */
export function idsOf(named: readonly Named[]): readonly string[] {
  return named.map(({ id, name }, index) => {
    if (isString(id)) return id;
    const before = named.slice(0, index).filter((other) => other.name === name).length;
    return `${String(name)}#${before}`;
  });
}

/** The functions in the `tools` of a request. */
export function declarationsIn(tools: unknown): readonly JsonObject[] {
  return objects<{ readonly functionDeclarations?: unknown }>(tools).flatMap(
    ({ functionDeclarations: functions }) => objects<JsonObject>(functions),
  );
}

/** The result as text: its only text, or its JSON. The AI SDK adds the name of the function. */
export function resultText({ name, response }: Named): string {
  if (!isObject(response)) return JSON.stringify(response);
  const values = Object.entries(response)
    .filter(([field, value]) => field !== "name" || value !== name)
    .map(([, value]) => value);
  const [value] = values;
  return values.length === 1 && isString(value) ? value : JSON.stringify(response);
}

/** A text part that can be joined with its neighbour: no signature, and both thoughts or both words. */
function isJoinable(part: JsonObject, next: JsonObject): boolean {
  return [part, next].every(
    (each) => isString(each["text"]) && each["thoughtSignature"] === undefined,
  )
    ? (part["thought"] === true) === (next["thought"] === true)
    : false;
}

/** Neighbouring texts as one part. Parts with a signature stay as they are. */
export function joinedParts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last !== undefined && isJoinable(last, part)) {
      joined[joined.length - 1] = {
        ...last,
        text: `${String(last["text"])}${String(part["text"])}`,
      };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

/** Inside these fields, names belong to the client. */
const FOREIGN_FIELDS: ReadonlySet<string> = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseSchema",
  "responseJsonSchema",
  "labels",
  "partMetadata",
]);
const LISTS: ReadonlySet<string> = new Set(["contents", "parts", "tools", "functionDeclarations"]);

/** The body with one spelling: the service also takes `function_call`, and a single element without brackets. */
export function inOneSpelling(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((element) => inOneSpelling(element) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const field = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      if (FOREIGN_FIELDS.has(field)) return [field, inner];
      const listed = LISTS.has(field) && isObject(inner) ? [inner] : inner;
      return [field, inOneSpelling(listed)];
    }),
  );
}
