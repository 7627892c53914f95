/** The conversation of a session in memory: messages, their hashes and their sums. */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { mayCarryMark } from "../draft/cache-marks.ts";
import { encodeMessage, encodePending } from "../draft/encode.ts";
import { linksIn } from "../identify/named-links.ts";
import { appendInSteps, messagesPerStep, placingIn, type Tip } from "../log/append.ts";
import { extendLink, type Link, type LogMessage, rootLink, type SessionLog } from "../log/log.ts";
import { addMessage, nothing } from "../log/path.ts";
import type { Ruler } from "../measure/message-facts.ts";
import { addMessages, emptyTotals } from "../measure/preamble.ts";
import type { TurnContext } from "../turn/context.ts";
import type { SessionState } from "./state.ts";

interface Appending {
  readonly wire: Wire;
  readonly ruler: Ruler;
  readonly turn: { readonly id: string; readonly at: number };
  readonly branch: string;
}

/** A session keeps the wire of its first turn, even if later turns are sent on another wire. */
export function useWire(state: SessionState, wire: Wire): void {
  state.wire ??= wire;
  if (state.log.record.wire !== state.wire.name)
    state.log.record = { ...state.log.record, wire: state.wire.name };
}

/**
 * Adds the messages appended since the last turn to the log. The work for a turn depends only on these new messages, not on the
 * whole conversation.
 */
export async function appendPending(
  context: Pick<TurnContext, "facts" | "exclusively">,
  state: SessionState,
  { wire, ruler, turn, branch }: Appending,
): Promise<{ readonly tip: Tip; readonly newMessages: number }> {
  useWire(state, wire);
  await useRuler(context, state, ruler);
  const encoded = encodePending(state.pending.splice(0), state.wire ?? wire, lastAnswer(state));
  const added = encoded.map(({ json }) => json);
  const bytes = await encodeAll(state, state.wire ?? wire, added);
  const messages = await context.facts.learn(state.wire ?? wire, bytes, ruler);
  const from = state.tip ?? { seq: null, link: rootLink(state.log.record.wire) };
  const entries = messages.map((message, index) => ({
    message,
    bytes: bytes[index] ?? new Uint8Array(),
    tag: encoded[index]?.tag,
  }));
  const tip = await addToLog(context, state.log, from, entries, {
    turn: turn.id,
    branch,
    source: "request",
    isComplete: true,
    at: turn.at,
    priority: state.priority,
  });
  await take(state, added, messages);
  state.tip = tip;
  return { tip, newMessages: added.length };
}

/** While messages are added in steps, no request of the proxy may look for its place in this log. */
function addToLog(
  { exclusively }: Pick<TurnContext, "exclusively">,
  ...[log, from, entries, appending]: Parameters<typeof appendInSteps>
): Promise<Tip> {
  return exclusively(placingIn(log), () => appendInSteps(log, from, entries, appending));
}

/** The messages of the model at the end of the conversation so far. */
export function lastAnswer({
  sentMessages,
  wire,
}: Pick<SessionState, "sentMessages" | "wire">): readonly Message[] {
  const answer: Message[] = [];
  for (let index = sentMessages.length - 1; wire !== undefined && index >= 0; index--) {
    const message = wire.messages.decode(sentMessages[index] ?? {});
    if (message.role !== "assistant") break;
    answer.unshift(message);
  }
  return answer;
}

/** The bytes of the messages. Notes whether any of them may carry a cache mark, and lets other work run in between. */
async function encodeAll(
  state: SessionState,
  wire: Wire,
  messages: readonly JsonObject[],
): Promise<readonly Uint8Array[]> {
  const bytes: Uint8Array[] = [];
  for (const [index, message] of messages.entries()) {
    if (index > 0 && index % messagesPerStep === 0) await nextTurn();
    const encoded = encodeMessage(message);
    state.hasMarks ||= mayCarryMark(wire, encoded);
    bytes.push(encoded);
  }
  return bytes;
}

