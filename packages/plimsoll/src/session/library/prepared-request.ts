/** A library turn on its way to the model: the draft that is made to fit, and the request that comes of it. */

import { addCounts } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { isToolAllowed, type ToolRules } from "../../budget/tool-budget.ts";
import { errorMessage } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { Message, OutputSize } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { BuiltPrompt, PromptSection } from "../../prompt/sections.ts";
import { readSlices } from "../../wire/format/slices.ts";
import type { SystemText, Wire, WireName, WireRequest } from "../../wire/format/wire.ts";
import { markPrompt } from "../draft/cache-marks.ts";
import { type Draft, type DraftRequest, offerIn } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { type Patch, patchList } from "../draft/render.ts";
import { nothing, type Path, pathOf } from "../log/path.ts";
import { type Head, measureTurn } from "../measure/preamble.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Target } from "../measure/target.ts";
import type { OwnOffer, ShownTools } from "../tools/own-tools-offer.ts";
import type { Turn } from "../turn/turn.ts";
import type { PreparedTurn, SessionState } from "./state.ts";

/** `toolsAllowed` and `toolsDenied`: of `tools`, only these are offered; calls of others are denied by the tool budget. */
export interface PrepareOptions extends ToolRules {
  /** `provider/model`, e.g. `anthropic/claude-sonnet-5`. */
  readonly target: string;
  /** Where a provider speaks several: openai-responses instead of openai-chat. */
  readonly wire?: WireName;
  /** As one text, or in sections: what changes from turn to turn then stands behind the conversation. */
  readonly system?: string | readonly PromptSection[];
  /** False: the request is not marked for the provider's cache. */
  readonly cacheMarks?: boolean;
  readonly tools?: readonly ToolDefinition[];
  readonly maxOutputTokens?: number;
  /** Further fields for the request, in the provider's own words: `stream`, `temperature`, … */
  readonly extra?: JsonObject;
}

interface Drafting {
  readonly turn: Draft["turn"];
  readonly branch: Draft["branch"];
  readonly head: Head;
  readonly targets: Draft["targets"];
  readonly options: PrepareOptions;
  readonly wire: Wire;
  /** Those that may be called. */
  readonly tools: readonly ToolDefinition[];
  readonly offer?: OwnOffer;
  readonly load: Path["load"];
  readonly isLast?: NonNullable<DraftRequest["isLast"]>;
  readonly prompt: BuiltPrompt;
  /** What stands behind the conversation. */
  readonly tail: Count;
  /** Of the system prompt. */
  readonly skills: Count;
}

export function draftOf(state: SessionState, drafting: Drafting): Draft {
  const { options, wire, targets, tools, load, prompt, head, tail, skills } = drafting;
  const { turn, branch, isLast } = drafting;
  const { log, said, links, messages, sumsBefore, agent, priority } = state;
  const { length } = said;
  const [{ provider, model }] = targets;
  return {
    turn,
    log,
    branch,
    wire,
    head,
    targets,
    path: pathOf({
      log,
      branch: branch.record.id,
      links,
      messages,
      sumsBefore,
      bytesAt: (index) => encodeMessage(said[index] ?? {}),
      load,
      mayHoldMark: () => state.hasMarks,
    }),
    who: {
      provider,
      model,
      ...(agent === undefined ? {} : { agent }),
      ...(priority === undefined ? {} : { priority }),
    },
    measured: measureTurn(
      { ...head, system: addCounts([head.system, tail]) },
      state.totals,
      skills,
    ),
    sum: sumsBefore[length] ?? nothing,
    origin: "library",
    tools: { kind: "none" },
    request: {
      compose: ({ patches, tools: shown }) => {
        const whole = patchList(said.slice(0, length), patches, decodeMessage);
        const { isListed } = searchedIn(drafting.offer, shown?.isWhole === true);
        const list = shown && inWords(shown, targets[0].wire, wire);
        const composing = { options, targets, tools, system: prompt.system };
        return encodeMessage(
          bodyOf(
            wire,
            { ...composing, ...(list && { shown: list }) },
            withSearches(wire, whole, isListed),
          ),
        );
      },
      output: outputOf(wire, options, targets[0]),
      ...(isLast === undefined ? {} : { isLast }),
    },
  };
}

