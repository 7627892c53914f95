/** Merges several rounds with the upstream into one answer of the Gemini wire. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
} from "../../message/json.ts";
import { noteTexts } from "../../text/for-models.ts";
import { withoutLastParts } from "../format/last-parts.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { applySplices } from "../format/splice.ts";
import type { IsOwn, RoundMerger, StreamEvent, WireRounds } from "../format/wire.ts";
import { calledIn, hasFinished, isBlocked } from "./answer.ts";
import { fieldOf, listOf } from "./fields.ts";
import { unsignedCall } from "./messages.ts";

export const geminiRounds: WireRounds = {
  open: openRounds,
  merge: mergeRounds,
  withoutOwnCalls,
  withoutLookups,
};

interface State {
  round: number;
  /** True if the current round calls one of Plimsoll's tools. Another round then follows, or the answer is a different one. */
  hasDropped: boolean;
  /** Fields that a client uses to recognise pieces of one answer, taken from the first piece. */
  frame: JsonObject;
  usage: JsonObject;
  /** Usage of the earlier rounds. */
  written: Written;
  queued: StreamEvent[];
}

interface Written {
  readonly candidates: number;
  readonly thoughts: number;
}

function openRounds(isOwn: IsOwn): RoundMerger {
  const state: State = {
    round: 0,
    hasDropped: false,
    frame: {},
    usage: {},
    written: { candidates: 0, thoughts: 0 },
    queued: [],
  };
  return {
    take: (event) => {
      const piece = parseObject(event.data);
      if (piece === undefined || isObject(piece["error"])) return [event];
      if (state.queued.length > 0 && listOf(piece["candidates"]).length === 0) {
        // Some servers report the usage after the last piece.
        if (isObject(piece["usageMetadata"])) state.usage = piece["usageMetadata"];
        state.queued.push(event);
        return [];
      }
      return [...released(state), ...takePiece(state, event, piece, isOwn)];
    },
    next: () => {
      state.written = addWritten(state.written, state.usage);
      state.round++;
      state.hasDropped = false;
      state.usage = {};
      state.queued = [];
    },
    end: () => end(state),
  };
}

/**
 * The pieces that were held back as the last of their round, because another piece follows them. If the round calls Plimsoll's
 * tools, their words were sent already.
 */
function released(state: State): readonly StreamEvent[] {
  const held = state.queued;
  state.queued = [];
  if (state.hasDropped) return [];
  return state.round === 0
    ? held
    : held.map((event) => framed(state, event, withoutEnd(parseObject(event.data) ?? {})));
}

const frameFields = ["responseId", "modelVersion", "createTime"];

function takePiece(
  state: State,
  event: StreamEvent,
  piece: JsonObject,
  isOwn: IsOwn,
): readonly StreamEvent[] {
  if (Object.keys(state.frame).length === 0) state.frame = frameOf(piece);
  if (isObject(piece["usageMetadata"])) state.usage = piece["usageMetadata"];
  const candidate = listOf(piece["candidates"]).find(isObject);
  const isLast = (candidate !== undefined && hasFinished(candidate)) || isBlocked(piece);
  const parts = candidate === undefined ? [] : partsOf(candidate);
  const kept = parts.filter((part) => !isOwnCall(part, isOwn));
  state.hasDropped ||= kept.length < parts.length;
  if (!isLast) return contentPiece(state, event, { piece, parts, kept });
  if (!state.hasDropped) {
    // The round ends the answer, so its last piece can wait as a whole.
    state.queued.push(event);
    return [];
  }
  state.queued.push(withPiece(event, withoutContent(piece)));
  const words = withoutEnd(withParts(piece, kept));
  return isSilent(kept) ? [] : [framed(state, event, words)];
}

interface ContentPiece {
  readonly piece: JsonObject;
  readonly parts: readonly JsonValue[];
  readonly kept: readonly JsonValue[];
}

function contentPiece(
  state: State,
  event: StreamEvent,
  { piece, parts, kept }: ContentPiece,
): readonly StreamEvent[] {
  const isWhole = kept.length === parts.length;
  if (isWhole && state.round === 0) return [event];
  if (kept.length === 0) return [];
  return [framed(state, event, isWhole ? piece : withParts(piece, kept))];
}

function frameOf(piece: JsonObject): JsonObject {
  const names = frameFields.filter((name) => piece[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, piece[name]]));
}

function partsOf(candidate: JsonObject): readonly JsonValue[] {
  return isObject(candidate["content"]) ? listOf(candidate["content"]["parts"]) : [];
}

function isOwnCall(part: JsonValue, isOwn: IsOwn): boolean {
  const name = calledIn(part);
  return name !== undefined && isOwn(name);
}

/** Whether the parts contain nothing that a client would show. */
function isSilent(parts: readonly JsonValue[]): boolean {
  return parts.every(
    (part) => isObject(part) && part["text"] === "" && Object.keys(part).length === 1,
  );
}

/** A copy of the piece. Its first candidate has the given parts instead of its own. */
function withParts(piece: JsonObject, parts: readonly JsonValue[]): JsonObject {
  const [first, ...others] = listOf(piece["candidates"]);
  if (!isObject(first)) return piece;
  const content = isObject(first["content"]) ? first["content"] : { role: "model" };
  return { ...piece, candidates: [{ ...first, content: { ...content, parts } }, ...others] };
}

