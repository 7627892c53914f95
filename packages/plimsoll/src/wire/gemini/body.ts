/** The Gemini wire: request bodies and their limits. The model is in the path. */

import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { OutputSize, Part } from "../../message/message.ts";
import { type FieldReader, readFields } from "../format/body-fields.ts";
import { type BodySlices, readSlices, type Slice } from "../format/slices.ts";
import {
  type BodyParts,
  type FieldValues,
  type WantedReasoning,
  type WireBody,
  type WireRequest,
  wholeSystem,
} from "../format/wire.ts";
import { fieldOf, namesIn, type SpelledTwice, spellingIn } from "./fields.ts";
import { decodeParts } from "./messages.ts";
import { encodeTool } from "./tools.ts";

export const geminiBody: WireBody = {
  read: readRequest,
  compose: composeBody,
  decodeSystem,
  outputFields,
  noTools: (body, slices) => callingConfig(body, slices, { mode: "NONE" }),
  onlyTool: (body, slices, name) =>
    callingConfig(body, slices, { mode: "ANY", allowedFunctionNames: [name] }),
  reasoningFields,
  withoutServerSideHistory: new Map(),
  nothingKept: new Map(),
  headers: [],
  modelByHeaders: () => undefined,
  // The size is from an error of Google's (20,971,520 bytes). The number of images is from memory and was not checked.
  mediaLimits: () => ({ maxBytes: 20_000_000, maxCount: 3600 }),
  profileOf: () => undefined,
  counting: { place: countingPlace, body: countBody, read: readCount, inside: countedIn },
};

/** The field that says which functions the model may call. */
function callingConfig(body: Uint8Array, slices: BodySlices, calling: JsonObject): FieldValues {
  const name = spellingIn(slices.fields, "toolConfig");
  const config = readFields(body, slices).value(name);
  const known = isObject(config) ? config : {};
  const inner = spellingIn(namesIn(known), "functionCallingConfig");
  return new Map([[name, { ...known, [inner]: calling }]]);
}

/** The body's field in the spelling that the body has. */
function objectIn(fields: FieldReader, slices: BodySlices, name: SpelledTwice): JsonObject {
  const value = fields.value(spellingIn(slices.fields, name));
  return isObject(value) ? value : {};
}

function readRequest(body: Uint8Array, slices: BodySlices): WireRequest {
  const fields = readFields(body, slices);
  const config = objectIn(fields, slices, "generationConfig");
  const maxOutputTokens = countIn(config, "maxOutputTokens");
  const thinkingTokens = countIn(thinkingOf(config), "thinkingBudget");
  const system = fields.slice(spellingIn(slices.fields, "systemInstruction"));
  const tools = fields.slice("tools");
  return {
    model: (fields.optionalText("model") ?? "").replace(/^models\//, ""),
    messages: readContents(body, fields),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinkingTokens === undefined ? {} : { thinkingTokens }),
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...restrictions(fields, slices, config),
  };
}

const openBrace = 0x7b;

/** The contents. A single content may be written without brackets. */
function readContents(body: Uint8Array, fields: FieldReader): readonly Slice[] {
  const single = fields.slice("contents");
  return single !== undefined && body[single.start] === openBrace
    ? [single]
    : fields.array("contents");
}

/**
 * A count, which Google's servers also accept as a string. Undefined for a number that is no count, such as -1, which means "as
 * much as the model wants".
 */
function countIn(object: JsonObject, name: SpelledTwice): number | undefined {
  const value = fieldOf(object, name);
  if (value === undefined) return undefined;
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof count !== "number" || Number.isNaN(count))
    throw new PlimsollError("BODY_INVALID", `\`${name}\` must be a number.`, {
      status: 400,
      fields: { field: name },
    });
  return Number.isSafeInteger(Math.floor(count)) && count > 0 ? Math.floor(count) : undefined;
}

function thinkingOf(config: JsonObject): JsonObject {
  const thinking = fieldOf(config, "thinkingConfig");
  return isObject(thinking) ? thinking : {};
}

/** Modes in which the model may choose, by name and by number. */
const freeModes = new Set(["AUTO", "NONE", "MODE_UNSPECIFIED", "0", "1", "3"]);

/**
 * Plimsoll adds no tools if the model may not choose freely, if it gives several answers, or if the provider has the tools in a
 * cached content, because a request with a cached content may not have tools.
 */