/** Takes new messages into the state, and lets other work run in between. Contract: the session does nothing else meanwhile. */
async function take(
  state: SessionState,
  added: readonly JsonObject[],
  messages: readonly LogMessage[],
): Promise<void> {
  for (const [index, message] of messages.entries()) {
    if (index > 0 && index % messagesPerStep === 0) await nextTurn();
    state.sentMessages.push(added[index] ?? {});
    state.messages.push(message);
    state.links.push(extendLink(state.links.at(-1) ?? rootLink(state.wire?.name ?? ""), message));
    state.sumsBefore.push(addMessage(state.sumsBefore.at(-1) ?? nothing, message));
  }
  state.totals = addMessages(state.totals, messages);
}

/**
 * Called if the log in memory no longer matches the store. Reads the log from the store and adds the whole conversation to it. If
 * the session was deleted, the conversation goes on in a new one.
 */
export async function reopen(
  context: Pick<TurnContext, "sessions" | "facts" | "now" | "exclusively">,
  state: SessionState,
  ruler: Ruler,
): Promise<void> {
  const { id, tenant, wire, agent } = state.log.record;
  const named = agent === undefined ? {} : { agent };
  const known = await context.sessions.byId(id);
  const log = known ?? context.sessions.create({ tenant, wire, ...named });
  state.log = log;
  if (state.wire === undefined) return;
  const bytes = await encodeAll(state, state.wire, state.sentMessages);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  const entries = messages.map((message, index) => ({
    message,
    bytes: bytes[index] ?? new Uint8Array(),
  }));
  const root: Tip = { seq: null, link: rootLink(state.wire.name) };
  state.tip = await addToLog(context, log, root, entries, {
    turn: "",
    branch: branchOf(log, state.agent),
    source: "request",
    isComplete: true,
    at: context.now(),
  });
}

function branchOf(log: SessionLog, agent: string | undefined): string {
  const branches = [...log.branches.values()].map(({ record }) => record);
  return branches.find((record) => record.agent === agent)?.id ?? "main";
}

/** If the tokenizer changes, Plimsoll counts the whole conversation again, once. */
async function useRuler(
  context: Pick<TurnContext, "facts">,
  state: SessionState,
  ruler: Ruler,
): Promise<void> {
  const isChanged = state.ruler !== undefined && state.ruler.key !== ruler.key;
  state.ruler = ruler;
  if (!isChanged || state.wire === undefined) return;
  const bytes = await encodeAll(state, state.wire, state.sentMessages);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  const sentMessages = state.sentMessages.splice(0);
  for (const list of [state.messages, state.links, state.sumsBefore]) list.splice(0);
  state.sumsBefore.push(nothing);
  state.totals = emptyTotals;
  await take(state, sentMessages, messages);
}

/** Adds the model's answer to the conversation, or the first answer if there are several alternatives. Returns its tokens. */
export async function takeAnswer(
  context: Pick<TurnContext, "facts">,
  state: SessionState,
  answer: readonly JsonObject[],
): Promise<number> {
  const { wire, tip, ruler } = state;
  if (answer.length === 0 || wire === undefined || tip === undefined || ruler === undefined)
    return 0;
  const messages = await context.facts.learn(wire, answer.map(encodeMessage), ruler);
  const link = messages.reduce<Link>(extendLink, tip.link);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? tip.seq, link };
  await take(state, answer, messages);
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Continues an earlier session. Its messages are known, but their counts may come from another tokenizer. */
export async function resume(
  context: Pick<TurnContext, "facts" | "targets">,
  state: SessionState,
  sentMessages: readonly JsonObject[],
): Promise<void> {
  const { wire } = state;
  if (wire === undefined) return;
  const ruler = state.ruler ?? context.targets.resolve(wire.name, wire, { model: "" }).ruler;
  const bytes = await encodeAll(state, wire, sentMessages);
  const messages = await context.facts.learn(wire, bytes, ruler);
  state.ruler = ruler;
  await take(state, sentMessages, messages);
  const links = linksIn(state.log, state.messages, state.links);
  state.links.splice(0, state.links.length, ...links);
  const link = state.links.at(-1) ?? rootLink(wire.name);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? null, link };
}
