/** Reads answers of the Gemini wire: one JSON body, or a stream of pieces that each look like a small answer. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { tokenFigure, usageFrom } from "../format/usage.ts";
import type {
  Answer,
  AnswerAccumulator,
  AnswerError,
  Progress,
  WireAnswer,
} from "../format/wire.ts";
import { fieldOf, listOf } from "./fields.ts";

export const geminiAnswer: WireAnswer = {
  open: openAnswer,
  read: readAnswer,
  isCutShort: ({ stopReason }) => stopReason !== undefined && stopReason !== "STOP",
  repeatable: (messages) => messages,
};

interface Candidate {
  fields: JsonObject;
  content: JsonObject;
  parts: JsonObject[];
}

interface State {
  /** The fields of the answer beside its candidates. A later piece replaces those of an earlier one. */
  response: JsonObject | undefined;
  readonly candidates: Map<number, Candidate>;
  error: AnswerError | undefined;
}

/** Maximum number of candidates. No model gives as many. A higher index is ignored. */
const maxIndex = 64;

function openAnswer(): AnswerAccumulator {
  const state: State = { response: undefined, candidates: new Map(), error: undefined };
  return {
    take: ({ data }) => {
      const piece = parseObject(data);
      return piece === undefined ? progressOf(state) : takePiece(state, piece);
    },
    finish: () => finish(state),
  };
}

function takePiece(state: State, piece: JsonObject): Progress {
  if (isObject(piece["error"])) {
    state.error = readError(piece["error"]);
    return "terminal";
  }
  const { candidates, ...rest } = piece;
  if (candidates === undefined && !isAnswerPiece(rest)) return progressOf(state);
  state.response = { ...state.response, ...definedOnly(rest) };
  for (const candidate of listOf(candidates).filter(isObject)) takeCandidate(state, candidate);
  return hasEnded(state) ? "closing" : progressOf(state);
}

/** Whether a piece without candidates is part of an answer. */
function isAnswerPiece(piece: JsonObject): boolean {
  return ["promptFeedback", "usageMetadata", "modelVersion", "responseId"].some(
    (name) => isObject(piece[name]) || typeof piece[name] === "string",
  );
}