/** How long an answer the request asks for; a thinking budget, or another length, may stand among the further fields. */
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

/** What cannot be read says nothing of an answer. */
function readPlans(wire: Wire, body: Uint8Array): Partial<WireRequest> {
  try {
    return wire.body.read(body, readSlices(body));
  } catch {
    return {};
  }
}

/** Where the caller names no length, we do: a request must have one on some wires, and there is no more room than this. */
function lengthOf({ maxOutputTokens }: PrepareOptions, { limit }: Target): number {
  return maxOutputTokens ?? limit.reserve;
}

/** A request for a shorter answer, where there is no room for the one it asks for. */
function withOutput(wire: Wire, request: JsonObject, output: OutputSize | undefined): JsonObject {
  if (output === undefined) return request;
  const body = encodeMessage(request);
  return {
    ...request,
    ...Object.fromEntries(wire.body.outputFields(body, readSlices(body), output)),
  };
}

/** A conversation is judged in its own wire's words, whichever the request is sent in. */
function inWords(shown: ShownTools, from: Wire, to: Wire): ShownTools {
  if (from === to) return shown;
  const tools = shown.elements.flatMap((bytes) => from.tools.decode(decodeMessage(bytes)) ?? []);
  return { ...shown, elements: tools.map((tool) => encodeMessage(to.tools.encode(tool))) };
}

/** Of the caller's tools, those that may be called. */
export function allowedTools({
  tools = [],
  ...rules
}: Pick<PrepareOptions, "tools" | "toolsAllowed" | "toolsDenied">): readonly ToolDefinition[] {
  return tools.filter(({ name }) => isToolAllowed(rules, name));
}

interface Composing {
  readonly options: PrepareOptions;
  readonly targets: readonly [Target, ...Target[]];
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly SystemText[];
  /** The list of tools, where it is not the caller's own. */
  readonly shown?: ShownTools;
}

function bodyOf(
  wire: Wire,
  { options, targets: [target], tools, system, shown }: Composing,
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
  return shown === undefined ? body : withShown(wire, body, shown);
}

/** Ours stand behind the caller's; where some of those are held back the list is another one. */
function withShown(
  { fields }: Wire,
  body: JsonObject,
  { elements, isWhole }: ShownTools,
): JsonObject {
  if (elements.length === 0) return body;
  const own = body[fields.tools];
  const shown = elements.map(decodeMessage);
  return { ...body, [fields.tools]: isWhole || !Array.isArray(own) ? shown : [...own, ...shown] };
}

/** Offered alone in a turn that must be the last one. */
export const finalReport: ToolDefinition = {
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
  readonly tools: readonly ToolDefinition[];
  readonly prompt: BuiltPrompt;
  readonly pricesOf: PricesOf;
}

export function preparedTurn(
  state: SessionState,
  { opened, draft, wire, options, tools, prompt, pricesOf }: Preparing,
): PreparedTurn {
  const { fitted } = opened;
  const { outcome: kind, tokensBefore, tokensAfter, target } = fitted;
  const isFinal = kind === "final";
  const output = opened.shortened?.sent;
  const { extra } = options;
  const hasOwnMarks = state.hasMarks || (extra && wire.cache.countMarks(encodeMessage(extra)) > 0);
  const isMarking = options.cacheMarks !== false && !hasOwnMarks;
  const marked = markPrompt(draft, {
    rule: isMarking ? pricesOf(target).cache : { kind: "unknown" },
    wire,
    sections: prompt.system,
    patches: fitted.patches,
    measured: fitted.measurement,
  });
  const shown = {
    options,
    targets: [target],
    system: marked.system,
    ...(isFinal ? { tools: [finalReport] } : { tools, shown: fitted.tools }),
  } as const;
  return {
    id: opened.id,
    outcome: { kind, tokensBefore, tokensAfter },
    request: withMessages(withOutput(wire, bodyOf(wire, shown, []), output), wire, state, {
      length: draft.path.length,
      patches: marked.patches,
      tail: prompt.tail,
      ...searchedIn(offerIn(draft), fitted.tools.isWhole && !isFinal),
      ...(marked.end === undefined ? {} : { end: marked.end }),
    }),
    measurement: fitted.measurement,
    limit: { ...target.limit, limit: fitted.limit },
    toolCalls: (answer) =>
      (wire.answer.read(answer as JsonValue).choices[0] ?? []).flatMap((message) =>
        wire.messages.toolCalls(message),
      ),
  };
}

