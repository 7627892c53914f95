/** Makes a draft from a recorded request. Plimsoll decides later which parts of the request to send. */

import { addCounts, type Measurement } from "../../budget/measure.ts";
import type { WhoAsks } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import type { OutputSize } from "../../message/message.ts";
import { finalReport } from "../../offload/own-definitions.ts";
import type { Store } from "../../store/store.ts";
import { type BodySlices, parseJson } from "../../wire/format/slices.ts";
import type { ToolsInMessage, Wire, WireRequest } from "../../wire/format/wire.ts";
import { mayCarryMark } from "../draft/cache-marks.ts";
import type { Draft, DraftRequest } from "../draft/draft.ts";
import { type BodyChanges, expandBody, patchBody, withToolsInMessage } from "../draft/render.ts";
import type { WholeConversation } from "../identify/server-side-history.ts";
import type { Placed } from "../log/append.ts";
import { loadInner } from "../log/inner-messages.ts";
import type { Link, LogMessage, SessionLog } from "../log/log.ts";
import { addMessage, nothing, type Path, pathOf } from "../log/path.ts";
import type { Range } from "../log/view.ts";
import { addMessages, emptyTotals, measureTurn, type Preamble } from "../measure/preamble.ts";
import type { Target, Targets } from "../measure/target.ts";
import type { Incoming } from "./context.ts";

/** A request as its client sent it. */
export interface SentRequest {
  readonly incoming: Pick<Incoming, "wire" | "body">;
  readonly request: WireRequest;
  readonly slices: BodySlices;
  /** Bytes of each message that the request itself contains. */
  readonly bytes: readonly Uint8Array[];
}

interface Drafting extends SentRequest {
  readonly incoming: Incoming;
  readonly turn: Draft["turn"];
  readonly placed: Placed;
  readonly whole: WholeConversation;
  readonly head: Preamble;
  readonly targets: Draft["targets"];
  /** Whether Plimsoll sends the request as it came. */
  readonly isBypassed: boolean;
}

interface DraftingWorld {
  readonly config: Config;
  readonly store: Pick<Store, "bodies">;
  readonly targets: Pick<Targets, "narrowed">;
}

/** Makes the draft that the guard and the strategies work on. */
export function draftOf(world: DraftingWorld, drafting: Drafting): Draft {
  const { incoming, request, turn, placed, whole, head } = drafting;
  const { log, branch } = placed;
  const { messages, serverSideCount } = whole;
  const path = pathOfRequest(world.store, drafting, {
    log,
    branch: branch.record.id,
    links: placed.links ?? whole.links,
    whole,
  });
  return {
    turn,
    log,
    branch,
    wire: incoming.wire,
    path,
    head,
    targets: narrowedTargets(world.targets, log, drafting.targets),
    who: whoAsks(incoming, request),
    measured: measureRequest(head, messages, toolsPlace(request, serverSideCount)),
    sum: messages.reduce(addMessage, nothing),
    origin: "proxy",
    // Plimsoll decides about its tools after it has measured the conversation.
    tools: { kind: "none" },
    request: { ...requestOf(drafting, path), ...finalToolOf(world, request) },
  };
}

interface RequestPlace {
  readonly log: SessionLog;
  /** The branch of the conversation, or undefined if no branch has the conversation yet. */
  readonly branch: string | undefined;
  /** The links of the messages, as they are in the log. */
  readonly links: readonly Link[];
  readonly whole: Pick<WholeConversation, "messages" | "serverSideCount" | "nodes">;
}

export function pathOfRequest(
  store: DraftingWorld["store"],
  sent: SentRequest,
  { log, branch, links, whole }: RequestPlace,
): Path {
  const { wire } = sent.incoming;
  const { messages, serverSideCount, nodes } = whole;
  const serverSide = serverSideBodies(store, log, nodes);
  const bytesAt = (index: number): Uint8Array =>
    sent.bytes[index - serverSideCount] ?? serverSide.at(index) ?? new Uint8Array();
  return pathOf({
    log,
    branch,
    links,
    messages,
    bytesAt,
    // What is known about a message stays the same object as long as requests begin with the same bytes.
    ...(serverSideCount === 0 ? { keys: messages } : {}),
    contentAt: (index) => serverSide.at(index) ?? bytesAt(index),
    load: async () => {
      await loadInner(store, log);
      await serverSide.load();
    },
    mayCarryMark: (gap) => serverSideCount > 0 || mayCarryMark(wire, rangeOf(sent, gap)),
  });
}

interface ServerSideBodies {
  /** Bytes of the message at this index, once it is loaded. */
  at(index: number): Uint8Array | undefined;
  load(): Promise<void>;
}

/**
 * Loads messages that the request does not contain: the client refers to them by id, or leaves them out because the provider
 * keeps them. Plimsoll reads them from its own store.
 */
function serverSideBodies(
  store: DraftingWorld["store"],
  { record }: Pick<SessionLog, "record">,
  nodes: WholeConversation["nodes"],
): ServerSideBodies {
  const bodies = new Map<number, Uint8Array>();
  return {
    at: (index) => bodies.get(nodes.get(index)?.seq ?? -1),
    load: async () => {
      if (nodes.size === bodies.size) return;
      const seqs = [...nodes.values()].map(({ seq }) => seq);
      for (const [seq, body] of await store.bodies(record.id, seqs)) bodies.set(seq, body);
    },
  };
}

