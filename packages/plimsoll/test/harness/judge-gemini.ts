/**
 * Checks a Gemini body like a strict provider, from this one body, its model, and the signatures that the provider has
 * issued: known fields, parts with exactly one content, the rules G1 to G4 of wire-fixtures/rules.json (G4 where the
 * signature is known), and functions that are declared once, in one tool. Written from the rules and the provider's
 * texts, independently of the product's validator.
 */
import { signedForm } from "./answer-gemini.ts";
import {
  type Content,
  callsOf,
  contentsIn,
  declarationsIn,
  isGemini3,
  isModel,
  type Named,
  type Part,
  partsOf,
  responsesOf,
} from "./gemini-contents.ts";
import type { Issued } from "./issued.ts";
import { elements, isObject, isString, type JsonObject, objects } from "./json.ts";
import { type Finding, repeated, shape } from "./judge.ts";

interface Body {
  readonly contents?: unknown;
  readonly systemInstruction?: unknown;
  readonly tools?: unknown;
  readonly toolConfig?: unknown;
  readonly generationConfig?: unknown;
  readonly generateContentRequest?: unknown;
}
interface Place {
  readonly content: Content;
  readonly index: number;
}

const BODY_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "safetySettings",
  "generationConfig",
  "cachedContent",
  "labels",
]);
/** A part has exactly one of these. */
const DATA_FIELDS: ReadonlySet<string> = new Set([
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
]);
const PART_FIELDS: ReadonlySet<string> = new Set([
  ...DATA_FIELDS,
  "thought",
  "thoughtSignature",
  "videoMetadata",
  "mediaResolution",
  "partMetadata",
]);
const CALL_FIELDS: ReadonlySet<string> = new Set(["id", "name", "args"]);
const RESPONSE_FIELDS: ReadonlySet<string> = new Set([
  "id",
  "name",
  "response",
  "parts",
  "willContinue",
  "scheduling",
]);
const MODES: readonly unknown[] = ["AUTO", "ANY", "NONE", "VALIDATED"];
const NAME_PATTERN = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
/** Google's own words for a history whose signatures are not known. */
const SKIPPED_SIGNATURES: readonly unknown[] = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
];

/** What the provider says for two faults without naming them. */
const INVALID = "Request contains an invalid argument.";

export interface Judged {
  readonly model: string;
  readonly route: "generateContent" | "countTokens";
}

/** Contract: the body is in one spelling. */
export function judgeGemini(body: unknown, { model, route }: Judged, issued?: Issued): Finding[] {
  if (!isObject(body)) return [shape("Invalid JSON payload received. Expected an object.")];
  const { generateContentRequest: inner }: Body = body;
  if (route === "generateContent" || inner === undefined) {
    return judgeRequest(body, model, issued);
  }
  if (!isObject(inner) || body["contents"] !== undefined) {
    return [
      shape("Invalid value at 'generate_content_request': set either it or 'contents', not both."),
    ];
  }
  if (inner["model"] !== `models/${model}`) {
    return [shape("* GenerateContentRequest.model: unexpected model name format")];
  }
  return judgeRequest(inner, model, issued);
}

function judgeRequest(body: JsonObject, model: string, issued: Issued | undefined): Finding[] {
  const fields: Body = body;
  const places = contentsIn(fields).map((content, index) => ({ content, index }));
  return [
    ...unknownFields(body, BODY_FIELDS, ""),
    ...judgeFields(fields),
    ...places.flatMap(judgeContent),
    ...judgeTools(fields),
    ...judgeToolConfig(fields),
    ...judgeNames(fields, places),
    ...judgePairs(places),
    ...judgeCallTurns(places),
    ...(isGemini3(model) ? judgeSigned(places) : []),
    ...(issued === undefined ? [] : judgeSignatures(places, issued)),
  ];
}

function unknownFields(
  value: JsonObject,
  known: ReadonlySet<string>,
  where: string,
): readonly Finding[] {
  return Object.keys(value)
    .filter((field) => !known.has(field))
    .map((field) => {
      const at = where === "" ? "" : ` at '${where}'`;
      return shape(
        `Invalid JSON payload received. Unknown name "${field}"${at}: Cannot find field.`,
      );
    });
}