/** The piece without its words, which only ends the answer. */
function withoutContent(piece: JsonObject): JsonObject {
  const [first, ...others] = listOf(piece["candidates"]);
  if (!isObject(first)) return piece;
  const { content: _content, ...rest } = first;
  return { ...piece, candidates: [rest, ...others] };
}

/** The piece as one that does not end the answer. */
function withoutEnd(piece: JsonObject): JsonObject {
  const [first, ...others] = listOf(piece["candidates"]);
  if (!isObject(first)) return piece;
  const { finishReason: _reason, finishMessage: _message, ...rest } = first;
  return { ...piece, candidates: [rest, ...others] };
}

function withPiece(event: StreamEvent, piece: JsonObject): StreamEvent {
  return { ...event, data: JSON.stringify(piece) };
}

function framed({ frame }: State, event: StreamEvent, piece: JsonObject): StreamEvent {
  return withPiece(event, { ...piece, ...frame });
}

function end(state: State): readonly StreamEvent[] {
  if (state.round === 0) return state.queued;
  return state.queued.map((event) => {
    const piece = parseObject(event.data);
    if (piece === undefined) return event;
    const usage = isObject(piece["usageMetadata"])
      ? { usageMetadata: clientUsage(piece["usageMetadata"], state.written) }
      : {};
    return framed(state, event, { ...piece, ...usage });
  });
}

function addWritten({ candidates, thoughts }: Written, usage: JsonObject): Written {
  return {
    candidates: candidates + numberOr(usage["candidatesTokenCount"], 0),
    thoughts: thoughts + numberOr(usage["thoughtsTokenCount"], 0),
  };
}

/**
 * Clients use the input tokens to show how full their window is, so the client gets the input tokens of the last round. Its
 * output tokens are the sum of all rounds.
 */
function clientUsage(usage: JsonObject, written: Written): JsonObject {
  const { candidates, thoughts } = addWritten(written, usage);
  const total = numberOr(usage["totalTokenCount"], undefined);
  return {
    ...usage,
    candidatesTokenCount: candidates,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(total === undefined
      ? {}
      : { totalTokenCount: total + written.candidates + written.thoughts }),
  };
}

function mergeRounds(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject {
  const [first] = responses;
  const last = responses.at(-1) ?? first;
  const parts = responses.flatMap((response) => {
    const candidate = listOf(response["candidates"]).find(isObject);
    return candidate === undefined ? [] : clientParts(partsOf(candidate), isOwn);
  });
  const written = responses
    .slice(0, -1)
    .reduce<Written>(
      (sum, { usageMetadata: usage }) => addWritten(sum, isObject(usage) ? usage : {}),
      { candidates: 0, thoughts: 0 },
    );
  const usage = last["usageMetadata"];
  const merged = listOf(last["candidates"]).length === 0 ? last : withParts(last, parts);
  return {
    ...merged,
    ...frameOf(first),
    ...(isObject(usage) && responses.length > 1
      ? { usageMetadata: clientUsage(usage, written) }
      : {}),
  };
}

function clientParts(parts: readonly JsonValue[], isOwn: IsOwn): readonly JsonValue[] {
  return parts.filter((part) => !isOwnCall(part, isOwn));
}

function withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[] {
  return messages
    .map((message) => ({ ...message, parts: clientParts(listOf(message["parts"]), isOwn) }))
    .filter(({ parts }) => parts.length > 0);
}

/**
 * Removes thoughts and bare signatures from the end of a content, because the call that followed them was removed. If that call
 * had the signature of the answer, the first call that is left gets the word that Google accepts in place of a signature.
 */
function withoutLookups(message: Uint8Array, inner: readonly Uint8Array[]): Uint8Array {
  const left = withoutLastParts(message, {
    field: "parts",
    isRemoved: isThought,
    instead: { text: noteTexts.onlyLookedUp },
  });
  return inner.some((bytes) => isSigned(firstCall(bytes)?.json)) ? withSignedCall(left) : left;
}

function isThought(part: JsonValue): boolean {
  if (!isObject(part)) return false;
  return part["thought"] === true || (part["text"] === "" && isSigned(part));
}

function isSigned(part: JsonObject | undefined): boolean {
  return part !== undefined && fieldOf(part, "thoughtSignature") !== undefined;
}

interface PlacedPart {
  readonly slice: Slice;
  readonly json: JsonObject;
}

/** The first part of a content that calls a function. */
function firstCall(message: Uint8Array): PlacedPart | undefined {
  for (const slice of readSlices(message).elements.get("parts") ?? []) {
    const json = parseJson(message, slice);
    if (isObject(json) && calledIn(json) !== undefined) return { slice, json };
  }
  return undefined;
}

function withSignedCall(message: Uint8Array): Uint8Array {
  const call = firstCall(message);
  if (call === undefined || isSigned(call.json)) return message;
  const at = call.slice.end - 1;
  const text = `,"thoughtSignature":${JSON.stringify(unsignedCall)}`;
  return applySplices(message, [{ start: at, end: at, text }]);
}