function restrictions(
  fields: FieldReader,
  slices: BodySlices,
  config: JsonObject,
): Pick<WireRequest, "forbidsOwnTools" | "wantedTools"> {
  const calling = fieldOf(objectIn(fields, slices, "toolConfig"), "functionCallingConfig");
  const mode = isObject(calling) ? String(calling["mode"] ?? "AUTO") : "AUTO";
  // A call whose arguments come in pieces has its name only in the first piece.
  const isInPieces = isObject(calling) && calling["streamFunctionCallArguments"] === true;
  const isFree =
    !isInPieces &&
    freeModes.has(mode.toUpperCase()) &&
    (countIn(config, "candidateCount") ?? 1) === 1 &&
    fields.value(spellingIn(slices.fields, "cachedContent")) === undefined;
  if (isFree) return {};
  const allowed = isObject(calling) ? fieldOf(calling, "allowedFunctionNames") : undefined;
  const wantedTools = (Array.isArray(allowed) ? allowed : []).filter(
    (name) => typeof name === "string",
  );
  return { forbidsOwnTools: true, wantedTools };
}

function decodeSystem(system: JsonValue): readonly Part[] {
  if (typeof system === "string") return [{ kind: "text", text: system }];
  return isObject(system) ? decodeParts(system["parts"]) : [];
}

/** Models that think up to a budget, and models that know two levels (Google's guide, 2026-11). */
const thinkers = { byBudget: /gemini-2\.5/, byLevel: /gemini-[3-9]/ };
const budgets = { minimal: 512, low: 2048, medium: 8192, high: 16_384 };

function reasoningFields(
  body: Uint8Array,
  slices: BodySlices,
  { effort, model, isMeant }: WantedReasoning,
): FieldValues {
  const config = objectIn(readFields(body, slices), slices, "generationConfig");
  const name = spellingIn(namesIn(config), "thinkingConfig");
  const isAble = isMeant || thinkers.byBudget.test(model) || thinkers.byLevel.test(model);
  if (!isAble || config[name] !== undefined) return new Map();
  const thinking: JsonObject = thinkers.byLevel.test(model)
    ? { thinkingLevel: effort === "minimal" || effort === "low" ? "low" : "high" }
    : { thinkingBudget: budgets[effort] };
  return new Map([
    [spellingIn(slices.fields, "generationConfig"), { ...config, [name]: thinking }],
  ]);
}

function outputFields(
  body: Uint8Array,
  slices: BodySlices,
  { maxTokens, thinkingTokens }: OutputSize,
): FieldValues {
  const name = spellingIn(slices.fields, "generationConfig");
  const config = objectIn(readFields(body, slices), slices, "generationConfig");
  const thinking = thinkingOf(config);
  const isOther =
    thinkingTokens !== undefined && countIn(thinking, "thinkingBudget") !== thinkingTokens;
  const budget = spellingIn(namesIn(thinking), "thinkingBudget");
  return new Map<string, JsonValue>([
    [
      name,
      {
        ...config,
        [spellingIn(namesIn(config), "maxOutputTokens")]: maxTokens,
        ...(isOther
          ? {
              [spellingIn(namesIn(config), "thinkingConfig")]: {
                ...thinking,
                [budget]: thinkingTokens,
              },
            }
          : {}),
      },
    ],
  ]);
}

/** The path of a conversation with another method. `alt` belongs to streams only. */
function countingPlace(conversation: URL): URL {
  const place = new URL(conversation);
  place.pathname = place.pathname.replace(/:[A-Za-z]+$/, ":countTokens");
  place.searchParams.delete("alt");
  return place;
}

function countBody({ model, system, tools }: WireRequest, body: Uint8Array): Uint8Array {
  const textOf = ({ start, end }: Slice): string =>
    new TextDecoder().decode(body.subarray(start, end));
  const fields = [
    `"model":${JSON.stringify(`models/${model}`)}`,
    ...(system === undefined ? [] : [`"systemInstruction":${textOf(system)}`]),
    ...(tools === undefined ? [] : [`"tools":${textOf(tools)}`]),
    '"contents":[{"role":"user","parts":[{"text":"."}]}]',
  ];
  return new TextEncoder().encode(`{"generateContentRequest":{${fields.join(",")}}}`);
}

/** Google's servers count `contents`, or a whole request in a field of its own. */
function countedIn(body: Uint8Array): Slice | undefined {
  const { fields } = readSlices(body);
  return fields.get(spellingIn(fields, "generateContentRequest"));
}

function readCount(answer: JsonValue): number | undefined {
  const tokens = isObject(answer) ? answer["totalTokens"] : undefined;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

function composeBody({
  model,
  system,
  tools,
  messages,
  maxOutputTokens,
  extra,
}: BodyParts): JsonObject {
  const config = extra === undefined ? undefined : fieldOf(extra, "generationConfig");
  return {
    model,
    ...(system === undefined
      ? {}
      : { systemInstruction: { parts: [{ text: wholeSystem(system) }] } }),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(encodeTool) }] }),
    contents: messages,
    ...extra,
    generationConfig: { maxOutputTokens, ...(isObject(config) ? config : {}) },
  };
}
