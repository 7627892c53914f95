/** Counts the tokens of a request by component: the preamble (system prompt and tool schemas) and the conversation. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { addCounts, type Measurement, measurement } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, parseObject } from "../../message/json.ts";
import { sha256 } from "../../store/body.ts";
import type { Slice } from "../../wire/format/slices.ts";
import type { Wire, WireRequest } from "../../wire/format/wire.ts";
import type { LogMessage } from "../log/log.ts";
import type { FactsReader } from "./message-facts.ts";
import type { Target } from "./target.ts";

/** Everything before the conversation. It rarely changes, so it is stored once per content. */
export interface Preamble {
  /** Hash of the preamble. Undefined if the request has neither a system prompt nor tools. */
  readonly hash?: string;
  readonly bytes: Uint8Array;
  readonly system: Count;
  readonly tools: Count;
}

const nothing: Count = { tokens: 0, certainty: "exact" };
const notThere = { ...nothing, isGuess: false };
const decoder = new TextDecoder();
const encoder = new TextEncoder();

export interface PreambleReader {
  /** Reads the preamble of a request from its body. */
  read(body: Uint8Array, request: WireRequest, target: Target): Promise<Preamble>;
  /** Makes a preamble from the JSON texts of the system prompt and the tools, in the format of the wire. */
  make(text: PreambleText, target: Target): Promise<Preamble>;
}

interface PreambleText {
  readonly system?: string | undefined;
  readonly tools?: string | undefined;
}

/** Maximum number of preambles to remember. A preamble usually stays the same for hundreds of turns. */
const maxPreambles = 500;

