/** A library session as an agent uses it: append, prepare, call the model, commit. */

import { streamingOf } from "../../config/streaming.ts";
import type { PlimsollEvent, PlimsollEventType } from "../../message/event.ts";
import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import { checkTag, type MessageTag } from "../../message/tag.ts";
import type { OwnAnswer } from "../../offload/own-tools.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { recognizeOverflow } from "../../wire/overflow.ts";
import { wires } from "../../wire/wires.ts";
import type { Draft } from "../draft/draft.ts";
import { checkMessage, usage } from "../draft/encode.ts";
import { type FoundTools, loadTools } from "../fit/load-tools.ts";
import type { RestorePoint } from "../log/checkpoints.ts";
import { whileEditing } from "../log/edits.ts";
import { checkEventType } from "../log/event-bus.ts";
import type { SessionLog } from "../log/log.ts";
import { nothing } from "../log/path.ts";
import type { Saved } from "../log/save.ts";
import { emptyTotals } from "../measure/preamble.ts";
import type { CompactOptions } from "../steer/compact-now.ts";
import type { SteerContext } from "../steer/draft-from-store.ts";
import type { ForkPoint } from "../steer/fork.ts";
import {
  type Compacted,
  createSteering,
  type ResetOptions,
  type Steered,
  type Steering,
} from "../steer/steer.ts";
import type { TurnContext } from "../turn/context.ts";
import type { TurnResult } from "../turn/end-turn.ts";
import { overloadedStatuses } from "../turn/next-provider.ts";
import { type AnsweredCall, answerCall } from "./answer-call.ts";
import { resume, takeAnswer } from "./conversation.ts";
import { fills, type SessionFilling } from "./filling.ts";
import { type PrepareWorld, prepare, type WireOfProvider } from "./prepare.ts";
import { type PrepareOptions, readRejection } from "./prepared-request.ts";
import { type ReadAnswer, readStream } from "./read-stream.ts";
import type { PreparedTurn, SessionState } from "./state.ts";
import {
  type SessionStreaming,
  type StreamSession,
  type StreamWorld,
  streamed,
} from "./streamed.ts";
import {
  type BudgetWorld,
  createTurnBudget,
  type SessionToolBudget,
  type TurnBudget,
} from "./tool-budget.ts";

export type { WireOfProvider } from "./prepare.ts";

/** Contract: one call at a time. Appended messages are stored with the next commit. */
export interface Session extends SessionFilling, SessionStreaming {
  /** Changes only if the session was deleted: its conversation then goes on in a new session. */
  readonly id: string;
  /** Appends a message in any wire format or in Plimsoll's neutral form. The tag says how important it is, or what it contains. */
  append(message: JsonObject | Message, tag?: MessageTag): Promise<void>;
  /** Tags a message that is already in the log, by its number there. */
  tag(message: number, tag: MessageTag): Promise<void>;
  prepare<Request = JsonObject>(options: PrepareOptions): Promise<PreparedTurn<Request>>;
  /**
   * Call this with the provider's error if the provider rejected the request as too long or is overloaded. Send the returned turn
   * instead: it is smaller, or it is for the next provider (`target`, `wire`).
   */
  overflowed<Request = JsonObject>(error: unknown): Promise<PreparedTurn<Request> | undefined>;
  /**
   * Records an answer: a response, or the stream of its events. Returns `unsaved` if the store failed. Plimsoll then tries again
   * later.
   */
  commit(answer: unknown): Promise<Saved>;
  /** Answers a call to one of Plimsoll's own tools. Returns null if the tool is not Plimsoll's. Run it yourself then. */
  answer(call: ToolCallPart): Promise<AnsweredCall | null>;
  /** Decides for each tool result whether it fits whole, only as a reference with a handle, or not at all. */
  readonly toolBudget: SessionToolBudget;
  /** Undoes an edit and all edits made together with it. Without a number, undoes the last edit. */
  undo(edit?: number): Promise<Steered>;
  /** Gives the present view a name. */
  checkpoint(label?: string): Promise<string>;
  restore(point: RestorePoint): Promise<Steered>;
  compact(options?: CompactOptions): Promise<Compacted>;
  /** Makes a new session from this one, or from a point of it, and returns its id. `plimsoll.session(id)` opens it. */
  fork(point?: ForkPoint): Promise<string>;
  /** Call this when a piece of work is finished. The next turn then starts afresh, with a handover. */
  milestone(options?: ResetOptions): Promise<void>;
  /** Starts afresh now. */
  reset(options?: ResetOptions): Promise<Compacted>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
}

