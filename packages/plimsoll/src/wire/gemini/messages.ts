/** The Gemini wire: reads and writes contents, which are Gemini's messages. */

import {
  canonicalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  stringOr,
} from "../../message/json.ts";
import type {
  Media,
  Message,
  Part,
  Role,
  ToolCallPart,
  ToolResultPart,
} from "../../message/message.ts";
import { geminiTypes, keepingUnknown } from "../format/known-parts.ts";
import type { WireMessages } from "../format/wire.ts";
import { fieldOf, listOf, withoutField } from "./fields.ts";
import { responseOf, textOf } from "./result-text.ts";

/** Fields whose values belong to a tool. A null inside them may mean something to the tool. */
const exactKeys: ReadonlySet<string> = new Set(["args", "response"]);

export const geminiMessages: WireMessages = {
  asMessage: (json) => (isObject(json) ? json : undefined),
  identity: (message, { long } = {}) => canonicalJson(plainContent(message), { long, exactKeys }),
  decode,
  encode,
  withoutNotes: ({ role, parts }) => ({ ...(role === undefined ? {} : { role }), parts }),
  toolCalls: (message) => decode(message).parts.filter((part) => part.kind === "tool-call"),
  ownIds: () => [],
  referenceTo: () => undefined,
};

/**
 * Leaves out what clients change when they send an answer back: ids of calls, signatures, thoughts, empty texts, and the borders
 * between texts.
 */
function plainContent(message: JsonObject): JsonObject {
  const parts: JsonObject[] = [];
  for (const part of withoutRepeats(listOf(message["parts"])).map(plainPart)) {
    if (part === undefined) continue;
    const last = parts.at(-1);
    const isJoined = last !== undefined && isOnlyText(last) && isOnlyText(part);
    if (isJoined)
      parts[parts.length - 1] = {
        text: stringOr(last["text"], "") + stringOr(part["text"], ""),
      };
    else parts.push(part);
  }
  return { ...message, role: message["role"] ?? "user", parts };
}

/** Leaves out a result that has been given before with the same id: Gemini CLI 0.61 gives each twice in a resumed conversation. */
function withoutRepeats(parts: readonly JsonValue[]): readonly JsonValue[] {
  const given = new Set<string>();
  return parts.filter((part) => {
    const result = isObject(part) ? fieldOf(part, "functionResponse") : undefined;
    if (!isObject(result) || typeof result["id"] !== "string") return true;
    const text = canonicalJson(result);
    const isNew = !given.has(text);
    given.add(text);
    return isNew;
  });
}

function isOnlyText(part: JsonObject): boolean {
  return typeof part["text"] === "string" && Object.keys(part).length === 1;
}

function plainPart(part: JsonValue): JsonObject | undefined {
  if (!isObject(part)) return { part };
  if (part["thought"] === true) return undefined;
  const { thought: _thought, ...plain } = withoutField(part, "thoughtSignature");
  if (plain["text"] === "" && Object.keys(plain).length === 1) return undefined;
  if (Object.keys(plain).length === 0) return undefined;
  for (const name of ["functionCall", "functionResponse"] as const) {
    const value = fieldOf(plain, name);
    if (!isObject(value)) continue;
    const { id: _id, ...rest } = value;
    return { ...withoutField(plain, name), [name]: rest };
  }
  return plain;
}

function decode(message: JsonObject): Message {
  const { role } = message;
  const decoded = { role: roleOf(role), parts: decodeParts(message["parts"]) };
  return keepingUnknown(decoded, role, geminiTypes);
}

function roleOf(role: JsonValue | undefined): Role {
  if (role === "model") return "assistant";
  return role === "function" ? "tool" : "user";
}

export function decodeParts(parts: JsonValue | undefined): readonly Part[] {
  const ids = new PlaceIds();
  return listOf(parts).map((part) => decodePart(part, ids));
}

/**
 * Makes ids for calls and results that have none: the name of the function, and its place among the calls or results of that name
 * in the message. A call and its result get the same id, because results come in the order of their calls.
 */