interface Shown {
  readonly length: number;
  readonly patches: readonly Patch[];
  /** A cache mark at the end of the last message; what changes stands behind it. */
  readonly end?: JsonValue;
  readonly tail: string;
  /** The provider holds tools back itself in this request: searches stand as they were said, as far as the tools are there. */
  readonly isListed?: (name: string) => boolean;
}

/** The list is made when it is read: a long conversation should not be copied for a turn that is only measured. */
function withMessages(body: JsonObject, wire: Wire, state: SessionState, shown: Shown): JsonObject {
  const field = wire.fields.messages;
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
  { length, patches, end, tail, isListed }: Shown,
): readonly JsonObject[] {
  const whole = patchList(said.slice(0, length), patches, decodeMessage);
  const seen = withSearches(own, whole, isListed);
  const spoken =
    own === wire
      ? seen
      : wire.messages.encode(seen.map((message) => withoutReasoning(own.messages.decode(message))));
  return withTail(wire, end === undefined ? spoken : withLastMarked(wire, spoken, end), tail);
}

/** Searches in the provider's own form stay as they were said where it knows them, as far as the tools are there. */
function withSearches(
  { tools: { deferral } }: Wire,
  messages: readonly JsonObject[],
  isListed: Shown["isListed"],
): readonly JsonObject[] {
  const isAsSaid = isListed !== undefined && deferral?.named === undefined;
  if (deferral === undefined || isAsSaid) return messages;
  return messages.map((message) => deferral.plain(message, isListed));
}

/** On the last message that is not an answer: one that was begun stands behind what changes, and may take no mark. */
function withLastMarked(
  wire: Wire,
  messages: readonly JsonObject[],
  mark: JsonValue,
): readonly JsonObject[] {
  const index = lastSpoken(wire, messages);
  const message = messages[index];
  const marked = message && wire.cache.withMark(encodeMessage(message), mark);
  return marked === undefined ? messages : messages.with(index, decodeMessage(marked));
}

function lastSpoken(wire: Wire, messages: readonly JsonObject[]): number {
  return messages.findLastIndex((message) => wire.messages.decode(message).role !== "assistant");
}

function searchedIn(offer: OwnOffer | undefined, isTold: boolean): Pick<Shown, "isListed"> {
  const catalogue = offer?.catalogue;
  const isNative = isTold && catalogue?.isNative === true;
  return isNative ? { isListed: (name) => catalogue.has(name) } : {};
}

/** Behind everything that was said; before an answer that the caller has begun. */
function withTail(
  wire: Wire,
  messages: readonly JsonObject[],
  tail: string,
): readonly JsonObject[] {
  if (tail === "") return messages;
  const index = lastSpoken(wire, messages);
  const last = messages[index];
  const carried =
    wire.edit.ownTextStands === "inside" && last !== undefined
      ? wire.edit.carryText(encodeMessage(last), { text: tail }, "last")
      : undefined;
  if (carried !== undefined) return messages.with(index, decodeMessage(carried));
  return messages.toSpliced(index + 1, 0, wire.edit.ownMessage({ text: tail }));
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
