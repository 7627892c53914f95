/** A request that was recorded, as a draft: what is sent of it is not decided yet. */

import { addCounts, type Measurement } from "../../budget/measure.ts";
import type { OutputSize } from "../../message/message.ts";
import { type BodySlices, parseJson } from "../../wire/format/slices.ts";
import type { ToolsInMessage, Wire, WireRequest } from "../../wire/format/wire.ts";
import { mayHoldMark } from "../draft/cache-marks.ts";
import type { Draft } from "../draft/draft.ts";
import { expandBody, patchBody, withToolsInMessage } from "../draft/render.ts";
import type { WholeConversation } from "../identify/server-side-history.ts";
import type { Placed } from "../log/append.ts";
import { loadInner } from "../log/inner-messages.ts";
import type { LogMessage, SessionLog } from "../log/log.ts";
import { addMessage, nothing, pathOf } from "../log/path.ts";
import { addMessages, emptyTotals, type Head, measureTurn } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import type { Incoming, TurnContext } from "./context.ts";

interface Drafting {
  readonly incoming: Incoming;
  readonly request: WireRequest;
  readonly slices: BodySlices;
  readonly turn: Draft["turn"];
  readonly placed: Placed;
  readonly whole: WholeConversation;
  readonly head: Head;
  readonly targets: Draft["targets"];
  readonly bytes: readonly Uint8Array[];
  /** It is sent as it came. */
  readonly isOff: boolean;
}

/** Everything about it that the guard and the strategies work on. */
export function draftOf(context: TurnContext, drafting: Drafting): Draft {
  const { incoming, request, slices, turn, placed, whole, head, targets, bytes, isOff } = drafting;
  const { wire, body, hints, provider } = incoming;
  const { log, branch } = placed;
  const { messages, heldCount, nodes } = whole;
  const links = placed.links ?? whole.links;
  const place = request.toolsInMessage && {
    ...request.toolsInMessage,
    message: request.toolsInMessage.message + heldCount,
  };
  const bodies = new Map<number, Uint8Array>();
  const heldAt = (index: number): Uint8Array | undefined => bodies.get(nodes.get(index)?.seq ?? -1);
  const bytesAt = (index: number): Uint8Array =>
    bytes[index - heldCount] ?? heldAt(index) ?? new Uint8Array();
  return {
    turn,
    log,
    branch,
    wire,
    path: pathOf({
      log,
      branch: branch.record.id,
      links,
      messages,
      bytesAt,
      contentAt: (index) => heldAt(index) ?? bytesAt(index),
      load: async () => {
        await loadInner(context.store, log);
        if (nodes.size === bodies.size) return;
        const seqs = [...nodes.values()].map(({ seq }) => seq);
        for (const [seq, bytesOf] of await context.store.bodies(log.record.id, seqs))
          bodies.set(seq, bytesOf);
      },
      mayHoldMark: ({ first, last }) =>
        heldCount > 0 || mayHoldMark(wire, rangeOf(body, request, first, last)),
    }),
    head,
    targets: narrowedTargets(context, log, targets),
    who: {
      provider,
      model: request.model,
      ...(hints.agent === undefined ? {} : { agent: hints.agent }),
      ...(incoming.priority === undefined ? {} : { priority: incoming.priority }),
    },
    measured: measureRequest(head, messages, place),
    sum: messages.reduce(addMessage, nothing),
    origin: "proxy",
    // What is offered is decided once the conversation is measured.
    tools: { kind: "none" },
    request: {
      compose: (wanted) => {
        const changes = place ? withToolsInMessage(wanted, place, bytesAt(place.message)) : wanted;
        const isList = slices.elements.has(wire.fields.messages) || changes.patches.length === 0;
        if (heldCount === 0 && isList) return patchBody(body, slices, wire.fields, changes);
        // What is not a list, or not here, is written out.
        const fields = new Map(changes.fields);
        if (heldCount > 0)
          for (const [name, value] of wire.body.nothingHeld)
            fields.set(name, JSON.stringify(value));
        const elements = messages.map((_, index) => asElement(wire, bytesAt(index)));
        return expandBody(body, slices, wire.fields, { ...changes, fields, elements });
      },
      ...(incoming.headers === undefined ? {} : { headers: incoming.headers }),
      ...(incoming.credentials === undefined ? {} : { credentials: incoming.credentials }),
      ...(request.maxOutputTokens === undefined || isOff
        ? {}
        : { output: outputOf(request.maxOutputTokens, request.thinkingTokens) }),
      isHeld: heldCount > 0,
      isForgotten: request.isForgotten === true,
      hasLongMarks: wire.cache.hasLongMarks(body),
    },
  };
}

function outputOf(maxTokens: number, thinkingTokens: number | undefined): OutputSize {
  return { maxTokens, ...(thinkingTokens === undefined ? {} : { thinkingTokens }) };
}

/** Tools that stand in a message are tools all the same, and not what is said. */
export function measureRequest(
  head: Head,
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

/** What this session has met is not forgotten, though no figure was given. */
function narrowedTargets(
  { targets }: TurnContext,
  log: SessionLog,
  [first, ...others]: Draft["targets"],
): Draft["targets"] {
  const narrow = (target: Target): Target =>
    withTaken(targets.narrowed(target, log.memory.windows[target.key]), log);
  return [narrow(first), ...others.map(narrow)];
}

/** A provider that took more than the window has shown that nobody knows how much it takes: nothing is refused for that window's sake. */
function withTaken(target: Target, { memory: { taken } }: SessionLog): Target {
  const { input = 0 } = taken[target.key] ?? {};
  const { limit } = target;
  if (input <= limit.named) return target;
  return { ...target, limit: { ...limit, named: Number.POSITIVE_INFINITY } };
}

/** A text that stands for a message, as the message. Nothing is written in the place of one that nobody has loaded. */
function asElement(wire: Wire, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) throw new Error("A message that the provider holds was not loaded.");
  return bytes[0] === quote
    ? new TextEncoder().encode(
        JSON.stringify(wire.messages.asMessage(parseJson(bytes, { start: 0, end: bytes.length }))),
      )
    : bytes;
}

const quote = 0x22;

function rangeOf(
  body: Uint8Array,
  { messages }: WireRequest,
  first: number,
  last: number,
): Uint8Array {
  return body.subarray(messages[first]?.start ?? 0, messages[last]?.end ?? 0);
}