export interface SessionSource {
  readonly log: SessionLog;
  readonly agent?: string;
  readonly priority?: 1 | 2 | 3;
  /** The messages in the log, if this session was opened before. Empty for a new session. */
  readonly sentMessages: readonly JsonObject[];
}

/** The services that a session needs. */
export type SessionContext = SteerContext & BudgetWorld & PrepareWorld & StreamWorld;

export function createSession(
  context: SessionContext,
  wireOfProvider: WireOfProvider,
  source: SessionSource,
): Session {
  const state = firstState(source);
  const resumed = [...source.sentMessages];
  const steering = createSteering(context);
  const budget = createTurnBudget(context);
  const next = async <Request>(options: PrepareOptions): Promise<PreparedTurn<Request>> => {
    if (resumed.length > 0) await resume(context, state, resumed.splice(0));
    const prepared = await context.openTurns.during(() =>
      prepare(context, state, options, { wireOfProvider, budget }),
    );
    lastOptions = options;
    return prepared as PreparedTurn<Request>;
  };
  let lastOptions: PrepareOptions | undefined;
  const streaming: StreamSession = {
    tenant: state.log.record.tenant,
    wire: () => state.wire ?? openRequest(state).wire,
    read: (stream, patience) => readStream(openRequest(state).wire, stream, patience),
    commit: (read, takesCut) => record(context, state, budget, { ...read, takesCut }),
    goOn: async (words) => {
      state.pending.push({ message: checkMessage(words), tag: undefined });
      if (lastOptions === undefined) throw usage("There is no prepared turn to go on from.");
      return next(lastOptions);
    },
  };
  return {
    get id() {
      return state.log.record.id;
    },
    append: async (message, tag) => {
      state.pending.push({ message: checkMessage(message), tag: checkTag(tag) });
    },
    tag: (message, tag) => steering.tag(state.log.record.id, { message, tag }),
    prepare: next,
    overflowed: async <Request>(error: unknown) => {
      const { open } = state;
      if (open === undefined || !(await isHelped(open, error))) return undefined;
      await open.begin();
      return open.prepared() as PreparedTurn<Request>;
    },
    commit: (answer) => commit(context, state, budget, answer),
    streamed: (stream, options = {}) =>
      streamed(
        { world: context, session: streaming, settings: streamingOf(context.config), options },
        stream,
      ),
    answer: async (call) => {
      const { sent } = state;
      if (state.draft === undefined || sent === undefined) return null;
      const draft = await currentDraft(context, state.draft);
      const compact = (): Promise<Compacted> => steering.compact(state.log.record.id, {});
      // The next prepared turn lists the tools that this search finds.
      const findTools = async (query: string): Promise<OwnAnswer> => {
        const isBehindAnother = draft.branch.memory.found?.turn === draft.turn.id;
        const innerTokens = Math.max(0, budget.spent);
        const search = { query, before: sent(), innerTokens, isBehindAnother };
        const load = (): Promise<FoundTools> => loadTools(context, draft, search);
        const { answer } = await whileEditing(draft.log, load);
        // Saved at once, because another process may run the next turn.
        await context.saver.save(draft.log);
        return answer;
      };
      return answerCall(context, { draft, budget, compact, findTools }, call);
    },
    toolBudget: budget.publicApi,
    shouldCompact: (threshold) => fills(context, state, threshold),
    impact: (view) => steering.impact(state.log.record.id, view === undefined ? {} : { view }),
    ...byHand(steering, () => state.log.record.id),
    on: (type, handler) => {
      checkEventType(type);
      return context.bus.subscribe(({ event }) => {
        if (event.session === state.log.record.id && event.type === type)
          handler(event as Parameters<typeof handler>[0]);
      });
    },
  };
}

/** The state of a session before its first turn in this process. */
function firstState({ log, agent, priority }: SessionSource): SessionState {
  const knownWire = Object.values(wires).find(({ name }) => name === log.record.wire);
  return {
    log,
    ...(agent === undefined ? {} : { agent }),
    ...(priority === undefined ? {} : { priority }),
    pending: [],
    sentMessages: [],
    links: [],
    messages: [],
    sumsBefore: [nothing],
    hasMarks: false,
    wire: knownWire,
    tip: undefined,
    ruler: undefined,
    totals: emptyTotals,
    tools: undefined,
    head: undefined,
    offer: undefined,
    open: undefined,
    draft: undefined,
    sent: undefined,
    denial: undefined,
  };
}

