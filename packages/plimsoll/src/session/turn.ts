/**
 * One request through the system. Start reading here.
 *
 *   wire: slices ─► learn: hashes, tokens ─► log: append new ─► measure ─► upstream ─► log: append answer
 *
 * A turn that edits nothing is one durable transaction: its new messages and its answer together,
 * before the client sees the end of the answer.
 */

import type { Measurement } from "../budget/measure.ts";
import { errorMessage } from "../message/error.ts";
import type { Outcome, Relation, TurnStatus } from "../message/event.ts";
import { packBody, sha256 } from "../store/body.ts";
import type { Counters, Store, TurnRecord, Write } from "../store/store.ts";
import type { Answer, Wire } from "../wire/wire.ts";
import type { EventBus } from "./event-bus.ts";
import { placeInSession, type SessionHints } from "./identify.ts";
import { newId } from "./ids.ts";
import { extendLinks, type Link, type LogMessage, rootLink } from "./log.ts";
import {
  addMessages,
  emptyTotals,
  type Head,
  type HeadReader,
  measureTurn,
} from "./measure-turn.ts";
import type { FactsReader } from "./message-facts.ts";
import type { PrefixMemory } from "./prefix-memory.ts";
import {
  announce,
  appendMessages,
  type Placed,
  saveLog,
  setTip,
  startNewBranch,
} from "./record.ts";
import type { SessionCache } from "./session-cache.ts";
import type { Target, Targets } from "./target.ts";

