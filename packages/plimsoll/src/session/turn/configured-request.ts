/** Applies the settings of the configuration that change a request itself: which tools it may have, and how much a model thinks. */

import { isToolAllowed, type ToolRules } from "../../budget/tool-budget.ts";
import { type Asker, isMeant, type LevelSettings, settingOf } from "../../config/levels.ts";
import type { Config } from "../../config/schema.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { type BodySlices, parseJson, readSlices, type Slice } from "../../wire/format/slices.ts";
import type { FieldValues, WantedReasoning, Wire, WireRequest } from "../../wire/format/wire.ts";
import { type BodyChanges, patchBody, withToolsInMessage } from "../draft/render.ts";
import type { Incoming } from "./context.ts";

/** The request as the configuration wants it. The same object if the configuration changes nothing. */
export function configured(config: Config, incoming: Incoming): Incoming {
  const { provider, wire, body, hints, isBypassed } = incoming;
  if (isBypassed === true || !mayChange(config, { agent: hints.agent, provider })) return incoming;
  const slices = readSlices(body);
  const request = {
    ...wire.body.read(body, slices),
    ...(incoming.model && { model: incoming.model }),
  };
  const asker = { agent: hints.agent, provider, model: request.model };
  const asked: Asked = { wire, body, slices, request };
  const tools = toolsLeft(asked, toolRulesOf(config, asker));
  const fields = new Map([
    ...(tools?.length === 0 ? wire.body.noTools(body, slices) : []),
    ...thinkingFields(asked, wantedReasoning(config, asker)),
  ]);
  if (tools === undefined && fields.size === 0) return incoming;
  return { ...incoming, body: written(asked, tools ?? [], fields), isChangedBySettings: true };
}

const changing: readonly (keyof LevelSettings)[] = ["reasoning", "toolsAllowed", "toolsDenied"];

/** Whether a setting may change the requests of this agent to this provider. Most configurations have none. */
function mayChange(config: Config, asker: Omit<Asker, "model">): boolean {
  const models = config.providers?.[asker.provider]?.models ?? {};
  return ["", ...Object.keys(models)].some((model) =>
    changing.some((key) => settingOf(config, { ...asker, model }, key) !== undefined),
  );
}

export function toolRulesOf(config: Config, asker: Asker): ToolRules {
  const toolsAllowed = settingOf(config, asker, "toolsAllowed");
  const toolsDenied = settingOf(config, asker, "toolsDenied");
  return {
    ...(toolsAllowed === undefined ? {} : { toolsAllowed }),
    ...(toolsDenied === undefined ? {} : { toolsDenied }),
  };
}

/** How much the model is to think. Undefined if the configuration does not say. */
export function wantedReasoning(
  config: Config,
  asker: Asker,
): Pick<WantedReasoning, "effort" | "model" | "isMeant"> | undefined {
  const effort = settingOf(config, asker, "reasoning");
  if (effort === undefined) return undefined;
  return { effort, model: asker.model, isMeant: isMeant(config, asker, "reasoning") };
}

interface Asked {
  readonly wire: Wire;
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly request: WireRequest;
}

/** The tools that the rules leave in the request. Undefined if they leave all of them. */
function toolsLeft(asked: Asked, rules: ToolRules): readonly Uint8Array[] | undefined {
  const { wire, body, slices, request } = asked;
  const { message, elements: inside = [] } = request.toolsInMessage ?? {};
  const holder = request.messages[message ?? -1];
  const bytes = holder === undefined ? body : body.subarray(holder.start, holder.end);
  const listed = holder === undefined ? wire.tools.list.read(body, slices) : inside;
  const called = wire.tools.declaresCalled === true ? toolsCalled(asked) : new Set<string>();
  const isLeft = (slice: Slice): boolean => {
    const name = nameOf(wire, parseJson(bytes, slice));
    return name === "" || isToolAllowed(rules, name) || called.has(name);
  };
  const left = listed.filter(isLeft);
  if (left.length === listed.length) return undefined;
  checkChoice(request, rules);
  return left.map(({ start, end }) => bytes.subarray(start, end));
}

/** A provider's own tool may have only a type. */
function nameOf(wire: Wire, tool: JsonValue): string {
  return wire.tools.nameOf(tool) ?? (isObject(tool) ? stringOr(tool["type"], "") : "");
}

/** The tools whose calls are in the conversation. Some providers refuse a call of a tool that the request does not list. */
function toolsCalled({ wire, body, request }: Asked): ReadonlySet<string> {
  const calls = request.messages.flatMap((slice) => {
    const json = wire.messages.asMessage(parseJson(body, slice));
    return json === undefined ? [] : wire.messages.toolCalls(json);
  });
  return new Set(calls.map(({ name }) => name));
}

function checkChoice({ wantedTools = [] }: WireRequest, rules: ToolRules): void {
  const denied = wantedTools.find((name) => !isToolAllowed(rules, name));
  if (denied === undefined) return;
  throw new PlimsollError(
    "BODY_INVALID",
    `The request tells the model to call the tool ${denied}, which toolsAllowed or toolsDenied of Plimsoll's configuration does not allow. Change the tool choice or the configuration.`,
    { status: 400, fields: { tool: denied } },
  );
}

function thinkingFields(
  { wire, body, slices, request }: Asked,
  wanted: Pick<WantedReasoning, "effort" | "model" | "isMeant"> | undefined,
): FieldValues {
  if (wanted === undefined) return new Map();
  const last = request.messages.slice(-messagesLookedAt).flatMap((slice) => {
    const json = wire.messages.asMessage(parseJson(body, slice));
    return json === undefined ? [] : [wire.messages.decode(json)];
  });
  const isAfterCalls = endsWithUnthoughtCalls(last);
  return wire.body.reasoningFields(body, slices, { ...wanted, isAfterCalls });
}

/** The model's last answer and the results of its calls are among this many messages. */
const messagesLookedAt = 64;

/** Whether the conversation ends with results of calls before which the model did not think. */
export function endsWithUnthoughtCalls(messages: readonly Message[]): boolean {
  const isResult = ({ parts }: Message): boolean =>
    parts.some(({ kind }) => kind === "tool-result");
  const results = messages.length - 1 - messages.findLastIndex((message) => !isResult(message));
  if (results === 0) return false;
  const before = messages.slice(0, messages.length - results);
  const answer = before.slice(before.findLastIndex(({ role }) => role !== "assistant") + 1);
  return !answer.some(({ parts }) => parts.some(({ kind }) => kind === "reasoning"));
}

function written(
  { wire, body, slices, request }: Asked,
  elements: readonly Uint8Array[],
  values: FieldValues,
): Uint8Array {
  const fields = new Map([...values].map(([name, value]) => [name, JSON.stringify(value)]));
  const changes: BodyChanges = { patches: [], fields, tools: { elements, isWhole: true } };
  const { toolsInMessage } = request;
  const holder = request.messages[toolsInMessage?.message ?? -1];
  if (toolsInMessage === undefined || holder === undefined)
    return patchBody(body, slices, wire, changes);
  const item = body.subarray(holder.start, holder.end);
  return patchBody(body, slices, wire, withToolsInMessage(changes, toolsInMessage, item));
}