function judgeFields(body: Body): Finding[] {
  const findings: Finding[] = [];
  if (elements(body.contents).length === 0) {
    findings.push(shape("* GenerateContentRequest.contents: contents is not specified"));
  }
  if (elements(body.contents).some((content) => !isObject(content))) {
    findings.push(shape("Invalid value at 'contents'"));
  }
  const system = body.systemInstruction;
  if (system !== undefined && (!isObject(system) || partsOf(system).length === 0)) {
    findings.push(shape("Invalid value at 'system_instruction'"));
  }
  if (body.tools !== undefined && !Array.isArray(body.tools)) {
    findings.push(shape("Invalid value at 'tools'"));
  }
  const { maxOutputTokens: most }: { readonly maxOutputTokens?: unknown } = isObject(
    body.generationConfig,
  )
    ? body.generationConfig
    : {};
  if (most !== undefined && (typeof most !== "number" || !Number.isInteger(most) || most < 1)) {
    const message = `Unable to submit request because it has a maxOutputTokens value of ${String(most)} but the supported range is from 1 (inclusive) to 65537 (exclusive).`;
    findings.push(shape(message));
  }
  return findings;
}

/* Contents */

const NO_PARTS =
  "Unable to submit request because it must include at least one parts field, which describes the prompt input.";

function judgeContent({ content, index }: Place): Finding[] {
  const where = `contents[${index}]`;
  if (content.role !== undefined && content.role !== "user" && content.role !== "model") {
    return [{ rule: "G4", message: "Please use a valid role: user, model." }];
  }
  if (!Array.isArray(content.parts) || content.parts.length === 0) {
    return [{ rule: "G4", message: NO_PARTS }];
  }
  return [
    ...unknownFields({ ...content } as JsonObject, new Set(["role", "parts"]), where),
    ...content.parts.flatMap((part: unknown, position) =>
      isObject(part)
        ? judgePart(part, isModel(content), `${where}.parts[${position}]`)
        : [shape(`Invalid value at '${where}.parts[${position}]'`)],
    ),
  ];
}

function judgePart(part: JsonObject, isOfModel: boolean, where: string): Finding[] {
  const data = Object.keys(part).filter((field) => DATA_FIELDS.has(field));
  const unknown = unknownFields(part, PART_FIELDS, where);
  if (unknown.length > 0) return [...unknown];
  if (data.length !== 1) {
    const message = `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field`;
    return [{ rule: "G4", message }];
  }
  const { text, functionCall, functionResponse, thoughtSignature }: Part = part;
  if (text !== undefined && !isString(text)) return [shape(`Invalid value at '${where}.text'`)];
  if (text === "" && thoughtSignature === undefined) {
    const message = "Unable to submit request because it must have a text parameter.";
    return [{ rule: "G4", message }];
  }
  if (functionCall !== undefined) return judgeCall(functionCall, isOfModel, where);
  return functionResponse === undefined ? [] : judgeResponse(functionResponse, isOfModel, where);
}

function judgeCall(called: unknown, isOfModel: boolean, where: string): Finding[] {
  if (!isObject(called)) return [shape(`Invalid value at '${where}.function_call'`)];
  const { name, args = {} } = called;
  return [
    ...unknownFields(called, CALL_FIELDS, `${where}.function_call`),
    ...(isString(name) && isObject(args) ? [] : [shape(`Invalid value at '${where}'`)]),
    ...(isOfModel ? [] : [shape(`${where}: a function call must be in a turn of the model.`)]),
  ];
}

function judgeResponse(given: unknown, isOfModel: boolean, where: string): Finding[] {
  if (!isObject(given)) return [shape(`Invalid value at '${where}.function_response'`)];
  const { name, response } = given;
  return [
    ...unknownFields(given, RESPONSE_FIELDS, `${where}.function_response`),
    ...(isString(name) && isObject(response) ? [] : [shape(`Invalid value at '${where}'`)]),
    ...(isOfModel ? [shape(`${where}: a function response must be in a turn of the user.`)] : []),
  ];
}

/* Functions */

