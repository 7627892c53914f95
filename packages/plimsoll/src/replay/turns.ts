/** Divides recorded conversations into turns, as a client would send them. Each request contains the whole history. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { type Message, messageText, type Part } from "../message/message.ts";
import type { ToolDefinition } from "../message/tool.ts";
import { withToolNames } from "../message/tool-names.ts";
import { readSlices } from "../wire/format/slices.ts";
import type { Answer, FieldNames, Wire, WireName } from "../wire/format/wire.ts";
import { wires } from "../wire/wires.ts";

/** A whole conversation in the format of one wire. */
export interface Recording {
  readonly id: string;
  readonly wire: WireName;
  /** The request body without its messages. */
  readonly head: JsonObject;
  readonly messages: readonly JsonObject[];
}

/** The messages that a client adds to its next request, and the answer to that request. */
export interface ReplayTurn {
  readonly added: readonly JsonObject[];
  readonly answer?: readonly JsonObject[];
}

/** A conversation in the form in which it is replayed. */
export interface Script {
  readonly id: string;
  readonly wire: Wire;
  readonly model: string;
  readonly maxOutputTokens: number;
  /** The request body without its messages. */
  readonly head: JsonObject;
  /** System messages at the start of the conversation. */
  readonly leadingMessages: readonly JsonObject[];
  readonly turns: readonly ReplayTurn[];
}

export interface ScriptOptions {
  readonly wire: WireName;
  readonly model: string;
  /** Maximum answer length if the recording does not state one. */
  readonly maxOutputTokens: number;
}

/**
 * If the wire is the same, keeps the recorded messages as they are. Otherwise translates the conversation into the other wire.
 */
export function scriptOf(recording: Recording, options: ScriptOptions): Script {
  const { id } = recording;
  const wire = wires[options.wire];
  const recorded = maxOutputOf(recording);
  const maxOutputTokens = recorded ?? options.maxOutputTokens;
  const isSame = recording.wire === options.wire;
  const spoken = isSame ? asRecorded(recording, wire) : converted(recording, wire, options.model);
  const { head, leadingMessages, turns } = spoken;
  const body = wire.body.compose({
    model: options.model,
    messages: [],
    tools: [],
    maxOutputTokens,
    extra: Object.fromEntries(wire.body.nothingKept),
  });
  const { [wire.fields.messages]: _, ...limits } = body;
  const bare = isSame && recorded !== undefined ? {} : limits;
  return {
    id,
    wire,
    model: options.model,
    maxOutputTokens,
    head: { ...bare, ...head, [wire.fields.model]: options.model },
    leadingMessages,
    turns,
  };
}

export function bodyOf(
  { head, leadingMessages, wire }: Script,
  messages: readonly JsonObject[],
): JsonObject {
  return { ...head, [wire.fields.messages]: [...leadingMessages, ...messages] };
}

/** An answer as an upstream would have given it. */
export function answerOf(messages: readonly JsonObject[], usage: Answer["usage"]): Answer {
  return { outcome: "message", choices: [messages], ...(usage === undefined ? {} : { usage }) };
}

function maxOutputOf({ wire, head }: Recording): number | undefined {
  const { body, fields } = wires[wire];
  const bytes = new TextEncoder().encode(JSON.stringify({ ...head, [fields.messages]: [] }));
  try {
    return body.read(bytes, readSlices(bytes)).maxOutputTokens;
  } catch {
    return undefined;
  }
}

type Spoken = Pick<Script, "head" | "leadingMessages" | "turns">;

function asRecorded({ head, messages }: Recording, wire: Wire): Spoken {
  const withRoles = messages.map((json) => ({ json, role: wire.messages.decode(json).role }));
  const begin = withRoles.findIndex(({ role }) => role !== "system");
  const leadingMessages = withRoles.slice(0, begin === -1 ? withRoles.length : begin);
  const turns = turnsOf(withRoles.slice(leadingMessages.length));
  return {
    head,
    leadingMessages: leadingMessages.map(({ json }) => json),
    turns: turns.map(({ added, answer }) => ({
      added: added.map(({ json }) => json),
      ...(answer === undefined ? {} : { answer: answer.map(({ json }) => json) }),
    })),
  };
}