function byHand(
  steering: Steering,
  idNow: () => string,
): Pick<Session, "undo" | "checkpoint" | "restore" | "fork" | "compact" | "milestone" | "reset"> {
  return {
    undo: (edit) => steering.undo(idNow(), edit === undefined ? {} : { edit }),
    checkpoint: async (label = "") => (await steering.checkpoint(idNow(), { label })).id,
    restore: (point) => steering.restore(idNow(), point),
    fork: async (point = {}) => (await steering.fork(idNow(), point)).id,
    compact: (options = {}) => steering.compact(idNow(), options),
    milestone: async (options = {}) => {
      await steering.milestone(idNow(), options);
    },
    reset: (options = {}) => steering.reset(idNow(), options),
  };
}

/** The draft with the current log, which may have been evicted from memory and read from the store again. */
async function currentDraft(
  { sessions }: Pick<TurnContext, "sessions">,
  draft: Draft,
): Promise<Draft> {
  const log = await sessions.current(draft.log);
  const branch = log.branches.get(draft.branch.record.id);
  return branch === undefined ? draft : { ...draft, log, branch };
}

async function commit(
  context: Pick<TurnContext, "facts">,
  state: SessionState,
  budget: TurnBudget,
  given: unknown,
): Promise<Saved> {
  const read = await readAnswer(openRequest(state).wire, given);
  const saved = await record(context, state, budget, read);
  if (read.failure !== undefined)
    throw usage(`The answer could not be read to the end: ${read.failure}`);
  return saved;
}

function openRequest({ open, wire }: SessionState): NonNullable<SessionState["open"]> {
  if (open !== undefined && wire !== undefined) return open;
  throw usage(
    "There is no prepared turn to commit. Call prepare first, and commit its answer once.",
  );
}

/** Ends the open turn with this answer. */
async function record(
  context: Pick<TurnContext, "facts">,
  state: SessionState,
  budget: TurnBudget,
  { answer, failure, takesCut }: ReadAnswer & Pick<TurnResult, "takesCut">,
): Promise<Saved> {
  const open = openRequest(state);
  const { wire = open.wire } = state;
  state.open = undefined;
  const choices =
    open.wire === wire
      ? answer.choices
      : answer.choices.map((choice) =>
          wire.messages.encode(choice.map((message) => open.wire.messages.decode(message))),
        );
  const error = failure ?? answer.error?.message;
  const saved = await open.turn.end({
    status: statuses[answer.outcome],
    answer: { ...answer, choices },
    ...(error === undefined ? {} : { error }),
    ...(takesCut === undefined ? {} : { takesCut }),
  });
  if (answer.outcome === "message") {
    const [sentMessages = []] = choices;
    const calls = sentMessages.flatMap((message) => wire.messages.toolCalls(message));
    const tokens = await takeAnswer(context, state, sentMessages);
    const inputTokens = state.draft?.branch.memory.basis?.inputTokens;
    budget.answered({ tokens, calls: calls.length, inputTokens });
    state.denial = undefined;
  }
  return saved;
}

/** Makes the request smaller, or turns to the next provider. Returns false if the provider's error is final. */
async function isHelped(
  { turn, moveOn }: NonNullable<SessionState["open"]>,
  error: unknown,
): Promise<boolean> {
  const rejection = readRejection(error);
  const overflow = recognizeOverflow(rejection);
  if (overflow !== undefined && (await turn.overflowed(overflow))) return true;
  const isFull = overflow !== undefined || overloadedStatuses.has(rejection.status);
  return isFull && (await moveOn());
}

const statuses = {
  message: "complete",
  cut: "incomplete",
  unread: "incomplete",
  error: "failed",
} as const;

async function readAnswer(wire: Wire, answer: unknown): Promise<ReadAnswer> {
  return isAsyncIterable(answer)
    ? readStream(wire, answer)
    : { answer: wire.answer.read(plainJson(answer)) };
}

function plainJson(value: unknown): JsonValue {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as JsonValue);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
