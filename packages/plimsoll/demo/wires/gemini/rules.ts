/** The rules of a strict provider of Gemini. The rules that all wires share are in `judge.ts`. */

import { firstFault, isObject } from "../form.ts";
import { type Body, type Content, type ContentPart, declaredIn, signatureOf } from "./body.ts";

/** A part has exactly one of these. */
const dataFields = ["text", "inlineData", "functionCall", "functionResponse"];
/** Google's own word for a call whose signature is not known. */
const unsigned = "skip_thought_signature_validator";

export function faultIn(body: unknown): string | undefined {
  if (!isRequest(body)) return "contents and generationConfig.maxOutputTokens: not specified";
  const { contents, tools = [] } = body;
  if (tools.length > 1) return "Multiple tools are supported only when they are all search tools.";
  const names = declaredIn(body.tools);
  return (
    firstFault(contents, (content, index) => faultInContent(content, `contents[${index}]`)) ??
    firstFault(contents, (content) => faultInNames(content, names)) ??
    firstFault(contents, (_, index) => faultInTurn(contents, index)) ??
    faultInSignatures(contents)
  );
}

function isRequest(body: unknown): body is Body {
  if (!isObject(body)) return false;
  const { contents, generationConfig: config } = body;
  return Array.isArray(contents) && isObject(config) && Number(config["maxOutputTokens"]) > 0;
}

function faultInContent({ role, parts }: Content, place: string): string | undefined {
  if (role !== "user" && role !== "model") return `${place}: please use a valid role: user, model`;
  if (!Array.isArray(parts) || parts.length === 0)
    return `${place}: must include at least one parts field`;
  return firstFault(parts as Content["parts"], (part, index) => {
    const fields = Object.keys(part).filter((field) => field !== "thoughtSignature");
    if (fields.length !== 1 || !dataFields.includes(fields[0] ?? ""))
      return `${place}.parts[${index}].data: required oneof field 'data' must have one initialized field`;
    const { functionCall: call, functionResponse: result } = part;
    if (call !== undefined && role === "user") return `${place}: a function call of the user`;
    if (result !== undefined && (role === "model" || !isObject(result.response)))
      return `${place}: invalid function response`;
    return undefined;
  });
}

function callsOf(content: Content | undefined): NonNullable<ContentPart["functionCall"]>[] {
  return (content?.parts ?? []).flatMap(({ functionCall: call }) => call ?? []);
}

function resultsOf(content: Content | undefined): NonNullable<ContentPart["functionResponse"]>[] {
  return (content?.parts ?? []).flatMap(({ functionResponse: result }) => result ?? []);
}

function faultInNames(content: Content, names: readonly string[]): string | undefined {
  const strange = [...callsOf(content), ...resultsOf(content)].find(
    ({ name }) => !names.includes(name),
  );
  return strange === undefined ? undefined : `The function ${strange.name} is not declared.`;
}

/** A content with calls comes after the user's, and the next content has exactly their results. */
function faultInTurn(contents: readonly Content[], index: number): string | undefined {
  const calls = callsOf(contents[index]);
  const results = resultsOf(contents[index]);
  if (calls.length > 0 && contents[index - 1]?.role !== "user")
    return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  const before = callsOf(contents[index - 1]);
  const isEven =
    results.length === before.length &&
    results.every(({ id, name }) => before.some((call) => call.id === id && call.name === name));
  return isEven
    ? undefined
    : "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
}

/** Every signature is on its own call. In the current turn, the first call of each content has one. */
function faultInSignatures(contents: readonly Content[]): string | undefined {
  const parts = contents.flatMap((content) => content.parts);
  const isOwn = ({ functionCall: call, thoughtSignature: signature }: ContentPart): boolean =>
    signature === undefined || signature === unsigned || signature === signatureOf(call?.id ?? "");
  if (!parts.every(isOwn)) return "Corrupted thought signature.";
  const start = contents.findLastIndex(
    ({ role, parts: said }) =>
      role === "user" && said.some(({ functionResponse: result }) => result === undefined),
  );
  const isUnsigned = contents.slice(start + 1).some((content) => {
    const first = content.parts.find(({ functionCall: call }) => call !== undefined);
    return first !== undefined && first.thoughtSignature === undefined;
  });
  return isUnsigned
    ? "Function call is missing a thought_signature in functionCall parts."
    : undefined;
}