export function whoAsks(
  { provider, hints, priority, run }: Pick<Incoming, "provider" | "hints" | "priority" | "run">,
  { model }: Pick<WireRequest, "model">,
): WhoAsks {
  return {
    provider,
    model,
    ...(hints.agent === undefined ? {} : { agent: hints.agent }),
    ...(priority === undefined ? {} : { priority }),
    ...(run === undefined ? {} : { run }),
  };
}

/**
 * If the client lists its tools inside a message, the position of that message in the whole conversation. Otherwise undefined.
 */
function toolsPlace(
  { toolsInMessage }: Pick<WireRequest, "toolsInMessage">,
  serverSideCount: number,
): ToolsInMessage | undefined {
  return toolsInMessage && { ...toolsInMessage, message: toolsInMessage.message + serverSideCount };
}

function requestOf(drafting: Drafting, path: Path): DraftRequest {
  const { incoming, request, whole, isBypassed } = drafting;
  const { wire, body, headers, credentials, askAgainAs } = incoming;
  const { serverSideCount } = whole;
  return {
    compose: (changes) => composeRequest(drafting, { path, serverSideCount }, changes),
    ...(headers === undefined ? {} : { headers }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(askAgainAs === undefined ? {} : { askAgainAs }),
    ...(request.maxOutputTokens === undefined || isBypassed
      ? {}
      : { output: outputOf(request.maxOutputTokens, request.thinkingTokens) }),
    hasServerSideHistory: serverSideCount > 0,
    isNotStored: request.isNotStored === true,
    hasLongMarks: wire.cache.hasLongMarks(body),
  };
}

/** Only a client that has tools can answer a call of one. */
function finalToolOf(
  { config }: Pick<DraftingWorld, "config">,
  { tools, toolsInMessage }: WireRequest,
): Pick<DraftRequest, "finalTool"> {
  const hasTools = tools !== undefined || toolsInMessage !== undefined;
  const isReport = config.agent?.final_turn === "final_report";
  return isReport && hasTools ? { finalTool: finalReport.name } : {};
}

interface Composing {
  readonly path: Pick<Path, "length" | "bytesAt">;
  readonly serverSideCount: number;
}

/** The client's body with these changes. If the body contains the whole conversation as a list, all other bytes stay the same. */
export function composeRequest(
  { incoming: { wire, body }, request, slices }: SentRequest,
  { path, serverSideCount }: Composing,
  wanted: BodyChanges,
): Uint8Array {
  const place = toolsPlace(request, serverSideCount);
  const changes = place ? withToolsInMessage(wanted, place, path.bytesAt(place.message)) : wanted;
  const isList = slices.elements.has(wire.fields.messages) || changes.patches.length === 0;
  if (serverSideCount === 0 && isList) return patchBody(body, slices, wire, changes);
  // Plimsoll writes a conversation out in full if it is not a list, or if the body has only part of it.
  const fields = new Map(changes.fields);
  if (serverSideCount > 0)
    for (const [name, value] of wire.body.withoutServerSideHistory)
      fields.set(name, JSON.stringify(value));
  const elements = Array.from({ length: path.length }, (_, index) =>
    asElement(wire, path.bytesAt(index)),
  );
  return expandBody(body, slices, wire, { ...changes, fields, elements });
}

function outputOf(maxTokens: number, thinkingTokens: number | undefined): OutputSize {
  return { maxTokens, ...(thinkingTokens === undefined ? {} : { thinkingTokens }) };
}

/** Measures a request. If a message contains the tools, its tokens count as tools and not as conversation. */
export function measureRequest(
  head: Preamble,
  messages: readonly LogMessage[],
  place: Pick<ToolsInMessage, "message"> | undefined,
): Measurement {
  const holder = messages[place?.message ?? -1];
  if (place === undefined || holder === undefined)
    return measureTurn(head, addMessages(emptyTotals, messages));
  const { tokens, certainty } = holder;
  const others = messages.with(place.message, { ...holder, tokens: 0 });
  const tools = addCounts([head.tools, { tokens, certainty }]);
  return measureTurn({ ...head, tools }, addMessages(emptyTotals, others));
}

/** Applies the windows that the session remembers from refused requests, including refusals without a figure. */
function narrowedTargets(
  targets: DraftingWorld["targets"],
  log: Pick<SessionLog, "memory">,
  [first, ...others]: Draft["targets"],
): Draft["targets"] {
  const narrow = (target: Target): Target =>
    withTaken(targets.narrowed(target, log.memory.windows[target.key]), log);
  return [narrow(first), ...others.map(narrow)];
}

/**
 * If a provider has accepted a request larger than the known window, the real window is unknown. Plimsoll then refuses no request
 * because of the known window.
 */
function withTaken(target: Target, { memory: { taken } }: Pick<SessionLog, "memory">): Target {
  const { input = 0 } = taken[target.key] ?? {};
  const { limit } = target;
  if (input <= limit.named) return target;
  return { ...target, limit: { ...limit, named: Number.POSITIVE_INFINITY } };
}

/**
 * Some wires accept a plain string as a message. This function turns such a string into a message object. Throws if the message
 * was not loaded, because Plimsoll must not send something else in its place.
 */
function asElement(wire: Wire, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0)
    throw new Error("Plimsoll has not loaded a message that is stored at the provider.");
  return bytes[0] === quote
    ? new TextEncoder().encode(
        JSON.stringify(wire.messages.asMessage(parseJson(bytes, { start: 0, end: bytes.length }))),
      )
    : bytes;
}

const quote = 0x22;

function rangeOf(
  { incoming: { body }, request: { messages } }: SentRequest,
  { first, last }: Range,
): Uint8Array {
  return body.subarray(messages[first]?.start ?? 0, messages[last]?.end ?? 0);
}
