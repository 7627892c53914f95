/** Merges several rounds with the upstream into one answer of the Anthropic Messages wire. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberOr,
  parseObject,
  stringOr,
} from "../../message/json.ts";
import { noteTexts } from "../../text/for-models.ts";
import { withoutLastParts } from "../format/last-parts.ts";
import type { IsOwn, RoundMerger, StreamEvent, WireRounds } from "../format/wire.ts";
import { textBlock, thoughts } from "./cache.ts";

export const anthropicRounds: WireRounds = {
  open: openRounds,
  merge: mergeRounds,
  withoutOwnCalls,
  withoutLookups,
};

interface State {
  /** Number of content blocks that the client has seen. */
  blocks: number;
  hasCalls: boolean;
  round: number;
  hasDropped: boolean;
  /** For each block of the current round, the index that the client sees, or undefined for a call of Plimsoll's tools. */
  places: Map<number, number | undefined>;
  /** Usage that the current round has reported so far. */
  usage: JsonObject;
  /** Output tokens of the earlier rounds. */
  outputTokens: number;
  queued: StreamEvent[];
}

function openRounds(isOwn: IsOwn): RoundMerger {
  const state: State = {
    blocks: 0,
    hasCalls: false,
    round: 0,
    hasDropped: false,
    places: new Map(),
    usage: {},
    outputTokens: 0,
    queued: [],
  };
  return {
    take: (event) => {
      const json = parseObject(event.data);
      return json === undefined ? [event] : take(state, event, json, isOwn);
    },
    next: () => {
      state.outputTokens += numberOr(state.usage["output_tokens"], 0);
      state.round++;
      state.places = new Map();
      state.usage = {};
      state.queued = [];
    },
    end: () => end(state),
  };
}

function take(
  state: State,
  event: StreamEvent,
  json: JsonObject,
  isOwn: IsOwn,
): readonly StreamEvent[] {
  switch (event.name) {
    case "message_start":
      noteUsage(state, isObject(json["message"]) ? json["message"]["usage"] : undefined);
      return state.round === 0 ? [event] : [];
    case "content_block_start":
      placeBlock(state, json, isOwn);
      return renumbered(state, event, json);
    case "content_block_delta":
    case "content_block_stop":
      return renumbered(state, event, json);
    case "message_delta":
      noteUsage(state, json["usage"]);
      state.queued.push(event);
      return [];
    case "message_stop":
      state.queued.push(event);
      return [];
    default:
      return [event];
  }
}

function placeBlock(state: State, json: JsonObject, isOwn: IsOwn): void {
  const block = json["content_block"];
  const isCall = isObject(block) && block["type"] === "tool_use";
  const isOurs = isCall && isOwn(stringOr(block["name"], ""));
  state.places.set(numberOr(json["index"], 0), isOurs ? undefined : state.blocks);
  if (isOurs) state.hasDropped = true;
  else state.blocks++;
  state.hasCalls ||= isCall && !isOurs;
}

function renumbered(state: State, event: StreamEvent, json: JsonObject): readonly StreamEvent[] {
  const index = numberOr(json["index"], 0);
  if (!state.places.has(index)) return [event];
  const place = state.places.get(index);
  if (place === undefined) return [];
  return [place === index ? event : withData(event, { ...json, index: place })];
}

/** Remembers the reported usage. A later figure replaces an earlier one, and null is ignored. */
function noteUsage(state: State, usage: JsonValue | undefined): void {
  if (!isObject(usage)) return;
  const reported = Object.entries(usage).filter(([, value]) => value !== null);
  state.usage = { ...state.usage, ...Object.fromEntries(reported) };
}

function end(state: State): readonly StreamEvent[] {
  if (state.round === 0 && !state.hasDropped) return state.queued;
  return state.queued.map((event) => {
    const json = event.name === "message_delta" ? parseObject(event.data) : undefined;
    return json === undefined ? event : withData(event, lastDelta(state, json));
  });
}

function lastDelta(state: State, json: JsonObject): JsonObject {
  const delta = isObject(json["delta"]) ? json["delta"] : {};
  const spoken = isObject(json["usage"]) ? json["usage"] : {};
  return {
    ...json,
    delta: { ...delta, stop_reason: stopReason(delta["stop_reason"], state.hasCalls) },
    usage: state.round === 0 ? spoken : { ...spoken, ...clientUsage(state.usage, state) },
  };
}

/**
 * Clients use the input tokens to show how full their window is, so the client gets the input tokens of the last round. Its
 * output tokens are the sum of all rounds.
 */
const windowFigures = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

function clientUsage(usage: JsonObject, { outputTokens }: { outputTokens: number }): JsonObject {
  const figures = windowFigures.filter((name) => usage[name] !== undefined);
  return {
    ...Object.fromEntries(figures.map((name) => [name, usage[name]])),
    output_tokens: outputTokens + numberOr(usage["output_tokens"], 0),
  };
}

/** The model may have stopped for a call that the client never sees. The client then gets `end_turn` instead of `tool_use`. */
function stopReason(reason: JsonValue | undefined, hasCalls: boolean): JsonValue {
  return reason === "tool_use" && !hasCalls ? "end_turn" : (reason ?? null);
}

function withData(event: StreamEvent, json: JsonObject): StreamEvent {
  return { ...event, data: JSON.stringify(json) };
}

function mergeRounds(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject {
  const [first] = responses;
  const last = responses.at(-1) ?? first;
  const content = responses.flatMap((response) => clientBlocks(response["content"], isOwn));
  const hasCalls = content.some((block) => isObject(block) && block["type"] === "tool_use");
  const earlier = responses.slice(0, -1).map(({ usage }) => usageOf(usage)["output_tokens"]);
  const outputTokens = earlier.reduce<number>((sum, count) => sum + numberOr(count, 0), 0);
  const usage = usageOf(last["usage"]);
  return {
    ...last,
    ...(first["id"] === undefined ? {} : { id: first["id"] }),
    content,
    stop_reason: stopReason(last["stop_reason"], hasCalls),
    ...(last["usage"] === undefined
      ? {}
      : { usage: { ...usage, ...clientUsage(usage, { outputTokens }) } }),
  };
}

function usageOf(usage: JsonValue | undefined): JsonObject {
  return isObject(usage) ? usage : {};
}

function clientBlocks(content: JsonValue | undefined, isOwn: IsOwn): readonly JsonValue[] {
  return (Array.isArray(content) ? content : []).filter(
    (block) =>
      !(isObject(block) && block["type"] === "tool_use" && isOwn(stringOr(block["name"], ""))),
  );
}

function withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[] {
  return messages
    .map((message) => ({ ...message, content: clientBlocks(message["content"], isOwn) }))
    .filter(({ content }) => content.length > 0);
}

/** Removes thinking from the end of a message, because the call that followed the thinking was removed. */
function withoutLookups(message: Uint8Array): Uint8Array {
  return withoutLastParts(message, {
    field: "content",
    isRemoved: (block) => isObject(block) && thoughts.has(stringOr(block["type"], "")),
    instead: textBlock({ text: noteTexts.onlyLookedUp }),
  });
}
