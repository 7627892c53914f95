/** A session as the library gives it to an agent: append, prepare, call the model, commit. */

import { errorMessage } from "../message/error.ts";
import type { PlimsollEvent, PlimsollEventType } from "../message/event.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { Message } from "../message/message.ts";
import { recognizeOverflow } from "../wire/overflow.ts";
import type { Answer, Wire, WireName } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import { checkMessage, encodeMessage, encodePending, usage } from "./appended.ts";
import type { CompactWish } from "./compact-now.ts";
import { newId } from "./ids.ts";
import { extendLink, type LogMessage, moveTip, rootLink, type SessionLog } from "./log.ts";
import { addMessages, emptyTotals, type Head } from "./measure-turn.ts";
import type { Ruler } from "./message-facts.ts";
import { addMessage, nothing } from "./path.ts";
import {
  draftOf,
  type PreparedTurn,
  type PrepareOptions,
  preparedTurn,
  readRejection,
  type SessionState,
} from "./prepared.ts";
import { announceSession, appendMessages, startNewBranch, type Tip } from "./record.ts";
import type { Saved } from "./save-log.ts";
import {
  type Compacted,
  createSteering,
  type ResetWish,
  type RestorePoint,
  type Steered,
} from "./steer.ts";
import type { Target } from "./target.ts";
import { openTurn, type TurnContext } from "./turn.ts";

/** Contract: one call at a time. Appended messages are stored with the next commit. */
export interface Session {
  readonly id: string;
  /** A message of any wire format, or the neutral form. */
  append(message: JsonObject | Message): Promise<void>;
  prepare<Request = JsonObject>(options: PrepareOptions): Promise<PreparedTurn<Request>>;
  /** The provider rejected the request as too long: give its error here, and send what comes back instead. */
  overflowed<Request = JsonObject>(error: unknown): Promise<PreparedTurn<Request> | undefined>;
  /** A response, or the stream of its events. `unsaved`: the store failed, and will be tried again. */
  commit(answer: unknown): Promise<Saved>;
  /** Takes back an edit and all that was made with it; without a number, the last one. */
  undo(edit?: number): Promise<Steered>;
  /** A name for the view as it is now. */
  checkpoint(label?: string): Promise<string>;
  restore(point: RestorePoint): Promise<Steered>;
  compact(wish?: CompactWish): Promise<Compacted>;
  /** Something is finished: the next turn starts afresh, with a handover. */
  milestone(wish?: ResetWish): Promise<void>;
  /** Starts afresh now. */
  reset(wish?: ResetWish): Promise<Compacted>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
}

export type WireOfProvider = (name: string, wanted?: WireName) => Wire;

export interface SessionSource {
  readonly log: SessionLog;
  readonly agent?: string;
  readonly priority?: 1 | 2 | 3;
  /** Messages of the log, when an earlier session goes on. */
  readonly said: readonly JsonObject[];
}

export function createSession(
  context: TurnContext,
  wireOfProvider: WireOfProvider,
  source: SessionSource,
): Session {
  const { log, agent, priority } = source;
  const knownWire = Object.values(wires).find(({ name }) => name === log.record.wire);
  const state: SessionState = {
    log,
    ...(agent === undefined ? {} : { agent }),
    ...(priority === undefined ? {} : { priority }),
    pending: [],
    said: [],
    links: [],
    messages: [],
    sumsBefore: [nothing],
    hasMarks: false,
    wire: knownWire,
    tip: undefined,
    ruler: undefined,
    totals: emptyTotals,
    head: undefined,
    open: undefined,
  };
  const resumed = [...source.said];
  const steering = createSteering(context);
  return {
    id: log.record.id,
    append: async (message) => {
      state.pending.push(checkMessage(message));
    },
    prepare: async <Request>(options: PrepareOptions) => {
      if (resumed.length > 0) await resume(context, state, resumed.splice(0));
      return (await prepare(context, state, options, wireOfProvider)) as PreparedTurn<Request>;
    },
    overflowed: async <Request>(error: unknown) => {
      const { open } = state;
      const overflow = open && recognizeOverflow(readRejection(error));
      if (open === undefined || overflow === undefined) return undefined;
      const isSmaller = await open.turn.overflowed(overflow);
      return isSmaller ? (open.prepared() as PreparedTurn<Request>) : undefined;
    },
    commit: (answer) => commit(context, state, answer),
    undo: (edit) => steering.undo(log.record.id, edit === undefined ? {} : { edit }),
    checkpoint: async (label = "") => (await steering.checkpoint(log.record.id, { label })).id,
    restore: (point) => steering.restore(log.record.id, point),
    compact: (wish = {}) => steering.compact(log.record.id, wish),
    milestone: (wish = {}) => steering.milestone(log.record.id, wish),
    reset: (wish = {}) => steering.reset(log.record.id, wish),
    on: (type, handler) =>
      context.bus.subscribe(({ event }) => {
        if (event.session === log.record.id && event.type === type)
          handler(event as Parameters<typeof handler>[0]);
      }),
  };
}

