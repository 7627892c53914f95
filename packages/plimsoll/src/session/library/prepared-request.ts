/** Makes the draft of a library turn, and the request that is sent to the model once the draft fits. */

import { possibleAnswer } from "../../budget/limit.ts";
import { addCounts } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { ToolRules } from "../../budget/tool-budget.ts";
import { errorMessage } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { OutputSize } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { finalReport } from "../../offload/own-definitions.ts";
import type { BuiltPrompt, PromptSection } from "../../prompt/sections.ts";
import type { GivenTool } from "../../wire/format/named-tool.ts";
import { readSlices } from "../../wire/format/slices.ts";
import type { SystemText, Wire, WireName, WireRequest } from "../../wire/format/wire.ts";
import { type MarkedPrompt, markPrompt } from "../draft/cache-marks.ts";
import { type Draft, type DraftRequest, offerIn } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { type BodyChanges, patchList } from "../draft/render.ts";
import { nothing, type Path, pathOf } from "../log/path.ts";
import { measureTurn, type Preamble } from "../measure/preamble.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Target } from "../measure/target.ts";
import type { OwnOffer, VisibleTools } from "../tools/own-tools-offer.ts";
import type { NextRequest } from "../turn/next-provider.ts";
import type { Turn } from "../turn/turn.ts";
import { searchedIn, withMessages, withSearches, withTail } from "./request-messages.ts";
import type { PreparedTurn, SessionState } from "./state.ts";

/** `toolsAllowed` and `toolsDenied` restrict which `tools` are offered. The tool budget denies the results of all other tools. */
export interface PrepareOptions extends ToolRules {
  /** The provider and the model as `provider/model`, for example `anthropic/claude-sonnet-5`. */
  readonly target: string;
  /** The wire to use if the provider has several, for example openai-responses instead of openai-chat. */
  readonly wire?: WireName;
  /**
   * The system prompt, as one text or as sections. Plimsoll puts sections that change from turn to turn after the conversation.
   */
  readonly system?: string | readonly PromptSection[];
  /** Set this to false if the request must not get cache marks. */
  readonly cacheMarks?: boolean;
  /** The tools, in the neutral form (`parameters`), or in the form of a provider (`input_schema`, `function`) or of MCP. */
  readonly tools?: readonly GivenTool[];
  readonly maxOutputTokens?: number;
  /** Further fields of the request, in the provider's own format: `stream`, `temperature`, … */
  readonly extra?: JsonObject;
}

interface Drafting {
  readonly turn: Draft["turn"];
  readonly branch: Draft["branch"];
  readonly head: Preamble;
  readonly targets: Draft["targets"];
  readonly options: PrepareOptions;
  readonly wire: Wire;
  /** The caller's tools that the model may call. */
  readonly tools: readonly ToolDefinition[];
  readonly offer?: OwnOffer;
  readonly load: Path["load"];
  readonly isLast?: NonNullable<DraftRequest["isLast"]>;
  readonly prompt: BuiltPrompt;
  /** Size of the prompt sections that follow the conversation. */
  readonly tail: Count;
  /** Size of the skills in the system prompt. */
  readonly skills: Count;
}

export function draftOf(state: SessionState, drafting: Drafting): Draft {
  const { turn, branch, wire, head, targets, tail, skills } = drafting;
  const { log, sumsBefore, sentMessages, totals } = state;
  return {
    turn,
    log,
    branch,
    wire,
    head,
    targets,
    path: pathIn(state, drafting),
    who: whoAsks(state, targets[0]),
    measured: measureTurn({ ...head, system: addCounts([head.system, tail]) }, totals, skills),
    sum: sumsBefore[sentMessages.length] ?? nothing,
    origin: "library",
    tools: { kind: "none" },
    request: requestOf(sentMessages, drafting),
  };
}

function whoAsks(
  { agent, priority }: Pick<SessionState, "agent" | "priority">,
  { provider, model }: Target,
): Draft["who"] {
  return {
    provider,
    model,
    ...(agent === undefined ? {} : { agent }),
    ...(priority === undefined ? {} : { priority }),
  };
}

function pathIn(
  state: Pick<
    SessionState,
    "log" | "sentMessages" | "links" | "messages" | "sumsBefore" | "hasMarks"
  >,
  { branch, load }: Pick<Drafting, "branch" | "load">,
): Path {
  const { log, sentMessages, links, messages, sumsBefore } = state;
  return pathOf({
    log,
    branch: branch.record.id,
    links,
    messages,
    sumsBefore,
    bytesAt: (index) => encodeMessage(sentMessages[index] ?? {}),
    keys: sentMessages,
    load,
    mayCarryMark: () => state.hasMarks,
  });
}

