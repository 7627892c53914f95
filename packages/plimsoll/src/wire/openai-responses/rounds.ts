/** Merges several rounds with the upstream into one answer of the OpenAI Responses wire. */

import { isObject, type JsonObject, numberOr, parseObject, stringOr } from "../../message/json.ts";
import { addWritten, clientUsage } from "../format/openai-usage.ts";
import type { IsOwn, RoundMerger, StreamEvent, WireRounds } from "../format/wire.ts";
import { isOwnItem, isOwnTool } from "./tool-search.ts";

export const responsesRounds: WireRounds = {
  open: openRounds,
  merge: mergeRounds,
  withoutOwnCalls,
  withoutLookups,
};

interface State {
  round: number;
  hasDropped: boolean;
  /** The number of the next event that the client sees. */
  sequence: number;
  /** Items that the client has seen, in their final form. */
  items: JsonObject[];
  /** For each item of the current round, the index that the client sees, or undefined for a call of Plimsoll's tools. */
  places: Map<number, number | undefined>;
  /** The fields that identify the response, taken from the first round. */
  frame: JsonObject;
  written: JsonObject;
  usage: JsonObject | undefined;
  queued: StreamEvent | undefined;
}

function openRounds(isOwn: IsOwn): RoundMerger {
  const state: State = {
    round: 0,
    hasDropped: false,
    sequence: 0,
    items: [],
    places: new Map(),
    frame: {},
    written: {},
    usage: undefined,
    queued: undefined,
  };
  return {
    take: (event) => {
      const json = parseObject(event.data);
      return json === undefined ? [event] : take(state, event, json, isOwn);
    },
    next: () => {
      state.written = addWritten(usageNames, state.written, state.usage);
      state.round++;
      state.places = new Map();
      state.usage = undefined;
      state.queued = undefined;
    },
    end: () => {
      const { queued } = state;
      const json = queued && parseObject(queued.data);
      return queued === undefined || json === undefined
        ? []
        : [lastEvent(state, queued, json, isOwn)];
    },
  };
}

const openings = new Set(["response.created", "response.in_progress", "response.queued"]);

const endings = new Set(["response.completed", "response.incomplete"]);

function take(
  state: State,
  event: StreamEvent,
  json: JsonObject,
  isOwn: IsOwn,
): readonly StreamEvent[] {
  const type = stringOr(json["type"], event.name);
  const response = isObject(json["response"]) ? json["response"] : undefined;
  if (openings.has(type)) {
    if (response !== undefined && Object.keys(state.frame).length === 0)
      state.frame = frameOf(response);
    return state.round === 0 ? [shownEvent(state, event, json, isOwn)] : [];
  }
  if (endings.has(type)) {
    if (response !== undefined && isObject(response["usage"])) state.usage = response["usage"];
    state.queued = event;
    return [];
  }
  if (type === "response.failed" && response !== undefined)
    return [
      numbered(
        state,
        event,
        { ...json, response: framed(state, clientResponse(response, isOwn)) },
        true,
      ),
    ];
  const at = numberOr(json["output_index"], undefined);
  if (at === undefined) return [numbered(state, event, json)];
  return placed(state, event, { json, at, type }, isOwn);
}

interface Placed {
  readonly json: JsonObject;
  readonly at: number;
  readonly type: string;
}

function placed(
  state: State,
  event: StreamEvent,
  { json, at, type }: Placed,
  isOwn: IsOwn,
): readonly StreamEvent[] {
  const item = isObject(json["item"]) ? json["item"] : undefined;
  if (!state.places.has(at)) {
    const isOurs = item !== undefined && isOwnItem(item, isOwn);
    state.places.set(at, isOurs ? undefined : state.items.length);
    if (isOurs) state.hasDropped = true;
    else state.items.push(item ?? {});
  }
  const place = state.places.get(at);
  if (place === undefined) return [];
  if (item !== undefined && type === "response.output_item.done") state.items[place] = item;
  return [numbered(state, event, place === at ? json : { ...json, output_index: place })];
}

/** Continues the numbering. Returns the same event if nothing has to change. */
function numbered(
  state: State,
  event: StreamEvent,
  json: JsonObject,
  isChanged = false,
): StreamEvent {
  const isSame = !isChanged && state.round === 0 && !state.hasDropped;
  const number = numberOr(json["sequence_number"], undefined);
  if (isSame) {
    state.sequence = (number ?? state.sequence) + 1;
    return event;
  }
  const sequence = number === undefined ? {} : { sequence_number: state.sequence++ };
  return { ...event, data: JSON.stringify({ ...json, ...sequence }) };
}

/** These fields depend on the request. The client gets those of the first round, because later rounds send different requests. */
const frameFields = ["id", "created_at", "tool_choice", "previous_response_id"];

function frameOf(response: JsonObject): JsonObject {
  const known = frameFields.filter((name) => response[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, response[name]]));
}

/**
 * The response without Plimsoll's tools. A response lists the tools of its request, but the client does not know Plimsoll's
 * tools. Returns the same object if the response lists none of them.
 */