export function createPreambleReader(facts: FactsReader): PreambleReader {
  const known = new BoundedMap<string, Preamble>({ entries: maxPreambles });

  const count = async (
    { system, tools }: PreambleText,
    target: Target,
  ): Promise<Pick<Preamble, "system" | "tools"> & { isGuess: boolean }> => {
    const counted = {
      system:
        system === undefined
          ? notThere
          : await facts.countSystem(target.wire, checkJson(system), target.ruler),
      tools:
        tools === undefined ? notThere : await facts.countTools(checkJson(tools), target.ruler),
    };
    const prompt = tools === undefined ? 0 : (target.ruler.toolPromptTokens ?? 0);
    counted.tools = { ...counted.tools, tokens: counted.tools.tokens + prompt };
    return { ...counted, isGuess: counted.system.isGuess || counted.tools.isGuess };
  };

  const make = async (text: PreambleText, target: Target): Promise<Preamble> => {
    const packed = packPreamble(text);
    const key = `${target.wire.name}\0${target.ruler.key}\0${packed.hash}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const { isGuess, ...counts } = await count(text, target);
    const preamble = { ...packed, ...counts };
    return isGuess ? preamble : known.set(key, preamble);
  };

  return {
    make,
    read: (body, request, target) => {
      const textOf = (slice: Slice | undefined): string | undefined =>
        slice && decoder.decode(body.subarray(slice.start, slice.end));
      return make({ system: textOf(request.system), tools: textOf(request.tools) }, target);
    },
  };
}

function checkJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (cause) {
    const message = "The system prompt or the tools are not valid JSON.";
    throw new PlimsollError("BODY_INVALID", message, { status: 400, cause });
  }
}

/** The preamble in the form in which it is stored: `{"system":…,"tools":…}`, with the client's own text in both fields. */
function packPreamble({ system, tools }: PreambleText): Pick<Preamble, "hash" | "bytes"> {
  if (system === undefined && tools === undefined) return { bytes: new Uint8Array() };
  const fields = [
    ...(system === undefined ? [] : [`"system":${system}`]),
    ...(tools === undefined ? [] : [`"tools":${tools}`]),
  ];
  const bytes = encoder.encode(`{${fields.join(",")}}`);
  return { hash: sha256(bytes), bytes };
}

/**
 * The preamble as it is stored with a turn. Some wires have the system prompt among the messages. If this turn's system prompt
 * differs from the one in the log, the new one is stored in the preamble, as `"leading"`.
 */
export function storedPreamble(
  preamble: Pick<Preamble, "hash" | "bytes">,
  leadingMessages: readonly Uint8Array[] | undefined,
): Pick<Preamble, "hash" | "bytes"> {
  if (leadingMessages === undefined) return preamble;
  const rest = decoder.decode(preamble.bytes).slice(1);
  const leading = `{"leading":[${leadingMessages.map((bytes) => decoder.decode(bytes)).join(",")}]`;
  const bytes = encoder.encode(rest === "" ? `${leading}}` : `${leading},${rest}`);
  return { hash: sha256(bytes), bytes };
}

/** The parts of a body that are not its preamble. */
export interface Spoken {
  readonly model: string;
  readonly messages: readonly JsonObject[];
}

/** Builds a request body from a stored preamble, a model and messages. */
export function bodyWithHead(
  wire: Wire,
  preamble: Uint8Array | undefined,
  { model, messages }: Spoken,
): JsonObject {
  const { fields, leadingMessages } = preambleInBody(wire, preamble);
  return {
    ...fields,
    [wire.fields.model]: model,
    [wire.fields.messages]: [...leadingMessages, ...messages],
  };
}

interface PreambleInBody {
  readonly fields: JsonObject;
  /** The system prompt, if the wire has it among the messages and the log does not have it. */
  readonly leadingMessages: readonly JsonObject[];
}

/** A stored preamble, in the form that a request body of its wire needs. */
function preambleInBody(wire: Wire, preamble: Uint8Array | undefined): PreambleInBody {
  const { fields } = wire;
  const stored = preamble === undefined ? undefined : parseObject(decoder.decode(preamble));
  const { system, tools } = stored ?? {};
  const listed = tools === undefined ? {} : { [fields.tools]: tools };
  if (system === undefined) return { fields: listed, leadingMessages: [] };
  if (fields.system !== undefined)
    return { fields: { ...listed, [fields.system]: system }, leadingMessages: [] };
  const leadingMessages = wire.messages.encode([
    { role: "system", parts: wire.body.decodeSystem(system) },
  ]);
  return { fields: listed, leadingMessages };
}

/** The leading system messages that were stored with a turn, because they differ from those in the log. */
export function storedLeadingMessages(preamble: Uint8Array | undefined): readonly JsonObject[] {
  const stored = preamble === undefined ? undefined : parseObject(decoder.decode(preamble));
  const leading = stored?.["leading"];
  return Array.isArray(leading) ? leading.filter(isObject) : [];
}

/** Running sums over a conversation, so that a turn only adds its new messages. */
export interface Totals {
  readonly system: Count;
  readonly conversation: Count;
  /** Whether all messages so far were system messages. Such leading messages are counted as system prompt. */
  readonly isLeading: boolean;
}

export const emptyTotals: Totals = { system: nothing, conversation: nothing, isLeading: true };

export function addMessages(totals: Totals, messages: readonly LogMessage[]): Totals {
  const leading = totals.isLeading ? messages.findIndex(({ role }) => role !== "system") : 0;
  const split = leading < 0 ? messages.length : leading;
  return {
    system: addCounts([totals.system, ...messages.slice(0, split)]),
    conversation: addCounts([totals.conversation, ...messages.slice(split)]),
    isLeading: totals.isLeading && split === messages.length,
  };
}

/** `skills` are part of the system prompt, but are shown as a component of their own. */
export function measureTurn(
  preamble: Preamble,
  totals: Totals,
  skills: Count = nothing,
): Measurement {
  const system = addCounts([preamble.system, totals.system]);
  return measurement({
    system: { ...system, tokens: Math.max(0, system.tokens - skills.tokens) },
    skills,
    tools: preamble.tools,
    conversation: totals.conversation,
  });
}