class PlaceIds {
  readonly #counts = new Map<string, number>();

  of(kind: "call" | "result", name: string): string {
    const key = `${kind} ${name}`;
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    return `${name}#${count}`;
  }
}

const placeId = /^(.*)#\d+$/s;

function decodePart(part: JsonValue, ids: PlaceIds): Part {
  if (!isObject(part)) return { kind: "opaque", type: typeof part, json: part };
  const call = fieldOf(part, "functionCall");
  if (isObject(call)) return decodeCall(part, call, ids);
  const response = fieldOf(part, "functionResponse");
  if (isObject(response)) return decodeResponse(response, ids);
  return (
    decodeText(part) ?? decodeMedia(part) ?? { kind: "opaque", type: typeOf(part), json: part }
  );
}

function decodeCall(part: JsonObject, call: JsonObject, ids: PlaceIds): ToolCallPart {
  const name = stringOr(call["name"], "");
  const place = ids.of("call", name);
  return {
    kind: "tool-call",
    id: stringOr(call["id"], "") || place,
    looseId: `${name}#`,
    name,
    input: JSON.stringify(call["args"] ?? {}),
    ...signatureOf(part),
  };
}

function signatureOf(part: JsonObject): { readonly signature?: string } {
  const signature = fieldOf(part, "thoughtSignature");
  return typeof signature === "string" ? { signature } : {};
}

function decodeResponse(result: JsonObject, ids: PlaceIds): ToolResultPart {
  const name = stringOr(result["name"], "");
  const place = ids.of("result", name);
  const response = result["response"];
  return {
    kind: "tool-result",
    callId: stringOr(result["id"], "") || place,
    looseId: `${name}#`,
    name,
    content: [
      { kind: "text", text: textOf(response) },
      ...listOf(result["parts"]).map(
        (inner): Part =>
          (isObject(inner) ? decodeMedia(inner) : undefined) ?? {
            kind: "opaque",
            type: isObject(inner) ? typeOf(inner) : typeof inner,
            json: inner,
          },
      ),
    ],
    isError: isObject(response) && response["error"] !== undefined,
  };
}

/** A thought is reasoning. So is a part that has a signature and nothing else. */
function decodeText(part: JsonObject): Part | undefined {
  const { text, thought } = part;
  const signature = signatureOf(part);
  const isSigned = signature.signature !== undefined;
  const isAlone = isSigned && text === undefined && Object.keys(part).length === 1;
  if (typeof text !== "string" && !isAlone) return undefined;
  const words = stringOr(text, "");
  return thought === true || (isSigned && words === "")
    ? { kind: "reasoning", text: words, ...signature }
    : { kind: "text", text: words };
}

function decodeMedia(part: JsonObject): Part | undefined {
  const inline = fieldOf(part, "inlineData");
  const file = fieldOf(part, "fileData");
  const data = isObject(inline) ? inline : file;
  if (!isObject(data)) return undefined;
  const mediaType = stringOr(fieldOf(data, "mimeType"), "");
  const media: Media = isObject(inline)
    ? { kind: "base64", mediaType, data: stringOr(inline["data"], "") }
    : { kind: "url", url: stringOr(fieldOf(data, "fileUri"), "") };
  return { kind: mediaType.startsWith("image/") ? "image" : "document", media };
}

/** Fields of a part that are not its content. */
const besideContent = new Set(["thought", "videoMetadata", "video_metadata", "partMetadata"]);

/** The type of a part is the name of the field with its content. */
function typeOf(part: JsonObject): string {
  const plain = withoutField(part, "thoughtSignature");
  return Object.keys(plain).find((name) => !besideContent.has(name)) ?? "empty";
}

/**
 * Neighbouring answers become one content, because a call may not follow an answer. Neighbouring results become one content,
 * because a content must have all results of the calls before it.
 */
