/** A library turn on its way to the model: the draft that is made to fit, and the request that comes of it. */

import type { Limit } from "../budget/limit.ts";
import type { Measurement } from "../budget/measure.ts";
import { errorMessage } from "../message/error.ts";
import type { Outcome } from "../message/event.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { Message, ToolCallPart } from "../message/message.ts";
import type { ToolDefinition } from "../message/tool.ts";
import type { Wire, WireName } from "../wire/wire.ts";
import { decodeMessage, encodeMessage } from "./appended.ts";
import type { Draft } from "./draft.ts";
import type { Link, LogMessage, SessionLog } from "./log.ts";
import { type Head, measureTurn, type Totals } from "./measure-turn.ts";
import type { Ruler } from "./message-facts.ts";
import { nothing, pathOf, type Sum } from "./path.ts";
import type { Tip } from "./record.ts";
import { type Patch, patchList } from "./render.ts";
import type { Target } from "./target.ts";
import type { Turn } from "./turn.ts";

export interface PrepareOptions {
  /** `provider/model`, e.g. `anthropic/claude-sonnet-5`. */
  readonly target: string;
  /** Where a provider speaks several: openai-responses instead of openai-chat. */
  readonly wire?: WireName;
  readonly system?: string;
  readonly tools?: readonly ToolDefinition[];
  readonly maxOutputTokens?: number;
  /** Further fields for the request, in the provider's own words: `stream`, `temperature`, … */
  readonly extra?: JsonObject;
}

/** `Request` is the type that the provider's client gives to its request; it is not checked. */
export interface PreparedTurn<Request = JsonObject> {
  readonly id: string;
  /** What was done to make it fit. `refused`: nothing more can be done, do not send it. */
  readonly outcome: {
    readonly kind: Outcome;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
  /** In the target's wire format: hand it to the provider's client as it is. */
  readonly request: Request;
  readonly measurement: Measurement;
  readonly limit: Limit;
  /** The calls in an answer to this turn, whatever wire it came over. */
  toolCalls(answer: unknown): readonly ToolCallPart[];
}

/** What a session has in memory. */
export interface SessionState {
  log: SessionLog;
  readonly agent?: string;
  readonly priority?: 1 | 2 | 3;
  readonly pending: (JsonObject | Message)[];
  /** Everything that was said, in the session's wire. */
  readonly said: JsonObject[];
  /** Of each message that was said; the sums are of all before it. */
  readonly links: Link[];
  readonly messages: LogMessage[];
  readonly sumsBefore: Sum[];
  hasMarks: boolean;
  wire: Wire | undefined;
  tip: Tip | undefined;
  ruler: Ruler | undefined;
  totals: Totals;
  head: { readonly key: readonly unknown[]; readonly value: Head } | undefined;
  open: OpenRequest | undefined;
}

interface OpenRequest {
  readonly turn: Turn;
  readonly wire: Wire;
  readonly prepared: () => PreparedTurn;
}

interface Drafting {
  readonly turn: Draft["turn"];
  readonly branch: Draft["branch"];
  readonly head: Head;
  readonly targets: Draft["targets"];
  readonly options: PrepareOptions;
  readonly wire: Wire;
}

export function draftOf(state: SessionState, drafting: Drafting): Draft {
  const { options, wire, targets } = drafting;
  const { log, said, links, messages, sumsBefore, agent, priority } = state;
  const { length } = said;
  const [{ provider, model }] = targets;
  return {
    ...drafting,
    log,
    path: pathOf({
      log,
      links,
      messages,
      sumsBefore,
      bytesAt: (index) => encodeMessage(said[index] ?? {}),
      mayHoldMark: () => state.hasMarks,
    }),
    who: {
      provider,
      model,
      ...(agent === undefined ? {} : { agent }),
      ...(priority === undefined ? {} : { priority }),
    },
    measured: measureTurn(drafting.head, state.totals),
    sum: sumsBefore[length] ?? nothing,
    compose: ({ patches }) =>
      encodeMessage(
        bodyOf(
          wire,
          { options, targets, tools: options.tools ?? [] },
          patchList(said.slice(0, length), patches, decodeMessage),
        ),
      ),
  };
}

interface Composing {
  readonly options: PrepareOptions;
  readonly targets: readonly [Target, ...Target[]];
  readonly tools: readonly ToolDefinition[];
}

function bodyOf(
  wire: Wire,
  { options, targets: [target], tools }: Composing,
  messages: readonly JsonObject[],
): JsonObject {
  return wire.composeBody({
    model: target.model,
    messages,
    tools,
    maxOutputTokens: target.limit.maxOutput,
    ...(options.system === undefined ? {} : { system: options.system }),
    ...(options.extra === undefined ? {} : { extra: options.extra }),
  });
}

/** Offered alone in a turn that must be the last one. */
const finalReport: ToolDefinition = {
  name: "agent__final_report",
  description: "Report the final result of the work: what was done, what is left, and where it is.",
  parameters: {
    type: "object",
    properties: { report: { type: "string", description: "The whole report." } },
    required: ["report"],
  },
};

interface Preparing {
  readonly opened: Turn;
  readonly draft: Draft;
  readonly wire: Wire;
  readonly options: PrepareOptions;
}

export function preparedTurn(
  state: SessionState,
  { opened, draft, wire, options }: Preparing,
): PreparedTurn {
  const { fitted } = opened;
  const { outcome: kind, tokensBefore, tokensAfter, isFinal, target } = fitted;
  const tools = isFinal ? [finalReport] : (options.tools ?? []);
  return {
    id: opened.id,
    outcome: { kind, tokensBefore, tokensAfter },
    request: withMessages(bodyOf(wire, { options, targets: [target], tools }, []), wire, state, {
      length: draft.path.length,
      patches: fitted.patches,
    }),
    measurement: fitted.measurement,
    limit: target.limit,
    toolCalls: (answer) =>
      (wire.readAnswer(answer as JsonValue).choices[0] ?? []).flatMap((message) =>
        wire.toolCalls(message),
      ),
  };
}

interface Shown {
  readonly length: number;
  readonly patches: readonly Patch[];
}

/** The list is made when it is read: a long conversation should not be copied for a turn that is only measured. */
function withMessages(body: JsonObject, wire: Wire, state: SessionState, shown: Shown): JsonObject {
  const field = wire.messagesField;
  const first = body[field];
  const head = Array.isArray(first) ? first : [];
  let messages: readonly JsonValue[] | undefined;
  return Object.defineProperty(body, field, {
    enumerable: true,
    get: () => {
      messages ??= [...head, ...messagesFor(wire, state, shown)];
      return messages;
    },
  });
}

function messagesFor(
  wire: Wire,
  { wire: own = wire, said }: SessionState,
  { length, patches }: Shown,
): readonly JsonObject[] {
  const seen = patchList(said.slice(0, length), patches, decodeMessage);
  return own === wire
    ? seen
    : wire.encode(seen.map((message) => withoutReasoning(own.decode(message))));
}

/** Signed by one provider, reasoning is worth nothing to another, and would be refused. */
function withoutReasoning({ role, parts }: Message): Message {
  return { role, parts: parts.filter(({ kind }) => kind !== "reasoning") };
}

/** What a provider's client library throws: a status, and the provider's own body. */
export function readRejection(error: unknown): {
  readonly status: number;
  readonly body: JsonValue;
} {
  const { status, error: body } = (isObject(error) ? error : {}) as {
    status?: unknown;
    error?: JsonValue;
  };
  return {
    status: typeof status === "number" ? status : 400,
    body: body ?? { error: { message: errorMessage(error) } },
  };
}
