/** All wires: complete texts and data, the user's last message, and the tool that must be called. */
import { isObject, type JsonObject } from "../../../message/json.ts";
import { isFromUser, isKnownPart, isResult, messagesOf, partsOf } from "../rules/conversation.ts";
import {
  cacheMarks,
  canonical,
  type Field,
  isGiven,
  objectOf,
  objectsOf,
} from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

/** X4: no lone surrogates, and no cut base64 or JSON. */
function* textIsWhole({ body, bodyText }: RuleInput): Generator<Finding> {
  if (bodyText !== undefined && !isJson(bodyText))
    yield { rule: "X4", message: "the body is not JSON" };
  yield* brokenText(body, "");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function* brokenText(value: Field, place: string): Generator<Finding> {
  if (typeof value === "string" && !value.isWellFormed())
    yield { rule: "X4", message: "a text contains a lone surrogate", place };
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* brokenText(item, `${place}/${index}`);
  if (!isObject(value)) return;
  for (const data of base64Of(value))
    if (data.length % 4 !== 0) yield { rule: "X4", message: "base64 data is cut", place };
  for (const [key, field] of Object.entries(value)) yield* brokenText(field, `${place}/${key}`);
}

/** The base64 data of every wire: sources, inline data, audio, and data URLs of images and files. */
function base64Of(value: JsonObject): readonly string[] {
  const source = objectOf(value["source"]);
  const image = value["image_url"];
  const addresses = [isObject(image) ? image["url"] : image, value["file_data"]];
  const data = [
    source["type"] === "base64" ? source["data"] : undefined,
    objectOf(value["inlineData"])["data"],
    objectOf(value["input_audio"])["data"],
    ...addresses.map((address) => /^data:[^,]*;base64,(.*)$/s.exec(String(address))?.[1]),
  ];
  return data.filter((text) => typeof text === "string");
}

/**
 * Maximum length of a user's text that must stay complete, in characters. A longer text may leave no room for an answer, so an
 * excerpt may replace it.
 */
const longestWords = 2000;
const beginningCharacters = 200;

/** Whether a part is unchanged, or is an excerpt of a very long part. An excerpt begins like the original and contains "…". */
function isKept(before: string, after: string | undefined): boolean {
  if (after === before) return true;
  return (
    after !== undefined &&
    before.length > longestWords &&
    after.length < before.length &&
    after.includes("…") &&
    after.startsWith(before.slice(0, beginningCharacters))
  );
}

function containsWords(spokenWords: readonly string[], words: readonly string[]): boolean {
  return spokenWords.some((_, from) =>
    words.every((word, index) => isKept(word, spokenWords[from + index])),
  );
}

/**
 * X5: the last real user message is kept verbatim. A summary may come before it in the same message. Rule X6 covers unknown
 * parts.
 */
function* lastWordsStay({ wire, body, original }: RuleInput): Generator<Finding> {
  const spoken = (of: JsonObject | undefined) =>
    messagesOf(wire, of).filter(({ item }) => isFromUser(wire, item));
  const last = spoken(original).at(-1);
  if (last === undefined) return;
  const words = wordsOf(last.item);
  if (words.length === 0) return;
  const earlier = new Set(spoken(original).map(({ item }) => wordsOf(item).join()));
  // Only Plimsoll's own texts may come after the user's last message. If an earlier message of the user comes last, the last one
  // is missing.
  const kept = spoken(body)
    .map(({ item }) => wordsOf(item))
    .findLast(
      (spokenWords) => containsWords(spokenWords, words) || earlier.has(spokenWords.join()),
    );
  if (kept === undefined || !containsWords(kept, words))
    yield { rule: "X5", message: "the user's last message is missing", place: last.place };
}

function wordsOf(message: JsonObject): readonly string[] {
  return partsOf(message)
    .filter((part) => !isResult(part) && isKnownPart(part))
    .map((part) => canonical(part, cacheMarks));
}

/** X7: the tool named by tool_choice is present and not deferred. */
function* chosenToolIsThere({ wire, body }: RuleInput): Generator<Finding> {
  const tools = wire === "gemini" ? geminiTools(body) : objectsOf(body["tools"]);
  // A toolset adds tools whose names are not in the body, and a search tool of the server has no name either.
  const isOpen = tools.some((tool) => String(tool["type"]).startsWith("mcp"));
  const ready = tools.filter((tool) => tool["defer_loading"] !== true).map(toolName);
  for (const name of chosenNames(body))
    if (!ready.includes(name) && !isOpen)
      yield { rule: "X7", message: `tool ${name} is missing or deferred`, place: "/tool_choice" };
}

function toolName(tool: JsonObject): Field {
  return tool["name"] ?? objectOf(tool["function"])["name"] ?? objectOf(tool["custom"])["name"];
}

function geminiTools(body: JsonObject): readonly JsonObject[] {
  return objectsOf(body["tools"]).flatMap((tool) => objectsOf(tool["functionDeclarations"]));
}

function chosenNames(body: JsonObject): readonly string[] {
  const choice = objectOf(body["tool_choice"]);
  const allowed = objectsOf(objectOf(choice["allowed_tools"])["tools"] ?? choice["tools"]);
  const mode = objectOf(objectOf(body["toolConfig"])["functionCallingConfig"]);
  const inGemini = mode["allowedFunctionNames"];
  const isNamed = (tool: JsonObject) => /^(tool|function|custom)$/.test(String(tool["type"]));
  const names = [choice, ...allowed].filter(isNamed).map(toolName);
  return [...names, ...(Array.isArray(inGemini) ? inGemini : [])].filter(isGiven).map(String);
}

export const crossWireRules: Rules = { X4: textIsWhole, X5: lastWordsStay, X7: chosenToolIsThere };
