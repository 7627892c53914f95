/**
 * One request through the system. Start reading here.
 *
 *   wire: slices ─► learn: hashes, tokens ─► log: append new ─► measure ─► upstream ─► log: append answer
 *
 * A turn that edits nothing is one durable transaction: its new messages and its answer together,
 * before the client sees the end of the answer.
 */

import { addNew, commitTurn, noCounters, seedTurn } from "../budget/counters.ts";
import type { Measurement } from "../budget/measure.ts";
import type { Counters } from "../message/counters.ts";
import { errorMessage } from "../message/error.ts";
import type { Outcome, Relation, TurnStatus } from "../message/event.ts";
import { packBody, sha256 } from "../store/body.ts";
import type { Store, TurnRecord, Write } from "../store/store.ts";
import type { Answer, Wire } from "../wire/wire.ts";
import type { EventBus } from "./event-bus.ts";
import { placeInSession, type SessionHints } from "./identify.ts";
import { newId, shortHash } from "./ids.ts";
import { extendLinks, type Link, type LogMessage, moveTip, rootLink } from "./log.ts";
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
  announceSession,
  appendMessages,
  type Placed,
  startNewBranch,
} from "./record.ts";
import type { LogSaver, Saved } from "./save-log.ts";
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
  readonly saver: LogSaver;
  /** Turns that have begun and not ended: whoever closes waits for them. */
  readonly openTurns: OpenTurns;
}

export interface OpenTurns {
  add(turn: Unended): void;
  delete(turn: Unended): void;
}

/** How to end a turn that nobody else will end; undefined when somebody will. */
export interface Unended {
  readonly abort: (() => Promise<unknown>) | undefined;
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
  /** Stores the turn. Contract: never rejects; call it once. */
  end(result: TurnResult): Promise<Saved>;
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
  if (isNew) announceSession(log, hints.agent, turn.at);
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
  moveTip(branch, tip.seq);
  branch.inFlight++;
  context.sessions.noteChains(log, links.slice(place.common));
  return { log, branch, relation: place.relation, tip, newMessages: added.length };
}

export interface OpenTurn {
  readonly turn: { readonly id: string; readonly at: number };
  readonly placed: Placed;
  readonly head: Head;
  readonly target: Target;
  readonly wire: Wire;
  /** Before correction by reported usage. */
  readonly measured: Measurement;
  /** The caller may never come back with an answer: then the turn ends when the product closes. */
  readonly isLeftOpen?: boolean;
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
  const end = async (result: TurnResult): Promise<Saved> => {
    try {
      return await endTurn(context, opened, result);
    } finally {
      context.openTurns.delete(unended);
    }
  };
  const unended: Unended = {
    abort: begun.isLeftOpen ? () => end({ status: "aborted" }) : undefined,
  };
  context.openTurns.add(unended);
  return {
    id: turn.id,
    session,
    branch: branch.record.id,
    relation,
    outcome: "passthrough",
    measurement,
    target,
    end,
  };
}

/** With the corrected measurement, as it was announced. */
type Opened = OpenTurn & { readonly measurement: Measurement };

async function endTurn(context: TurnContext, opened: Opened, given: TurnResult): Promise<Saved> {
  const { placed, target, measurement } = opened;
  const { log, branch } = placed;
  const { answerTokens, result } = await recordAnswer(context, opened, given);
  branch.inFlight--;
  const usage = result.answer?.usage;
  if (usage !== undefined) target.observe(opened.measured, usage.inputTokens);
  const endedAt = context.now();
  log.record = { ...log.record, updatedAt: endedAt };
  const record = recordOf(opened, result, endedAt);
  branch.record = { ...branch.record, counters: countersOf(opened, record, answerTokens) };
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
  return context.saver.save(log);
}

/** An answer that cannot be read must not take its request with it. */
async function recordAnswer(
  context: TurnContext,
  opened: Opened,
  result: TurnResult,
): Promise<{ readonly answerTokens: number; readonly result: TurnResult }> {
  try {
    return { answerTokens: await appendAnswers(context, opened, result), result };
  } catch (error) {
    const message = `The answer could not be recorded: ${errorMessage(error)}`;
    return { answerTokens: 0, result: { status: "incomplete", error: message } };
  }
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
  const isComplete = result.status === "complete";
  const learned = await context.facts.learn(wire, bytes, target.ruler);
  const messages = isComplete ? learned : learned.map(asIncomplete);
  const appending = {
    turn: turn.id,
    source: "answer",
    isComplete,
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
    moveTip(placed.branch, first.seq);
  context.sessions.noteChains(
    placed.log,
    tips.map(({ link }) => link),
  );
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Half an answer is not the whole one, even when a later try says no more than it did. */
function asIncomplete(message: LogMessage): LogMessage {
  return { ...message, identity: shortHash(`incomplete ${message.identity}`) };
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
  const seeded = seedTurn(noCounters, measurement.total, measurement.tools);
  return commitTurn(addNew(seeded, answerTokens), turn.usage);
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