function judgeTools({ tools }: Body): Finding[] {
  const lists = objects<JsonObject>(tools).filter(
    ({ functionDeclarations: functions }) => functions !== undefined,
  );
  const names = declarationsIn(tools).map(({ name }) => String(name));
  return [
    ...(lists.length > 1
      ? [shape("Multiple tools are supported only when they are all search tools.")]
      : []),
    ...(lists.some(({ functionDeclarations: functions }) => elements(functions).length === 0)
      ? [shape("tools[0].function_declarations: should not be empty.")]
      : []),
    ...repeated(names).map((name) => shape(`Duplicate function declaration found: ${name}`)),
    ...names
      .filter((name) => !NAME_PATTERN.test(name))
      .map(() =>
        shape(
          "* GenerateContentRequest.tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ),
      ),
  ];
}

function judgeToolConfig({ tools, toolConfig }: Body): Finding[] {
  const { functionCallingConfig: config }: { readonly functionCallingConfig?: unknown } = isObject(
    toolConfig,
  )
    ? toolConfig
    : {};
  if (config === undefined) return [];
  const declared = declarationsIn(tools).map(({ name }) => name);
  if (declared.length === 0) {
    return [shape("Function calling config is set without function_declarations.")];
  }
  const { mode, allowedFunctionNames: allowed }: JsonObject = isObject(config) ? config : {};
  if (mode !== undefined && !MODES.includes(mode)) {
    return [shape("Invalid value at 'tool_config.function_calling_config.mode'")];
  }
  const names = elements(allowed);
  if (names.length === 0) return [];
  if (mode !== "ANY" && mode !== "VALIDATED") {
    return [shape("Function calling mode must be ANY when allowed function names are set.")];
  }
  return names
    .filter((name) => !declared.some((known) => known === name))
    .map((name) => shape(`The allowed function ${String(name)} is not declared.`));
}

/**
 * A service refuses the result of a function that the request does not declare, and two calls of one content with the
 * same id: both in words that do not say why (watt-mind/coach#280). It is not known what it does if nothing is declared.
 */
function judgeNames({ tools }: Body, places: readonly Place[]): Finding[] {
  const declared = declarationsIn(tools).map(({ name }) => name);
  const named = places.flatMap(({ content }) => [...callsOf(content), ...responsesOf(content)]);
  const ids = places.map(({ content }) => callsOf(content).flatMap(({ id }) => id ?? []));
  return [
    ...(declared.length === 0 ? [] : named)
      .filter(({ name }) => !declared.some((known) => known === name))
      .map(({ name }) => ({
        rule: "G5",
        message: `${INVALID} (The function ${String(name)} is not declared.)`,
      })),
    ...ids
      .filter((each) => repeated(each.map(String)).length > 0)
      .map(() => ({ rule: "G1", message: `${INVALID} (Two calls have the same id.)` })),
  ];
}

/* Calls and results */

const UNEVEN =
  "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";

/** Each content with calls is followed by one content with exactly their results. */
function judgePairs(places: readonly Place[]): Finding[] {
  return places.flatMap(({ content, index }) => {
    const before = places[index - 1]?.content;
    const after = places[index + 1]?.content;
    const calls = callsOf(content);
    const results = responsesOf(content);
    const isAnswered = calls.length === 0 || answers(calls, responsesOf(after));
    const isAsked = results.length === 0 || callsOf(before).length > 0;
    return isAnswered && isAsked ? [] : [{ rule: "G1", message: UNEVEN }];
  });
}

/** By id where both have one, else by name. */
function answers(calls: readonly Named[], results: readonly Named[]): boolean {
  if (calls.length !== results.length) return false;
  const open = [...calls];
  return results.every(({ id, name }) => {
    const found = open.findIndex(
      (called) =>
        called.name === name && (!isString(id) || called.id === undefined || called.id === id),
    );
    if (found >= 0) open.splice(found, 1);
    return found >= 0;
  });
}

function judgeCallTurns(places: readonly Place[]): Finding[] {
  return places
    .filter(({ content, index }) => {
      const before = places[index - 1]?.content;
      return callsOf(content).length > 0 && (before === undefined || isModel(before));
    })
    .map(() => ({
      rule: "G2",
      message:
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    }));
}

/* Signatures */

/** The current turn begins after the last content in which the user said something. */
function judgeSigned(places: readonly Place[]): Finding[] {
  const start = places.findLastIndex(
    ({ content }) =>
      !isModel(content) &&
      partsOf(content).some(({ functionResponse: given }) => given === undefined),
  );
  return places.slice(start + 1).flatMap(({ content }) => {
    const first = partsOf(content).find(({ functionCall: called }) => called !== undefined);
    if (first === undefined || isString(first.thoughtSignature)) return [];
    const message =
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.";
    return [{ rule: "G3", message }];
  });
}

/** Every signature comes back unchanged, and on the part for which it was issued. */
function judgeSignatures(places: readonly Place[], issued: Issued): Finding[] {
  return places
    .flatMap(({ content }) => partsOf(content))
    .filter(({ thoughtSignature: signature }) => signature !== undefined)
    .filter(({ thoughtSignature: signature }) => !SKIPPED_SIGNATURES.includes(signature))
    .filter((part) => {
      const forms = issued.formsSignedBy(String(part.thoughtSignature));
      return !forms.includes(signedForm(part as JsonObject));
    })
    .map(() => ({ rule: "G4", message: "Corrupted thought signature." }));
}
