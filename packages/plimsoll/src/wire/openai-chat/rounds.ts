/** Merges several rounds with the upstream into one answer of the OpenAI Chat Completions wire. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import { addWritten, clientUsage } from "../format/openai-usage.ts";
import type { IsOwn, RoundMerger, StreamEvent, WireRounds } from "../format/wire.ts";
import { type CallSorter, createCallSorter } from "./streamed-calls.ts";

export const chatRounds: WireRounds = {
  open: openRounds,
  merge: mergeRounds,
  withoutOwnCalls,
  withoutLookups: (message) => message,
};

interface State {
  round: number;
  hasDropped: boolean;
  /** Number of calls that the client has seen. */
  calls: number;
  /**
   * For each call of the current round: the index that the client sees, or "own" for a hidden call of Plimsoll's tools, or
   * "unnamed" for a call whose name has not arrived yet.
   */
  places: Map<number, Place>;
  sorter: CallSorter;
  /** Fields that are the same in every chunk of the answer, taken from the first chunk. */
  frame: JsonObject;
  /** Output usage of the earlier rounds. */
  written: JsonObject;
  usage: JsonObject | undefined;
  queued: StreamEvent[];
}

type Place =
  | { readonly kind: "client"; readonly index: number }
  | { readonly kind: "own" }
  | { readonly kind: "unnamed"; readonly waiting: readonly JsonObject[] };

/** If the name of a call has not arrived after this many pieces, Plimsoll passes the call on to the client. */
const maxWaiting = 100;

function openRounds(isOwn: IsOwn): RoundMerger {
  const state: State = {
    round: 0,
    hasDropped: false,
    calls: 0,
    places: new Map(),
    sorter: createCallSorter(),
    frame: {},
    written: {},
    usage: undefined,
    queued: [],
  };
  return {
    take: (event) => {
      if (event.data.trim() === "[DONE]") {
        state.queued.push(event);
        return [];
      }
      const chunk = parseObject(event.data);
      if (chunk === undefined || (chunk["error"] ?? null) !== null) return [event];
      return takeChunk(state, event, chunk, isOwn);
    },
    next: () => {
      state.written = addWritten(usageNames, state.written, state.usage);
      state.round++;
      state.places = new Map();
      state.sorter = createCallSorter();
      state.usage = undefined;
      state.queued = [];
    },
    end: () => end(state),
  };
}

/** The fields by which a client recognises chunks of the same answer. */
const frameFields = ["id", "created", "model", "system_fingerprint", "service_tier"];

function takeChunk(
  state: State,
  event: StreamEvent,
  chunk: JsonObject,
  isOwn: IsOwn,
): readonly StreamEvent[] {
  if (Object.keys(state.frame).length === 0)
    state.frame = Object.fromEntries(
      frameFields.filter((name) => chunk[name] !== undefined).map((name) => [name, chunk[name]]),
    );
  if (isObject(chunk["usage"])) state.usage = chunk["usage"];
  const choice = choiceOf(chunk);
  // A chunk without a choice contains the usage, or nothing.
  if (choice === undefined) {
    if (!isObject(chunk["usage"])) return state.round === 0 ? [event] : [];
    state.queued.push(event);
    return [];
  }
  const delta = isObject(choice["delta"]) ? choice["delta"] : {};
  const kept = withoutRole(state, keptDelta(state, delta, isOwn));
  const hasEnded = (choice["finish_reason"] ?? null) !== null;
  if (!hasEnded) return contentEvent(state, event, { chunk, choice, delta, kept });
  state.queued.push(
    kept === delta && isSilent(delta) ? event : withChoice(event, chunk, { ...choice, delta: {} }),
  );
  const words = { ...choice, finish_reason: null };
  return isSilent(kept) ? [] : [framed(state, event, withDelta(chunk, words, kept))];
}

interface ContentChunk {
  readonly chunk: JsonObject;
  readonly choice: JsonObject;
  readonly delta: JsonObject;
  readonly kept: JsonObject;
}

function contentEvent(
  state: State,
  event: StreamEvent,
  { chunk, choice, delta, kept }: ContentChunk,
): readonly StreamEvent[] {
  if (kept === delta && state.round === 0) return [event];
  // Skips two kinds of chunks: one that only opens an answer in a later round, when the answer is already open, and one that
  // contained only a call of Plimsoll's tools.
  const isFrame = state.round > 0 && isSilent(kept);
  const isEmptied = kept !== delta && isSilent(kept) && kept["role"] === undefined;
  if (isFrame || isEmptied) return [];
  return [framed(state, event, withDelta(chunk, choice, kept))];
}

/**
 * Removes the role in later rounds. The first round has already sent it, and some clients would append the second role to the
 * first.
 */
function withoutRole({ round }: State, delta: JsonObject): JsonObject {
  if (round === 0 || delta["role"] === undefined) return delta;
  const { role: _role, ...rest } = delta;
  return rest;
}

/** Whether the delta contains only a role, or nothing. */
function isSilent(delta: JsonObject): boolean {
  return Object.entries(delta).every(([key, value]) => {
    const isEmpty = Array.isArray(value) && value.length === 0;
    return key === "role" || value === null || value === undefined || value === "" || isEmpty;
  });
}

/** The delta without calls of Plimsoll's tools. Returns the same object if nothing has to change. */
function keptDelta(state: State, delta: JsonObject, isOwn: IsOwn): JsonObject {
  const calls = delta["tool_calls"];
  if (!Array.isArray(calls)) return delta;
  const kept = calls.flatMap((call) => keptCall(state, call, isOwn));
  const isSame = kept.length === calls.length && kept.every((call, at) => call === calls[at]);
  if (isSame) return delta;
  const { tool_calls: _calls, ...rest } = delta;
  return kept.length === 0 ? rest : { ...rest, tool_calls: kept };
}