/** What a turn needs of the world. */
export interface TurnContext {
  readonly store: Store;
  readonly sessions: SessionCache;
  readonly facts: FactsReader;
  readonly heads: HeadReader;
  readonly prefixes: PrefixMemory;
  readonly targets: Targets;
  readonly bus: EventBus;
  readonly now: () => number;
  /** One piece of work after the other under each name: two requests never look for one session at once. */
  readonly exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

export interface Incoming {
  readonly tenant: string;
  readonly provider: string;
  readonly wire: Wire;
  readonly body: Uint8Array;
  readonly hints: SessionHints;
}

export interface TurnResult {
  readonly status: TurnStatus;
  readonly answer?: Answer;
  readonly error?: string;
}

export interface Turn {
  readonly id: string;
  readonly session: string;
  readonly branch: string;
  readonly relation: Relation;
  readonly outcome: Outcome;
  readonly measurement: Measurement;
  readonly target: Target;
  /**
   * Stores the turn. Contract: never rejects; call it once. When storage fails, the turn is kept in
   * memory, announced as a store-error, and written with the next turn of its session.
   */
  end(result: TurnResult): Promise<void>;
}

/** A request as a client sent it: everything, every time. */
export async function receiveTurn(context: TurnContext, incoming: Incoming): Promise<Turn> {
  const { wire, body, provider, tenant } = incoming;
  const memoryKey = memoryKeyOf(incoming);
  const recalled = context.prefixes.recall(memoryKey, body, wire.messagesField);
  const request = wire.readRequest(body, recalled.slices);
  const hints = {
    ...(request.clientSession && { clientKey: request.clientSession }),
    ...incoming.hints,
  };
  const target = context.targets.resolve(provider, wire, request);
  const bytes = request.messages.map((slice) => body.subarray(slice.start, slice.end));
  const known = recalled.rulerKey === target.ruler.key ? recalled.messages : [];
  const messages = [
    ...known,
    ...(await context.facts.learn(wire, bytes.slice(known.length), target.ruler)),
  ];
  const links = extendLinks(wire.name, recalled.links.slice(0, known.length), messages);
  const head = await context.heads.read(body, request, target);
  context.prefixes.remember(memoryKey, {
    body,
    slices: recalled.slices,
    rulerKey: target.ruler.key,
    messages,
    links,
  });

  const turn = { id: newId("turn"), at: context.now() };
  const placed = await context.exclusively(`${tenant}\0${hints.clientKey ?? ""}`, () =>
    appendRequest(context, { ...incoming, hints }, { turn, messages, links, bytes }),
  );
  const measured = measureTurn(head, addMessages(emptyTotals, messages));
  return openTurn(context, { turn, placed, head, target, wire, measured });
}

/** Requests of one conversation should have the same key; a wrong one costs time, nothing else. */
function memoryKeyOf({ tenant, wire, hints, body }: Incoming): string {
  const name = hints.clientKey ?? hints.sessionId ?? sha256(body.subarray(0, 1024));
  return [tenant, wire.name, name, hints.agent ?? ""].join("\0");
}

interface Request {
  readonly turn: { readonly id: string; readonly at: number };
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
  readonly bytes: readonly Uint8Array[];
}

/** Finds the session and the branch, and adds what is new below what is known. */
async function appendRequest(
  context: TurnContext,
  incoming: Incoming,
  request: Request,
): Promise<Placed> {
  const { tenant, wire, hints } = incoming;
  const { messages, links, bytes, turn } = request;
  const shape = {
    links,
    roles: messages.map(({ role }) => role),
    identities: messages.map(({ identity }) => identity),
  };
  const { log, isNew } = await context.sessions.find({
    tenant,
    wire: wire.name,
    request: shape,
    hints,
  });
  if (isNew) announceSession(log.record.id, { log, wire, hints, at: turn.at });
  const place = placeInSession(log, shape, hints);
  const branch =
    place.branch ??
    startNewBranch(log, {
      relation: place.relation,
      forkSeq: place.parent,
      agent: hints.agent,
      at: turn.at,
    });
  const known = { seq: place.parent, link: links[place.common - 1] ?? rootLink(wire.name) };
  const added = messages.slice(place.common).map((message, index) => ({
    message,
    bytes: bytes[place.common + index] ?? new Uint8Array(),
  }));
  const tip = appendMessages(log, known, added, {
    turn: turn.id,
    source: "request",
    isComplete: true,
    at: turn.at,
  });
  setTip(branch, tip);
  branch.inFlight++;
  context.sessions.noteChains(log, links.slice(place.common));
  return { log, branch, relation: place.relation, tip, newMessages: added.length };
}

function announceSession(
  session: string,
  { log, wire, hints, at }: { log: Placed["log"]; wire: Wire; hints: SessionHints; at: number },
): void {
  const { agent } = hints;
  announce(log, {
    type: "session-start",
    session,
    at,
    wire: wire.name,
    ...(agent === undefined ? {} : { agent }),
  });
}

export interface OpenTurn {
  readonly turn: { readonly id: string; readonly at: number };
  readonly placed: Placed;
  readonly head: Head;
  readonly target: Target;
  readonly wire: Wire;
  /** Before correction by reported usage. */
  readonly measured: Measurement;
}

/** From here on the request is in the log, and must end: with an answer, or with what went wrong. */
export function openTurn(context: TurnContext, begun: OpenTurn): Turn {
  const { turn, placed, target } = begun;
  const measurement = target.correct(begun.measured);
  const opened = { ...begun, measurement };
  const { log, branch, relation } = placed;
  const session = log.record.id;
  context.bus.emit({
    tenant: log.record.tenant,
    event: {
      type: "turn-start",
      session,
      at: turn.at,
      turn: turn.id,
      branch: branch.record.id,
      model: target.model,
      newMessages: placed.newMessages,
      measurement,
      limit: target.limit.limit,
    },
  });
  return {
    id: turn.id,
    session,
    branch: branch.record.id,
    relation,
    outcome: "passthrough",
    measurement,
    target,
    end: async (result) => {
      try {
        await endTurn(context, opened, result);
      } catch (error) {
        const { tenant } = log.record;
        const message = `A turn could not be recorded: ${errorMessage(error)}`;
        context.bus.emit({
          tenant,
          event: { type: "store-error", session, at: context.now(), message },
        });
      }
    },
  };
}

/** With the corrected measurement, as it was announced. */
type Opened = OpenTurn & { readonly measurement: Measurement };

async function endTurn(context: TurnContext, opened: Opened, result: TurnResult): Promise<void> {
  const { placed, target, measurement } = opened;
  const { log, branch } = placed;
  let answers = 0;
  try {
    answers = await appendAnswers(context, opened, result);
  } finally {
    branch.inFlight--;
  }
  const usage = result.answer?.usage;
  if (usage !== undefined) target.observe(opened.measured, usage.inputTokens);
  const endedAt = context.now();
  log.record = { ...log.record, updatedAt: endedAt };
  const record = recordOf(opened, result, endedAt);
  branch.record = { ...branch.record, counters: countersOf(opened, record, answers) };
  branch.isChanged = true;
  log.unsaved.push(...turnWrites(opened, record));
  announce(log, {
    type: "turn-end",
    session: log.record.id,
    at: endedAt,
    turn: record.id,
    branch: record.branch,
    model: record.model,
    outcome: record.outcome,
    status: record.status,
    measurement,
    limit: record.limit,
    ...(usage === undefined ? {} : { usage }),
    ...(record.error === undefined ? {} : { error: record.error }),
  });
  await saveLog(log, context);
}

/** Several choices are siblings; the branch goes on from the first. Gives the tokens of the answer. */
async function appendAnswers(
  context: TurnContext,
  opened: OpenTurn,
  result: TurnResult,
): Promise<number> {
  const { placed, target, wire, turn } = opened;
  const answers = result.answer?.messages ?? [];
  const bytes = answers.map((message) => new TextEncoder().encode(JSON.stringify(message)));
  const messages = await context.facts.learn(wire, bytes, target.ruler);
  const appending = {
    turn: turn.id,
    source: "answer",
    isComplete: result.status === "complete",
    at: context.now(),
  } as const;
  const tips = messages.map((message, index) =>
    appendMessages(
      placed.log,
      placed.tip,
      [{ message, bytes: bytes[index] ?? new Uint8Array() }],
      appending,
    ),
  );
  const [first] = tips;
  // Another request may have moved the branch on meanwhile.
  if (first !== undefined && placed.branch.record.tipSeq === placed.tip.seq)
    setTip(placed.branch, first);
  context.sessions.noteChains(
    placed.log,
    tips.map(({ link }) => link),
  );
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

function recordOf(opened: Opened, result: TurnResult, endedAt: number): TurnRecord {
  const { turn, placed, head, target, measurement } = opened;
  const { usage, stopReason } = result.answer ?? {};
  return {
    id: turn.id,
    branch: placed.branch.record.id,
    relation: placed.relation,
    requestTip: placed.tip.seq,
    ...(head.hash === undefined ? {} : { head: head.hash }),
    model: target.model,
    outcome: "passthrough",
    status: result.status,
    measurement,
    limit: target.limit.limit,
    window: target.limit.window,
    ...(usage === undefined ? {} : { usage }),
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(result.error === undefined ? {} : { error: result.error }),
    startedAt: turn.at,
    endedAt,
  };
}

/** What the next turn of this branch starts from. */
function countersOf({ measurement }: Opened, turn: TurnRecord, answerTokens: number): Counters {
  const { usage } = turn;
  return {
    current:
      usage === undefined
        ? measurement.total + answerTokens
        : usage.inputTokens + usage.outputTokens,
    pending: 0,
    new: 0,
    schema: measurement.tools,
    reasoning: usage?.reasoningTokens ?? 0,
  };
}

function turnWrites({ placed, head }: Opened, turn: TurnRecord): readonly Promise<Write>[] {
  const { log } = placed;
  const session = log.record.id;
  const writes: Promise<Write>[] = [Promise.resolve({ kind: "turn", session, turn })];
  const { hash, bytes } = head;
  if (hash !== undefined && !log.heads.has(hash)) {
    log.heads.add(hash);
    writes.push(packBody(bytes).then((body) => ({ kind: "head", session, hash, body })));
  }
  return writes;
}