function clientResponse(response: JsonObject, isOwn: IsOwn): JsonObject {
  const { tools } = response;
  if (!Array.isArray(tools)) return response;
  const kept = tools.filter((tool) => !(isObject(tool) && isOwnTool(tool, isOwn)));
  return kept.length === tools.length ? response : { ...response, tools: kept };
}

/** Rewrites an event that contains the response so far, so that the client sees its own tools and continuous numbers. */
function shownEvent(state: State, event: StreamEvent, json: JsonObject, isOwn: IsOwn): StreamEvent {
  const response = isObject(json["response"]) ? json["response"] : undefined;
  const clientsOwn = response && clientResponse(response, isOwn);
  return clientsOwn === undefined || clientsOwn === response
    ? numbered(state, event, json)
    : numbered(state, event, { ...json, response: clientsOwn }, true);
}

function framed({ frame, items, round }: State, response: JsonObject): JsonObject {
  return round === 0 ? response : { ...response, ...frame, output: items };
}

function lastEvent(state: State, event: StreamEvent, json: JsonObject, isOwn: IsOwn): StreamEvent {
  if (state.round === 0 && !state.hasDropped) return shownEvent(state, event, json, isOwn);
  const response = clientResponse(isObject(json["response"]) ? json["response"] : {}, isOwn);
  const { usage } = response;
  return numbered(state, event, {
    ...json,
    response: {
      ...response,
      ...state.frame,
      output: outputOf(state, response),
      ...(isObject(usage) ? { usage: clientUsage(usageNames, usage, state.written) } : {}),
    },
  });
}

/**
 * All items that the client has seen. Items of the last response replace the streamed items of the same round, because they are
 * in their final form.
 */
function outputOf({ items, places }: State, { output }: JsonObject): readonly JsonObject[] {
  const final = Array.isArray(output) ? output : [];
  const merged = [...items];
  for (const [at, place] of places) {
    const item = final[at];
    if (place !== undefined && isObject(item)) merged[place] = item;
  }
  return merged;
}

const usageNames = {
  input: "input_tokens",
  output: "output_tokens",
  details: "output_tokens_details",
};

function mergeRounds(responses: readonly [JsonObject, ...JsonObject[]], isOwn: IsOwn): JsonObject {
  const [first] = responses;
  const last = responses.at(-1) ?? first;
  const written = responses
    .slice(0, -1)
    .reduce<JsonObject>((sum, { usage }) => addWritten(usageNames, sum, usage), {});
  const { usage } = last;
  return {
    ...clientResponse(last, isOwn),
    ...frameOf(first),
    output: responses.flatMap(({ output }) =>
      (Array.isArray(output) ? output : []).filter(
        (item) => !(isObject(item) && isOwnItem(item, isOwn)),
      ),
    ),
    ...(isObject(usage) ? { usage: clientUsage(usageNames, usage, written) } : {}),
  };
}

function withoutOwnCalls(messages: readonly JsonObject[], isOwn: IsOwn): readonly JsonObject[] {
  return messages.filter((item) => !isOwnItem(item, isOwn));
}

/**
 * Drops reasoning that led only to calls of Plimsoll's tools. The provider refuses reasoning if the items after it are missing.
 */
function withoutLookups(message: Uint8Array, inner: readonly Uint8Array[]): Uint8Array | "nothing" {
  const item = itemOf(message);
  if (item["type"] !== "reasoning") return message;
  const innerItems = inner.map(itemOf);
  const at = innerItems.findIndex((other) => isSameThought(other, item));
  if (at < 0) return message;
  const behind = innerItems.slice(at + 1);
  const end = behind.findIndex(({ type }) => answerTypes.has(stringOr(type, "")));
  // The reasoning belongs to all items that the model wrote before the next result, not only to the next item.
  const came = behind.slice(0, end < 0 ? behind.length : end).filter(isNoThought);
  return came.every((other) => isAnswered(other, innerItems)) ? "nothing" : message;
}

function isNoThought({ type }: JsonObject): boolean {
  return type !== "reasoning";
}

/** Reasoning is the same if the content or the id is the same. Clients that store nothing at the provider leave the id out. */
function isSameThought(one: JsonObject, other: JsonObject): boolean {
  const isSame = (field: string): boolean =>
    one[field] !== undefined && one[field] !== null && one[field] === other[field];
  return one["type"] === "reasoning" && (isSame("encrypted_content") || isSame("id"));
}

/** The output type for each type of call that may be Plimsoll's. */
const answersOf: ReadonlyMap<string, string> = new Map([
  ["function_call", "function_call_output"],
  ["tool_search_call", "tool_search_output"],
]);

const answerTypes: ReadonlySet<string> = new Set(answersOf.values());

/**
 * Whether the call is Plimsoll's. The inner items contain only results of Plimsoll's tools, so a call with a result is
 * Plimsoll's.
 */
function isAnswered(
  { type, call_id: call }: JsonObject,
  innerItems: readonly JsonObject[],
): boolean {
  const answer = answersOf.get(stringOr(type, ""));
  return (
    answer !== undefined &&
    innerItems.some((item) => item["type"] === answer && item["call_id"] === call)
  );
}

function itemOf(bytes: Uint8Array): JsonObject {
  return parseObject(new TextDecoder().decode(bytes)) ?? {};
}
