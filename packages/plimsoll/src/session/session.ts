/** A session as the library gives it to an agent: append, prepare, call the model, commit. */

import type { Limit } from "../budget/limit.ts";
import type { Measurement } from "../budget/measure.ts";
import { errorMessage } from "../message/error.ts";
import type { Outcome, PlimsollEvent, PlimsollEventType } from "../message/event.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import type { Message, ToolCallPart } from "../message/message.ts";
import type { ToolDefinition } from "../message/tool.ts";
import type { Answer, Wire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import { checkMessage, encodeMessage, encodePending, usage } from "./appended.ts";
import { newId } from "./ids.ts";
import { extendLink, type LogMessage, moveTip, rootLink, type SessionLog } from "./log.ts";
import { addMessages, emptyTotals, type Head, measureTurn, type Totals } from "./measure-turn.ts";
import type { Ruler } from "./message-facts.ts";
import { announceSession, appendMessages, startNewBranch, type Tip } from "./record.ts";
import type { Saved } from "./save-log.ts";
import { openTurn, type Turn, type TurnContext } from "./turn.ts";

export interface PrepareOptions {
  /** `provider/model`, e.g. `anthropic/claude-sonnet-5`. */
  readonly target: string;
  readonly system?: string;
  readonly tools?: readonly ToolDefinition[];
  readonly maxOutputTokens?: number;
  /** Further fields for the request, in the provider's own words: `stream`, `temperature`, … */
  readonly extra?: JsonObject;
}

/** `Request` is the type that the provider's client gives to its request; it is not checked. */
export interface PreparedTurn<Request = JsonObject> {
  readonly id: string;
  readonly outcome: { readonly kind: Outcome };
  /** In the target's wire format: hand it to the provider's client as it is. */
  readonly request: Request;
  readonly measurement: Measurement;
  readonly limit: Limit;
  /** The calls in an answer to this turn, whatever wire it came over. */
  toolCalls(answer: unknown): readonly ToolCallPart[];
}

/** Contract: one call at a time. Appended messages are stored with the next commit. */
export interface Session {
  readonly id: string;
  /** A message of any wire format, or the neutral form. */
  append(message: JsonObject | Message): Promise<void>;
  prepare<Request = JsonObject>(options: PrepareOptions): Promise<PreparedTurn<Request>>;
  /** A response, or the stream of its events. `unsaved`: the store failed, and will be tried again. */
  commit(answer: unknown): Promise<Saved>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
}

interface State {
  log: SessionLog;
  readonly agent?: string;
  readonly pending: (JsonObject | Message)[];
  /** What the model sees, in the session's wire. */
  readonly view: JsonObject[];
  wire: Wire | undefined;
  tip: Tip | undefined;
  ruler: Ruler | undefined;
  totals: Totals;
  head: { readonly key: readonly unknown[]; readonly value: Head } | undefined;
  open: { readonly turn: Turn; readonly wire: Wire } | undefined;
}

export interface SessionSource {
  readonly log: SessionLog;
  readonly agent?: string;
  /** Messages of the log, when an earlier session goes on. */
  readonly view: readonly JsonObject[];
}

export function createSession(
  context: TurnContext,
  wireOfProvider: (name: string) => Wire,
  source: SessionSource,
): Session {
  const { log, agent } = source;
  const knownWire = Object.values(wires).find(({ name }) => name === log.record.wire);
  const state: State = {
    log,
    ...(agent === undefined ? {} : { agent }),
    pending: [],
    view: [],
    wire: knownWire,
    tip: undefined,
    ruler: undefined,
    totals: emptyTotals,
    head: undefined,
    open: undefined,
  };
  const resumed = [...source.view];
  return {
    id: log.record.id,
    append: async (message) => {
      state.pending.push(checkMessage(message));
    },
    prepare: async <Request>(options: PrepareOptions) => {
      if (resumed.length > 0) await resume(context, state, resumed.splice(0));
      return (await prepare(context, state, options, wireOfProvider)) as PreparedTurn<Request>;
    },
    commit: (answer) => commit(context, state, answer),
    on: (type, handler) =>
      context.bus.subscribe(({ event }) => {
        if (event.session === log.record.id && event.type === type)
          handler(event as Parameters<typeof handler>[0]);
      }),
  };
}

async function prepare(
  context: TurnContext,
  state: State,
  options: PrepareOptions,
  wireOfProvider: (name: string) => Wire,
): Promise<PreparedTurn> {
  const [provider = "", ...model] = options.target.split("/");
  if (model.length === 0)
    throw usage(`The target "${options.target}" must be written as provider/model.`);
  const wire = wireOfProvider(provider);
  const { maxOutputTokens } = options;
  const target = context.targets.resolve(provider, wire, {
    model: model.join("/"),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
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
    relation: state.view.length === newMessages ? "new" : "extends",
    tip,
    newMessages,
  } as const;
  const opened = openTurn(context, {
    turn,
    placed,
    head,
    target,
    wire: state.wire ?? wire,
    measured: measureTurn(head, state.totals),
    isLeftOpen: true,
  });
  state.open = { turn: opened, wire };
  return {
    id: opened.id,
    outcome: { kind: opened.outcome },
    request: withMessages(
      wire.composeBody({
        model: target.model,
        messages: [],
        tools: options.tools ?? [],
        maxOutputTokens: target.limit.maxOutput,
        ...(options.system === undefined ? {} : { system: options.system }),
        ...(options.extra === undefined ? {} : { extra: options.extra }),
      }),
      wire,
      state,
    ),
    measurement: opened.measurement,
    limit: target.limit,
    toolCalls: (answer) =>
      wire.readAnswer(answer as JsonValue).messages.flatMap((message) => wire.toolCalls(message)),
  };
}

/** The list is made when it is read: a long conversation should not be copied for a turn that is only measured. */
function withMessages(body: JsonObject, wire: Wire, state: State): JsonObject {
  const field = wire.messagesField;
  const first = body[field];
  const head = Array.isArray(first) ? first : [];
  const { length } = state.view;
  let messages: readonly JsonValue[] | undefined;
  return Object.defineProperty(body, field, {
    enumerable: true,
    get: () => {
      messages ??= [...head, ...messagesFor(wire, state, length)];
      return messages;
    },
  });
}

function messagesFor(
  wire: Wire,
  { wire: own = wire, view }: State,
  length: number,
): readonly JsonObject[] {
  const seen = view.slice(0, length);
  return own === wire ? seen : wire.encode(seen.map((message) => own.decode(message)));
}

interface Appending {
  readonly wire: Wire;
  readonly ruler: Ruler;
  readonly turn: { readonly id: string; readonly at: number };
}

/** Puts what was appended since the last turn into the log: the cost of a turn is the cost of this. */
async function appendPending(
  context: TurnContext,
  state: State,
  { wire, ruler, turn }: Appending,
): Promise<{ readonly tip: Tip; readonly newMessages: number }> {
  state.wire ??= wire;
  if (state.log.record.wire !== state.wire.name)
    state.log.record = { ...state.log.record, wire: state.wire.name };
  await useRuler(context, state, ruler);
  const added = encodePending(state.pending.splice(0), state.wire);
  const bytes = added.map(encodeMessage);
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

function take(state: State, added: readonly JsonObject[], messages: readonly LogMessage[]): void {
  state.view.push(...added);
  state.totals = addMessages(state.totals, messages);
}

/** The store and the log in memory had parted: everything that was said is put where the store stands now. */
async function reopen(context: TurnContext, state: State, ruler: Ruler): Promise<void> {
  const log = await context.sessions.byId(state.log.record.id);
  if (log === undefined || state.wire === undefined) return;
  state.log = log;
  const bytes = state.view.map(encodeMessage);
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
async function useRuler(context: TurnContext, state: State, ruler: Ruler): Promise<void> {
  const isChanged = state.ruler !== undefined && state.ruler.key !== ruler.key;
  state.ruler = ruler;
  if (!isChanged || state.wire === undefined) return;
  const bytes = state.view.map(encodeMessage);
  const messages = await context.facts.learn(state.wire, bytes, ruler);
  state.totals = addMessages(emptyTotals, messages);
}

function mainBranch(state: State, at: number): ReturnType<typeof startNewBranch> {
  const { log, agent } = state;
  const known = [...log.branches.values()].find(({ record }) => record.agent === agent);
  if (known !== undefined) return known;
  announceSession(log, agent, at);
  return startNewBranch(log, { relation: "new", forkSeq: null, agent, at });
}

async function headOf(
  context: TurnContext,
  state: State,
  {
    options,
    wire,
    target,
  }: { readonly options: PrepareOptions; readonly wire: Wire; readonly target: Turn["target"] },
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

async function commit(context: TurnContext, state: State, given: unknown): Promise<Saved> {
  const { open, wire } = state;
  if (open === undefined || wire === undefined) {
    throw usage("commit without prepare: call prepare first, and commit its answer once.");
  }
  state.open = undefined;
  const { answer, failure } = await readAnswer(open.wire, given);
  const messages =
    open.wire === wire
      ? answer.messages
      : wire.encode(answer.messages.map((message) => open.wire.decode(message)));
  const error = failure ?? answer.error?.message;
  const saved = await open.turn.end({
    status: statuses[answer.outcome],
    answer: { ...answer, messages },
    ...(error === undefined ? {} : { error }),
  });
  if (answer.outcome === "message") await takeAnswer(context, state, messages[0]);
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
  state: State,
  answer: JsonObject | undefined,
): Promise<void> {
  const { wire, tip, ruler } = state;
  if (answer === undefined || wire === undefined || tip === undefined || ruler === undefined)
    return;
  const [message] = await context.facts.learn(wire, [encodeMessage(answer)], ruler);
  if (message === undefined) return;
  const link = extendLink(tip.link, message);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? tip.seq, link };
  take(state, [answer], [message]);
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
  state: State,
  view: readonly JsonObject[],
): Promise<void> {
  const { wire } = state;
  if (wire === undefined) return;
  const ruler = state.ruler ?? context.targets.resolve(wire.name, wire, { model: "" }).ruler;
  const bytes = view.map(encodeMessage);
  const messages = await context.facts.learn(wire, bytes, ruler);
  state.ruler = ruler;
  take(state, view, messages);
  let link = rootLink(wire.name);
  for (const message of messages) link = extendLink(link, message);
  state.tip = { seq: state.log.seqByChain.get(link.chain) ?? null, link };
}