function keptCall(state: State, call: JsonValue, isOwn: IsOwn): readonly JsonValue[] {
  if (!isObject(call)) return [call];
  const index = state.sorter.callOf(call);
  const known = state.places.get(index) ?? { kind: "unnamed", waiting: [] };
  const place = known.kind === "unnamed" ? placeCall(state, call, known.waiting, isOwn) : known;
  state.places.set(index, place);
  if (place.kind !== "client") return [];
  const waiting = known.kind === "unnamed" ? known.waiting : [];
  const isAsItCame = state.round === 0 && !state.hasDropped && place.index === index;
  return [...waiting, call].map((piece) =>
    isAsItCame || piece["index"] === place.index ? piece : { ...piece, index: place.index },
  );
}

function placeCall(
  state: State,
  call: JsonObject,
  waiting: readonly JsonObject[],
  isOwn: IsOwn,
): Place {
  const called = isObject(call["function"]) ? call["function"] : undefined;
  const name = called === undefined ? "" : stringOr(called["name"], "");
  const isOther = called === undefined && call["custom"] !== undefined;
  if (name === "" && !isOther && waiting.length < maxWaiting)
    return { kind: "unnamed", waiting: [...waiting, call] };
  if (isOwn(name)) {
    state.hasDropped = true;
    return { kind: "own" };
  }
  return { kind: "client", index: state.calls++ };
}

function choiceOf(chunk: JsonObject): JsonObject | undefined {
  const { choices } = chunk;
  const first = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(first) ? first : undefined;
}

function withDelta(chunk: JsonObject, choice: JsonObject, delta: JsonObject): JsonObject {
  return { ...chunk, choices: [{ ...choice, delta }] };
}

function withChoice(event: StreamEvent, chunk: JsonObject, choice: JsonObject): StreamEvent {
  return { ...event, data: JSON.stringify({ ...chunk, choices: [choice] }) };
}

function framed({ frame }: State, event: StreamEvent, chunk: JsonObject): StreamEvent {
  return { ...event, data: JSON.stringify({ ...chunk, ...frame }) };
}

function end(state: State): readonly StreamEvent[] {
  if (state.round === 0 && !state.hasDropped) return state.queued;
  return state.queued.map((event) => {
    const chunk = parseObject(event.data);
    if (chunk === undefined) return event;
    const choice = choiceOf(chunk);
    const usage = isObject(chunk["usage"])
      ? clientUsage(usageNames, chunk["usage"], state.written)
      : undefined;
    return framed(state, event, {
      ...chunk,
      ...(usage === undefined ? {} : { usage }),
      ...(choice === undefined
        ? {}
        : { choices: [{ ...choice, finish_reason: finishReason(choice, state.calls > 0) }] }),
    });
  });
}

/** The model may have stopped for a call that the client never sees. The client then gets `stop` instead of `tool_calls`. */
function finishReason({ finish_reason: reason }: JsonObject, hasCalls: boolean): JsonValue {
  return reason === "tool_calls" && !hasCalls ? "stop" : (reason ?? null);
}

const usageNames = {
  input: "prompt_tokens",
  output: "completion_tokens",
  details: "completion_tokens_details",
};

function mergeRounds(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject {
  const [first] = responses;
  const last = responses.at(-1) ?? first;
  const choice = choiceOf(last) ?? {};
  const messages = responses.map((response) =>
    clientMessage(choiceOf(response)?.["message"], isOwn),
  );
  const message = joinMessages(messages);
  const written = responses
    .slice(0, -1)
    .reduce<JsonObject>((sum, { usage }) => addWritten(usageNames, sum, usage), {});
  const frame = frameFields.filter((name) => first[name] !== undefined);
  const { usage } = last;
  return {
    ...last,
    ...Object.fromEntries(frame.map((name) => [name, first[name]])),
    choices: [
      {
        ...choice,
        message,
        finish_reason: finishReason(choice, message["tool_calls"] !== undefined),
      },
    ],
    ...(isObject(usage) ? { usage: clientUsage(usageNames, usage, written) } : {}),
  };
}

function clientMessage(message: JsonValue | undefined, isOwn: IsOwn): JsonObject {
  if (!isObject(message)) return {};
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const kept = calls.filter((call) => !isOwn(calledName(call)));
  const { tool_calls: _calls, ...rest } = message;
  return kept.length === 0 ? rest : { ...rest, tool_calls: kept };
}

function calledName(call: JsonValue): string {
  const called = isObject(call) ? call["function"] : undefined;
  return isObject(called) ? stringOr(called["name"], "") : "";
}

/** Joins messages as a stream would: appends texts and lists, and uses the last value of every other field. */
function joinMessages(messages: readonly JsonObject[]): JsonObject {
  const joined = new Map<string, JsonValue>();
  for (const [key, value] of messages.flatMap(Object.entries)) {
    const known = joined.get(key);
    const isText = typeof known === "string" && typeof value === "string" && key !== "role";
    if (isText) joined.set(key, known + value);
    else if (Array.isArray(known) && Array.isArray(value)) joined.set(key, [...known, ...value]);
    else joined.set(key, value ?? known ?? null);
  }
  return Object.fromEntries(joined);
}

function withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[] {
  return messages
    .map((message) => clientMessage(message, isOwn))
    .filter((message) => !isSilent(message));
}
