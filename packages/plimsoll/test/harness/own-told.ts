/** The answers that a client got and the results that a model got, in short forms for assertions. */

import { call } from "./answer.ts";
import type { CallPart } from "./answer-parts.ts";
import type { UpstreamRequest } from "./answer-writer.ts";
import { isSoak } from "./effort.ts";
import { callsOf, partsOf } from "./gemini-contents.ts";
import { isObject, isString, type JsonObject, objects, WIRES, type Wire } from "./json.ts";
import { resultsIn } from "./own-judge.ts";
import { bodyIn } from "./own-talk.ts";

/** Every wire, with whole and with streamed answers. */
const ALL_WAYS = WIRES.flatMap((wire) => [
  { name: `${wire} whole`, wire, isStreamed: false },
  { name: `${wire} streamed`, wire, isStreamed: true },
]);
export type Way = (typeof ALL_WAYS)[number];

/**
 * The ways that a suite tries: all of them in a soak run, otherwise one for each wire. Two suites with another `first` try both ways
 * of every wire between them.
 */
export function waysOf(first: "whole" | "streamed"): readonly Way[] {
  return ALL_WAYS.filter(({ wire, isStreamed }) => {
    const isTurned = WIRES.indexOf(wire) % 2 === 1;
    return isSoak || isStreamed === ((first === "streamed") !== isTurned);
  });
}

/** Each wire's mark for the end of an answer. */
export const ENDS: Readonly<Record<Wire, string>> = {
  anthropic: "end_turn",
  "openai-chat": "stop",
  "openai-responses": "completed",
  gemini: "STOP",
};

let callsCount = 0;
export function lookUp(name: string, input: JsonObject): CallPart {
  callsCount += 1;
  return call(`own_${callsCount}`, name, input);
}

/** The object that an SDK assembled, in short form. */
export interface Told {
  readonly text: string;
  /** Names of tools. */
  readonly calls: readonly string[];
  readonly end: unknown;
}

interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly name?: unknown;
  readonly content?: unknown;
}
interface Choice {
  readonly message?: unknown;
  readonly finish_reason?: unknown;
}
interface ChatMessage {
  readonly content?: unknown;
  readonly tool_calls?: unknown;
}

export function told(wire: Wire, heard: JsonObject): Told {
  if (wire === "openai-chat") return toldByChat(heard);
  if (wire === "gemini") return toldByGemini(heard);
  const isAnthropic = wire === "anthropic";
  const items = objects<Block>(heard[isAnthropic ? "content" : "output"]);
  const texts = items
    .flatMap((item) => (item.type === "message" ? objects<Block>(item.content) : [item]))
    .map(({ text }) => (isString(text) ? text : ""));
  return {
    text: texts.join(""),
    calls: items.flatMap(({ name }) => (isString(name) ? [name] : [])),
    end: heard[isAnthropic ? "stop_reason" : "status"],
  };
}

function toldByChat({ choices }: JsonObject): Told {
  const [choice] = objects<Choice>(choices);
  const message: ChatMessage = isObject(choice?.message) ? choice.message : {};
  const calls = objects<{ readonly function?: unknown }>(message.tool_calls);
  return {
    text: isString(message.content) ? message.content : "",
    calls: calls.map(({ function: called }) => String(isObject(called) ? called["name"] : "")),
    end: choice?.finish_reason,
  };
}

function toldByGemini({ candidates }: JsonObject): Told {
  const [candidate] = objects<{ readonly content?: unknown; readonly finishReason?: unknown }>(
    candidates,
  );
  const content = isObject(candidate?.content) ? candidate.content : {};
  const words = partsOf(content).filter(({ thought }) => thought !== true);
  return {
    text: words.map(({ text }) => (isString(text) ? text : "")).join(""),
    calls: callsOf(content).map(({ name }) => String(name)),
    end: candidate?.finishReason,
  };
}

/** The result of a call, as this request shows it to the model. */
export function resultOf(
  wire: Wire,
  request: UpstreamRequest | undefined,
  { id }: Pick<CallPart, "id">,
): string {
  const results = request === undefined ? [] : resultsIn(wire, bodyIn(request));
  const found = results.filter((result) => result.id === id);
  if (found.length !== 1) throw new Error(`The call ${id} has ${found.length} results.`);
  return found[0]?.text ?? "";
}