function converted(recording: Recording, wire: Wire, model: string): Spoken {
  const from = wires[recording.wire];
  const messages = withToolNames(recording.messages.map((json) => from.messages.decode(json)));
  const spoken = messages.filter(({ role }) => role !== "system");
  const system = [
    ...systemTexts(from, recording.head),
    ...messages.filter(({ role }) => role === "system").map(messageText),
  ];
  const body = wire.body.compose({
    model: "",
    messages: [],
    tools: toolsOf(from, recording.head, spoken),
    maxOutputTokens: 1,
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
  });
  const first = body[wire.fields.messages];
  return {
    head: promptIn(body, wire.fields),
    leadingMessages: Array.isArray(first) ? first.filter(isObject) : [],
    turns: turnsOf(spoken).map(({ added, answer }) => ({
      added: wire.messages.encode(added, model),
      ...(answer === undefined ? {} : { answer: wire.messages.encode(answer, model) }),
    })),
  };
}

/** Only the tools and the system prompt of a body. */
export function promptIn(body: JsonObject, { tools, system = "" }: FieldNames): JsonObject {
  const names = [tools, system].filter((name) => body[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}

function systemTexts(wire: Wire, head: JsonObject): readonly string[] {
  const system = head[wire.fields.system ?? ""];
  if (system === undefined || system === null) return [];
  const parts: readonly Part[] = wire.body.decodeSystem(system);
  return [messageText({ role: "system", parts })];
}

/**
 * The recorded tools. If the recording has no tools, makes a tool for each name that the model called, because the client must
 * have offered these tools.
 */
function toolsOf(
  wire: Wire,
  head: JsonObject,
  messages: readonly Message[],
): readonly ToolDefinition[] {
  const recorded = wire.tools.list.toolsIn(head[wire.fields.tools]);
  if (recorded.length > 0) return recorded.flatMap((tool) => wire.tools.decode(tool) ?? []);
  const names = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "tool-call" ? [part.name] : [])),
  );
  return [...new Set(names)].map((name) => ({ name, parameters: { type: "object" } }));
}

/** The tool list that a recording without tools must have had, in its own format. Undefined if it calls no tools. */
export function impliedTools({ wire: name, messages }: Recording): JsonValue | undefined {
  const wire = wires[name];
  const decoded = messages.map((json) => wire.messages.decode(json));
  const elements = toolsOf(wire, {}, decoded).map((tool) => wire.tools.encode(tool));
  return elements.length === 0
    ? undefined
    : wire.tools.list.changed(undefined, { elements, isWhole: true });
}

/** If a conversation contains no answer of a model, a request is sent after this many messages. */
const messagesPerRequest = 20;

interface WithRole {
  readonly role: Message["role"];
}

/** Makes one turn for each answer. Consecutive messages of the model are one answer. */
function turnsOf<M extends WithRole>(
  messages: readonly M[],
): readonly { readonly added: readonly M[]; readonly answer?: readonly M[] }[] {
  const isTalk = messages.some(({ role }) => role === "assistant");
  const turns: { added: readonly M[]; answer?: M[] }[] = [];
  let added: M[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    // If the model speaks first, the message is not an answer but a part of the client's history.
    const isAnswer = message.role === "assistant" && (last !== undefined || added.length > 0);
    if (isAnswer && added.length === 0 && last?.answer !== undefined) last.answer.push(message);
    else if (isAnswer) {
      turns.push({ added, answer: [message] });
      added = [];
    } else added.push(message);
    if (!isTalk && added.length >= messagesPerRequest) {
      turns.push({ added });
      added = [];
    }
  }
  return added.length === 0 ? turns : [...turns, { added }];
}