/** A copy of the messages so far, because the caller may append more before the request is written. */
function requestOf(sentMessages: readonly JsonObject[], drafting: Drafting): DraftRequest {
  const { options, wire, targets, isLast } = drafting;
  const { length } = sentMessages;
  return {
    compose: (changes) => composed(sentMessages.slice(0, length), drafting, changes),
    composeForOther: (changes) => forOther(sentMessages.slice(0, length), drafting, changes),
    output: outputOf(wire, options, targets[0]),
    finalTool: finalReport.name,
    ...(isLast === undefined ? {} : { isLast }),
  };
}

/** The request in the form that the validator reads. */
function composed(
  sentMessages: readonly JsonObject[],
  { options, wire, targets, tools, prompt, offer }: Drafting,
  { patches, tools: visibleTools }: BodyChanges,
): Uint8Array {
  const whole = patchList(sentMessages, patches, decodeMessage);
  const { isListed } = searchedIn(offer, visibleTools?.isWhole === true);
  const list = visibleTools && inWords(visibleTools, targets[0].wire, wire);
  const composing = { options, targets, tools, system: prompt.system };
  const messages = withSearches(wire, whole, isListed);
  return encodeMessage(
    bodyOf(wire, { ...composing, ...(list && { visibleTools: list }) }, messages),
  );
}

/** The whole request, so that it can be translated. The provider keeps nothing of it, because the library sends everything. */
function forOther(
  sentMessages: readonly JsonObject[],
  { options, wire, targets, tools, prompt }: Drafting,
  { patches }: BodyChanges,
): Uint8Array {
  const whole = withSearches(wire, patchList(sentMessages, patches, decodeMessage), undefined);
  const messages = withTail(wire, whole, prompt.tail);
  const body = bodyOf(wire, { options, targets, tools, system: prompt.system }, messages);
  return encodeMessage({ ...body, ...Object.fromEntries(wire.body.nothingKept) });
}

/** Length of the answer that the request asks for. The caller may set a thinking budget or another length in `extra`. */
function outputOf(wire: Wire, options: PrepareOptions, target: Target): OutputSize {
  const written = lengthOf(options, target);
  const { extra } = options;
  if (extra === undefined) return { maxTokens: written };
  const body = encodeMessage({ ...extra, [wire.fields.messages]: [] });
  const { maxOutputTokens = written, thinkingTokens } = readPlans(wire, body);
  return {
    maxTokens: maxOutputTokens,
    ...(thinkingTokens === undefined ? {} : { thinkingTokens }),
  };
}

/** Reads the settings in a request body. Returns an empty object if the body cannot be read. */
function readPlans(wire: Wire, body: Uint8Array): Partial<WireRequest> {
  try {
    return wire.body.read(body, readSlices(body));
  } catch {
    return {};
  }
}

/**
 * Maximum length of the answer. If the caller gives none, Plimsoll uses the reserve, because some wires require a length and the
 * window has no room for more. Providers refuse more than the model's own maximum.
 */
function lengthOf({ maxOutputTokens }: PrepareOptions, { limit }: Target): number {
  return maxOutputTokens ?? possibleAnswer(limit.reserve, limit);
}

/** Asks for a shorter answer if there is no room for the requested length. */
function withOutput(wire: Wire, request: JsonObject, output: OutputSize | undefined): JsonObject {
  if (output === undefined) return request;
  const body = encodeMessage(request);
  return {
    ...request,
    ...Object.fromEntries(wire.body.outputFields(body, readSlices(body), output)),
  };
}

/**
 * Converts the tools to the session's wire. The validator needs them in the same format as the conversation, even if the request
 * is sent on another wire.
 */
function inWords(visibleTools: VisibleTools, from: Wire, to: Wire): VisibleTools {
  if (from === to) return visibleTools;
  const tools = visibleTools.elements.flatMap(
    (bytes) => from.tools.decode(decodeMessage(bytes)) ?? [],
  );
  return { ...visibleTools, elements: tools.map((tool) => encodeMessage(to.tools.encode(tool))) };
}

export interface Composing {
  readonly options: PrepareOptions;
  readonly targets: readonly [Target, ...Target[]];
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly SystemText[];
  /** The tools that Plimsoll adds to the caller's list or sends instead of it. */
  readonly visibleTools?: VisibleTools | undefined;
}

export function bodyOf(
  wire: Wire,
  { options, targets: [target], tools, system, visibleTools }: Composing,
  messages: readonly JsonObject[],
): JsonObject {
  const body = wire.body.compose({
    model: target.model,
    messages,
    tools,
    maxOutputTokens: lengthOf(options, target),
    ...(system.length === 0 ? {} : { system }),
    ...(options.extra === undefined ? {} : { extra: options.extra }),
  });
  return visibleTools === undefined ? body : withVisibleTools(wire, body, visibleTools);
}