async function prepare(
  context: TurnContext,
  state: SessionState,
  options: PrepareOptions,
  wireOfProvider: WireOfProvider,
): Promise<PreparedTurn> {
  const [provider = "", ...model] = options.target.split("/");
  if (model.length === 0)
    throw usage(`The target "${options.target}" must be written as provider/model.`);
  const wire = wireOfProvider(provider, options.wire);
  const { maxOutputTokens } = options;
  const targets = context.targets.candidates(provider, wire, {
    model: model.join("/"),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
  const [target] = targets;
  await state.open?.turn.end({ status: "aborted" });
  if (state.log.isAbandoned) await reopen(context, state, target.ruler);
  const turn = { id: newId("turn"), at: context.now() };
  const { tip, newMessages } = await appendPending(context, state, {
    wire,
    ruler: target.ruler,
    turn,
  });
  const branch = mainBranch(state, turn.at);
  moveTip(branch, tip.seq);
  branch.inFlight++;
  const head = await headOf(context, state, { options, wire, target });
  const placed = {
    log: state.log,
    branch,
    relation: state.said.length === newMessages ? "new" : "extends",
    tip,
    newMessages,
  } as const;
  const draft = draftOf(state, { turn, branch, head, targets, options, wire: state.wire ?? wire });
  const opened = await openTurn(context, { draft, placed, isLeftOpen: true });
  const prepared = (): PreparedTurn => preparedTurn(state, { opened, draft, wire, options });
  state.open = { turn: opened, wire, prepared };
  return prepared();
}

interface Appending {
  readonly wire: Wire;
  readonly ruler: Ruler;
  readonly turn: { readonly id: string; readonly at: number };
}

/** Puts what was appended since the last turn into the log: the cost of a turn is the cost of this. */
async function appendPending(
  context: TurnContext,
  state: SessionState,
  { wire, ruler, turn }: Appending,
): Promise<{ readonly tip: Tip; readonly newMessages: number }> {
  state.wire ??= wire;
  if (state.log.record.wire !== state.wire.name)
    state.log.record = { ...state.log.record, wire: state.wire.name };
  await useRuler(context, state, ruler);
  const added = encodePending(state.pending.splice(0), state.wire);
  const bytes = added.map(encodeMessage);
  noteMarks(state, bytes);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  const from = state.tip ?? { seq: null, link: rootLink(state.wire.name) };
  const entries = messages.map((message, index) => ({
    message,
    bytes: bytes[index] ?? new Uint8Array(),
  }));
  const tip = appendMessages(state.log, from, entries, {
    turn: turn.id,
    source: "request",
    isComplete: true,
    at: turn.at,
  });
  take(state, added, messages);
  state.tip = tip;
  return { tip, newMessages: added.length };
}

/** As in the proxy: a mark has a name that stands nowhere else, or in somebody's text. */
function noteMarks(state: SessionState, bytes: readonly Uint8Array[]): void {
  const isMarked = (one: Uint8Array): boolean =>
    Buffer.from(one.buffer, one.byteOffset, one.length).includes("cache_");
  state.hasMarks ||= bytes.some(isMarked);
}

function take(
  state: SessionState,
  added: readonly JsonObject[],
  messages: readonly LogMessage[],
): void {
  for (const [index, message] of messages.entries()) {
    state.said.push(added[index] ?? {});
    state.messages.push(message);
    state.links.push(extendLink(state.links.at(-1) ?? rootLink(state.wire?.name ?? ""), message));
    state.sumsBefore.push(addMessage(state.sumsBefore.at(-1) ?? nothing, message));
  }
  state.totals = addMessages(state.totals, messages);
}

/** The store and the log in memory had parted: everything that was said is put where the store stands now. */
async function reopen(context: TurnContext, state: SessionState, ruler: Ruler): Promise<void> {
  const log = await context.sessions.byId(state.log.record.id);
  if (log === undefined || state.wire === undefined) return;
  state.log = log;
  const bytes = state.said.map(encodeMessage);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  const entries = messages.map((message, index) => ({
    message,
    bytes: bytes[index] ?? new Uint8Array(),
  }));
  const root: Tip = { seq: null, link: rootLink(state.wire.name) };
  state.tip = appendMessages(log, root, entries, {
    turn: "",
    source: "request",
    isComplete: true,
    at: context.now(),
  });
}

/** Another tokenizer: everything is counted anew, once. */
async function useRuler(context: TurnContext, state: SessionState, ruler: Ruler): Promise<void> {
  const isChanged = state.ruler !== undefined && state.ruler.key !== ruler.key;
  state.ruler = ruler;
  if (!isChanged || state.wire === undefined) return;
  const bytes = state.said.map(encodeMessage);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  const said = state.said.splice(0);
  for (const list of [state.messages, state.links, state.sumsBefore]) list.splice(0);
  state.sumsBefore.push(nothing);
  state.totals = emptyTotals;
  take(state, said, messages);
}

function mainBranch(state: SessionState, at: number): ReturnType<typeof startNewBranch> {
  const { log, agent } = state;
  const known = [...log.branches.values()].find(({ record }) => record.agent === agent);
  if (known !== undefined) return known;
  announceSession(log, agent, at);
  return startNewBranch(log, { relation: "new", forkSeq: null, agent, at });
}

async function headOf(
  context: TurnContext,
  state: SessionState,
  {
    options,
    wire,
    target,
  }: { readonly options: PrepareOptions; readonly wire: Wire; readonly target: Target },
): Promise<Head> {
  const key = [options.system, options.tools, target.ruler.key, wire.name];
  if (state.head?.key.every((part, index) => part === key[index])) return state.head.value;
  const tools = options.tools ?? [];
  const body = wire.composeBody({ model: "", messages: [], tools, maxOutputTokens: 0 });
  const value = await context.heads.make(
    {
      system: options.system === undefined ? undefined : JSON.stringify(options.system),
      tools: tools.length === 0 ? undefined : JSON.stringify(body["tools"]),
    },
    target,
  );
  state.head = { key, value };
  return value;
}

async function commit(context: TurnContext, state: SessionState, given: unknown): Promise<Saved> {
  const { open, wire } = state;
  if (open === undefined || wire === undefined) {
    throw usage("commit without prepare: call prepare first, and commit its answer once.");
  }
  state.open = undefined;
  const { answer, failure } = await readAnswer(open.wire, given);
  const choices =
    open.wire === wire
      ? answer.choices
      : answer.choices.map((choice) =>
          wire.encode(choice.map((message) => open.wire.decode(message))),
        );
  const error = failure ?? answer.error?.message;
  const saved = await open.turn.end({
    status: statuses[answer.outcome],
    answer: { ...answer, choices },
    ...(error === undefined ? {} : { error }),
  });
  if (answer.outcome === "message") await takeAnswer(context, state, choices[0] ?? []);
  if (failure !== undefined) throw usage(`The answer could not be read to its end: ${failure}`);
  return saved;
}

const statuses = {
  message: "complete",
  cut: "incomplete",
  unread: "incomplete",
  error: "failed",
} as const;

/** The first choice is what the conversation goes on with. */
async function takeAnswer(
  context: TurnContext,
  state: SessionState,
  answer: readonly JsonObject[],
): Promise<void> {
  const { wire, tip, ruler } = state;
  if (answer.length === 0 || wire === undefined || tip === undefined || ruler === undefined) return;
  const messages = await context.facts.learn(wire, answer.map(encodeMessage), ruler);
  const link = messages.reduce(extendLink, tip.link);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? tip.seq, link };
  take(state, answer, messages);
}

interface ReadAnswer {
  readonly answer: Answer;
  /** What went wrong while the stream was read; what had come until then is in the answer. */
  readonly failure?: string;
}

async function readAnswer(wire: Wire, answer: unknown): Promise<ReadAnswer> {
  if (!isAsyncIterable(answer)) return { answer: wire.readAnswer(plainJson(answer)) };
  const accumulator = wire.openAnswer();
  try {
    for await (const event of answer) {
      const name = isObject(event) ? String(event["type"] ?? "") : "";
      accumulator.take({ name, data: JSON.stringify(event) });
    }
  } catch (error) {
    return { answer: accumulator.finish(), failure: errorMessage(error) };
  }
  return { answer: accumulator.finish() };
}

function plainJson(value: unknown): JsonValue {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as JsonValue);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Goes on where an earlier session stopped: its messages are known, only their counts may be of another ruler. */
async function resume(
  context: TurnContext,
  state: SessionState,
  said: readonly JsonObject[],
): Promise<void> {
  const { wire } = state;
  if (wire === undefined) return;
  const ruler = state.ruler ?? context.targets.resolve(wire.name, wire, { model: "" }).ruler;
  const bytes = said.map(encodeMessage);
  noteMarks(state, bytes);
  const messages = await context.facts.learn(wire, bytes, ruler);
  state.ruler = ruler;
  take(state, said, messages);
  const link = state.links.at(-1) ?? rootLink(wire.name);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? null, link };
}