function encode(messages: readonly Message[], model = ""): readonly JsonObject[] {
  const names = namesOfCalls(messages);
  const encoded: { kind: Role; parts: JsonValue[] }[] = [];
  for (const message of messages) {
    const isResults = message.parts.every(({ kind }) => kind === "tool-result");
    const plain = message.role === "assistant" ? "assistant" : "user";
    const kind = isResults && message.parts.length > 0 ? "tool" : plain;
    const parts = message.parts.flatMap((part) => encodePart(part, names));
    const last = encoded.at(-1);
    if (last?.kind === kind && kind !== "user") last.parts.push(...parts);
    else if (parts.length > 0) encoded.push({ kind, parts });
  }
  return encoded.map(({ kind, parts }) => ({
    role: kind === "assistant" ? "model" : "user",
    parts: kind === "assistant" && signsCalls.test(model) ? withFirstCallSigned(parts) : parts,
  }));
}

function namesOfCalls(messages: readonly Message[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "tool-call"));
  return new Map(calls.map(({ id, name }) => [id, name]));
}

/** Models that accept a call of the current turn only with a signature. */
const signsCalls = /^(?:models\/)?gemini-3/;

/** Google accepts this word on calls that have no signature of their own (ai.google.dev, "Thought signatures"). */
export const unsignedCall = "skip_thought_signature_validator";

function withFirstCallSigned(parts: readonly JsonValue[]): readonly JsonValue[] {
  const first = parts.findIndex((part) => isObject(part) && part["functionCall"] !== undefined);
  const call = parts[first];
  if (!isObject(call) || call["thoughtSignature"] !== undefined) return parts;
  return parts.with(first, { ...call, thoughtSignature: unsignedCall });
}

function encodePart(part: Part, names: ReadonlyMap<string, string>): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return part.text === "" ? [] : [{ text: part.text }];
    case "tool-call":
      return [
        {
          functionCall: { ...idOf(part.id), name: part.name, args: parseArguments(part.input) },
          ...(part.signature === undefined ? {} : { thoughtSignature: part.signature }),
        },
      ];
    case "tool-result":
      return encodeResult(part, names);
    case "reasoning":
      // A thought without a signature is a summary for people. The model does not read it.
      return part.signature === undefined
        ? []
        : [
            {
              text: part.text,
              ...(part.text === "" ? {} : { thought: true }),
              thoughtSignature: part.signature,
            },
          ];
    case "image":
    case "document":
      return [encodeMedia(part.media)];
    case "opaque":
      return isObject(part.json) ? [part.json] : [];
  }
}

/** Ids that Plimsoll has made from names and places are not sent. */
function idOf(id: string): { readonly id?: string } {
  return id === "" || placeId.test(id) ? {} : { id };
}

/** Media inside a result become parts next to it. */
function encodeResult(
  { callId, name, content, isError }: ToolResultPart,
  names: ReadonlyMap<string, string>,
): readonly JsonObject[] {
  const texts = content.flatMap((part) => {
    if (part.kind === "text") return [part.text];
    return part.kind === "opaque" ? [JSON.stringify(part.json)] : [];
  });
  const tool = name ?? names.get(callId) ?? placeId.exec(callId)?.[1] ?? unknownTool;
  const media = content.filter(({ kind }) => kind === "image" || kind === "document");
  return [
    {
      functionResponse: {
        ...idOf(callId),
        name: tool,
        response: responseOf(texts.join("\n"), isError),
      },
    },
    ...media.flatMap((part) => encodePart(part, names)),
  ];
}

/** The name of a result whose call is not among the messages. */
const unknownTool = "unknown_tool";

function parseArguments(input: string): JsonValue {
  try {
    const value = JSON.parse(input || "{}") as JsonValue;
    return isObject(value) ? value : { input: value };
  } catch {
    return { input };
  }
}

function encodeMedia(media: Media): JsonObject {
  switch (media.kind) {
    case "base64":
      return { inlineData: { mimeType: media.mediaType, data: media.data } };
    case "url":
      return { fileData: { fileUri: media.url } };
    case "file":
      return { fileData: { fileUri: media.id } };
  }
}