function definedOnly(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function takeCandidate(state: State, piece: JsonObject): void {
  const index = numberOr(piece["index"], 0);
  if (index < 0 || index > maxIndex) return;
  const candidate = state.candidates.get(index) ?? { fields: {}, content: {}, parts: [] };
  state.candidates.set(index, candidate);
  const { content, ...fields } = piece;
  candidate.fields = { ...candidate.fields, ...definedOnly(fields) };
  if (!isObject(content)) return;
  const { parts, ...rest } = content;
  candidate.content = { ...candidate.content, ...definedOnly(rest) };
  for (const part of listOf(parts).filter(isObject)) addPart(candidate.parts, part);
}

/**
 * Joins texts that the provider has cut into pieces. A signed text stays a part of its own. An empty text, with which many streams
 * end, is left out, because the provider does not accept it back.
 */
function addPart(parts: JsonObject[], part: JsonObject): void {
  if (isEmptyText(part)) return;
  const last = parts.at(-1);
  const isJoined = last !== undefined && isTextPiece(last) && isTextPiece(part);
  if (isJoined && (last["thought"] === true) === (part["thought"] === true))
    parts[parts.length - 1] = {
      ...last,
      text: stringOr(last["text"], "") + stringOr(part["text"], ""),
    };
  else parts.push(part);
}

function isEmptyText(part: JsonValue): boolean {
  return isObject(part) && part["text"] === "" && Object.keys(part).length === 1;
}

function isTextPiece(part: JsonObject): boolean {
  return (
    typeof part["text"] === "string" &&
    Object.keys(part).every((name) => name === "text" || name === "thought")
  );
}

function progressOf({ candidates }: State): Progress {
  const hasSpoken = [...candidates.values()].some(({ parts }) =>
    parts.some((part) => part["text"] !== ""),
  );
  return hasSpoken ? "content" : "opening";
}

/** Whether the provider has said that the answer is complete, or that it gives none. */
function hasEnded({ response, candidates }: State): boolean {
  const all = [...candidates.values()];
  return isBlocked(response) || (all.length > 0 && all.every(({ fields }) => hasFinished(fields)));
}

/** Whether the provider refuses to answer the prompt. */
export function isBlocked(response: JsonObject | undefined): boolean {
  const feedback = response?.["promptFeedback"];
  return isObject(feedback) && typeof feedback["blockReason"] === "string";
}

/** Whether a candidate says that it is complete. */
export function hasFinished({ finishReason: reason }: JsonObject): boolean {
  return typeof reason === "string" && reason !== "" && reason !== "FINISH_REASON_UNSPECIFIED";
}

function finish(state: State): Answer {
  const candidates = [...state.candidates.entries()]
    .sort(([left], [right]) => left - right)
    .map(([, { fields, content, parts }]) => ({
      ...(Object.keys(content).length === 0 && parts.length === 0
        ? {}
        : { content: { ...content, parts } }),
      ...fields,
    }));
  const response = state.response && {
    ...(candidates.length === 0 ? {} : { candidates }),
    ...state.response,
  };
  const answer = response === undefined ? { choices: [] } : readResponse(response);
  if (state.error !== undefined) return { ...answer, outcome: "error", error: state.error };
  return { ...answer, outcome: hasEnded(state) ? "message" : "cut" };
}

/** A stream without events is one JSON array of its pieces. */
function readAnswer(response: JsonValue): Answer {
  if (Array.isArray(response)) return readPieces(response);
  if (!isObject(response)) return { outcome: "unread", choices: [] };
  if (isObject(response["error"]))
    return { outcome: "error", choices: [], error: readError(response["error"]) };
  if (response["candidates"] === undefined && !isAnswerPiece(response))
    return { outcome: "unread", choices: [] };
  return { outcome: "message", ...readResponse(response) };
}

function readPieces(pieces: readonly JsonValue[]): Answer {
  const accumulator = openAnswer();
  for (const piece of pieces) accumulator.take({ name: "", data: JSON.stringify(piece) });
  return accumulator.finish();
}

/** `status` is Google's name of the error, such as INVALID_ARGUMENT. */
function readError(error: JsonObject): AnswerError {
  return { type: stringOr(error["status"], "error"), message: stringOr(error["message"], "") };
}

function readResponse(response: JsonObject): Omit<Answer, "outcome"> {
  const candidates = listOf(response["candidates"]).filter(isObject);
  const usage = readUsage(response["usageMetadata"]);
  const feedback = response["promptFeedback"];
  const stopReason =
    candidates[0]?.["finishReason"] ?? (isObject(feedback) ? feedback["blockReason"] : undefined);
  return {
    response,
    choices: candidates.flatMap(({ content }) => {
      const all = isObject(content) ? listOf(content["parts"]) : [];
      const parts = all.filter((part) => !isEmptyText(part));
      return parts.length === 0 ? [] : [[{ role: "model", parts }]];
    }),
    ...(usage === undefined ? {} : { usage }),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
  };
}

/** Gemini's prompt figure includes cached tokens, but not the results of its own tools. Thoughts are not in its answer figure. */
function readUsage(usage: JsonValue | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { thoughtsTokenCount: thoughts } = usage;
  return usageFrom({
    input: [usage["promptTokenCount"], usage["toolUsePromptTokenCount"]],
    output: [usage["candidatesTokenCount"], thoughts],
    cacheRead: tokenFigure(usage["cachedContentTokenCount"]) ?? 0,
    reasoning: tokenFigure(thoughts) ?? 0,
  });
}

/** The name of the function that a part calls. Undefined if it calls none. */
export function calledIn(part: JsonValue): string | undefined {
  const call = isObject(part) ? fieldOf(part, "functionCall") : undefined;
  return isObject(call) ? stringOr(call["name"], "") : undefined;
}