/**
 * Adds Plimsoll's tools after the caller's. If some of the caller's tools are deferred, Plimsoll's list replaces the caller's
 * list.
 */
function withVisibleTools(
  { fields, tools }: Wire,
  body: JsonObject,
  { elements, isWhole }: VisibleTools,
): JsonObject {
  if (elements.length === 0) return body;
  const change = { elements: elements.map(decodeMessage), isWhole };
  return { ...body, [fields.tools]: tools.list.changed(body[fields.tools], change) };
}

export interface Preparing {
  readonly opened: Turn;
  readonly draft: Draft;
  readonly wire: Wire;
  readonly options: PrepareOptions;
  readonly tools: readonly ToolDefinition[];
  readonly prompt: BuiltPrompt;
  readonly pricesOf: PricesOf;
  /** The request for a target of another provider, if that one is to answer. */
  readonly moved: Extract<NextRequest, { readonly kind: "ready" }> | undefined;
  /** Why targets of other providers could not take the request. */
  readonly reasons: readonly string[];
}

export function preparedTurn(state: SessionState, preparing: Preparing): PreparedTurn {
  const { opened, moved, reasons } = preparing;
  const { outcome: kind, tokensBefore, tokensAfter, target, measurement, limit } = opened.fitted;
  const wire = moved?.target.wire ?? preparing.wire;
  return {
    id: opened.id,
    outcome: { kind, tokensBefore, tokensAfter },
    target: target.key,
    wire: wire.name,
    leftOut: moved?.leftOut ?? [],
    notUsed: reasons,
    request: moved?.body ?? requestFor(state, preparing),
    measurement,
    limit: { ...target.limit, limit },
    toolCalls: (answer) =>
      (wire.answer.read(answer as JsonValue).choices[0] ?? []).flatMap((message) =>
        wire.messages.toolCalls(message),
      ),
  };
}

/** The request for the target that the caller named, or for another model of its provider. */
function requestFor(state: SessionState, preparing: Preparing): JsonObject {
  const { opened, draft, wire, prompt } = preparing;
  const { fitted } = opened;
  const isFinal = fitted.outcome === "final";
  const marked = markedPrompt(state, preparing);
  const body = isFinal
    ? finalBody(preparing, marked.system)
    : bodyBeside(preparing, { system: marked.system, visibleTools: fitted.tools });
  return withMessages(withOutput(wire, body, opened.shortened?.sent), wire, state, {
    model: fitted.target.model,
    length: draft.path.length,
    patches: marked.patches,
    tail: prompt.tail,
    ...searchedIn(offerIn(draft), fitted.tools.isWhole && !isFinal),
    ...(marked.end === undefined ? {} : { end: marked.end }),
  });
}

/** The prompt with cache marks, or without them if the caller has turned marks off or has set its own marks. */
function markedPrompt(
  { hasMarks }: Pick<SessionState, "hasMarks">,
  { opened, draft, wire, options, prompt, pricesOf }: Preparing,
): MarkedPrompt {
  const { fitted } = opened;
  const { extra } = options;
  const hasOwnMarks = hasMarks || (extra && wire.cache.countMarks(encodeMessage(extra)) > 0);
  const isMarking = options.cacheMarks !== false && !hasOwnMarks;
  return markPrompt(draft, {
    rule: isMarking ? pricesOf(fitted.target).cache : { kind: "unknown" },
    wire,
    sections: prompt.system,
    marksFirst: prompt.marksFirst,
    patches: fitted.patches,
    measured: fitted.measurement,
  });
}

/** The whole request except its messages. */
function bodyBeside(
  { opened: { fitted }, wire, options, tools }: Preparing,
  composing: Pick<Composing, "system" | "visibleTools">,
): JsonObject {
  return bodyOf(wire, { options, tools, targets: [fitted.target], ...composing }, []);
}

/** A final turn offers only the tool for the report. If the wire must list all tools that were called, the model may call only this one. */
function finalBody(preparing: Preparing, system: readonly SystemText[]): JsonObject {
  const { wire, tools } = preparing;
  const listed = wire.tools.declaresCalled === true ? tools : [];
  const body = bodyBeside({ ...preparing, tools: [...listed, finalReport] }, { system });
  const bytes = encodeMessage(body);
  const fields = wire.body.onlyTool(bytes, readSlices(bytes), finalReport.name);
  return { ...body, ...Object.fromEntries(fields) };
}

/** Reads the status and the provider's body from an error of the provider's client library. */
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
