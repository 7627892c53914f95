/**
 * The engine, which combines a store with its sessions and events. Server, command line and benchmarks use the engine directly.
 * Other programs use `plimsoll.ts`.
 */

import { createHmac } from "node:crypto";
import { NamedQueues } from "./bounds/queue.ts";
import { checkConfig } from "./config/config.ts";
import { configuredTokenizers } from "./config/configured-tokenizers.ts";
import { openDataFolder } from "./config/data-folder.ts";
import { withLimits } from "./config/limits.ts";
import { retryPolicyOf } from "./config/retry.ts";
import type { Config } from "./config/schema.ts";
import { streamingOf } from "./config/streaming.ts";
import { summariserChoice } from "./config/summariser.ts";
import type { TurnPoint } from "./message/api.ts";
import { errorMessage, PlimsollError } from "./message/error.ts";
import type { EmittedEvent, PlimsollEvent, PlimsollEventType } from "./message/event.ts";
import type { Sign } from "./message/handle.ts";
import type { Strategy } from "./message/strategy.ts";
import { newSession, resumeSession, type SessionOptions } from "./open-session.ts";
import type { WordVectors } from "./search/vectors.ts";
import { type CutTurns, createCutTurns } from "./session/cut/cut-turns.ts";
import { partialsIn } from "./session/cut/save-partial.ts";
import { createBackground } from "./session/fit/background.ts";
import { createDebug, type Debug } from "./session/fit/debug.ts";
import { createPhaseWatch } from "./session/fit/phases.ts";
import { countWith, retryChain, usualChain, usualTokenizer } from "./session/fit/usual-chain.ts";
import { createSessionCache } from "./session/identify/find-session.ts";
import { createPrefixMemory } from "./session/identify/last-request.ts";
import { createReferences } from "./session/identify/provider-ids.ts";
import { type CostOf, type CostReport, costOf } from "./session/inspect/cost.ts";
import { createNames, type NamesOf } from "./session/inspect/session-rows.ts";
import { pointOf } from "./session/inspect/turn-history.ts";
import { createPictures, type Pictures } from "./session/inspect/window.ts";
import { compactOnce, type OneOff, type OneOffTask } from "./session/library/compact-messages.ts";
import type { Session, SessionContext } from "./session/library/session.ts";
import type { StreamWorld } from "./session/library/streamed.ts";
import { checkEventType, createEventBus } from "./session/log/event-bus.ts";
import type { Mender } from "./session/log/mend.ts";
import { openStore } from "./session/log/open-store.ts";
import { createLogSaver } from "./session/log/save.ts";
import { createStoreHealth, type StoreHealth } from "./session/log/store-health.ts";
import { createOwnAnswers, type OwnAnswers } from "./session/lookup/answer-own-call.ts";
import { createCalibrations } from "./session/measure/calibrations.ts";
import { createFactsReader } from "./session/measure/message-facts.ts";
import { createPreambleReader } from "./session/measure/preamble.ts";
import { createPreambleCounts } from "./session/measure/preamble-counts.ts";
import { createPrices } from "./session/measure/prices.ts";
import { createTargets } from "./session/measure/target.ts";
import { createTargetMemories, type TargetMemories } from "./session/measure/target-memory.ts";
import { createTokenCounter, type SessionTokenCounter } from "./session/measure/token-counter.ts";
import { createSessionSummariser } from "./session/models/session-summariser.ts";
import { createSummariser } from "./session/models/summariser.ts";
import { loadWordVectors } from "./session/models/word-vectors.ts";
import { createForgetting, type Forgetting } from "./session/steer/forget.ts";
import { type Retaining, retainHourly } from "./session/steer/retain-hourly.ts";
import { createSteering, type Steering } from "./session/steer/steer.ts";
import { createCompactThreads } from "./session/threads/compact-thread.ts";
import { createOfferReader } from "./session/tools/own-tools-offer.ts";
import type { Incoming, TurnContext } from "./session/turn/context.ts";
import { type ClosableTurns, createOpenTurns } from "./session/turn/open-turns.ts";
import { peekBody } from "./session/turn/peek.ts";
import { createTurnServices } from "./session/turn/services.ts";
import { ReceivedTurn } from "./session/turn/turn.ts";
import { createWork, type Work } from "./session/work/work.ts";
import type { Store } from "./store/store.ts";
import { newViolations } from "./wire/validate/validate.ts";

export interface EngineOptions {
  /** Folder for the database and the keys. */
  readonly data?: string;
  /** "memory" stores nothing on disk. */
  readonly store?: "memory";
  /** Whether the engine belongs to the service, which locks the data folder. */
  readonly isService?: boolean;
  readonly config?: Config;
  /** Parts to use instead of the default ones. */
  readonly parts?: Partial<Omit<Parts, "strategies">> & {
    readonly strategies?: ChosenStrategies;
  };
}

/** The whole chain of strategies, or a function that changes the default chain. */
export type ChosenStrategies =
  | readonly Strategy[]
  | ((usual: readonly Strategy[]) => readonly Strategy[]);

/** The parts that a caller may replace. */
export interface Parts {
  readonly strategies: readonly Strategy[];
  readonly validate: TurnContext["validate"];
  readonly store: Store;
  readonly counter: SessionTokenCounter;
  /** The clock, in milliseconds since 1970. Plimsoll also uses it to tell how old a provider's cache is. */
  readonly now: () => number;
  /** Receives the guard's reasoning by topic. By default it is printed if CONTEXT_DEBUG=true is set. */
  readonly debug?: Debug;
  /** Maximum number of sessions in memory. Other sessions are read from the store when they are needed. */
  readonly sessionsInMemory?: number;
}

/** Where events can be heard. */
export interface Watched {
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
  /** Receives all events, each with its tenant and number. For callers that forward events. */
  subscribe(handler: (event: EmittedEvent) => void): () => void;
}

export interface Engine extends Watched {
  /** Opens a new session, or an earlier one by its id. */
  session(options?: SessionOptions | string): Promise<Session>;
  /** Begins a turn with the request body that a client sent. Used by the proxy. */
  receive(incoming: Incoming): Promise<ReceivedTurn>;
  /**
   * The bytes that Plimsoll would send for this request, or undefined if it would send the client's own bytes unchanged. Nothing
   * is recorded.
   */
  peek(incoming: Incoming): Promise<Uint8Array | undefined>;
  /** Compacts a list of messages to a number of tokens outside of any session. Nothing is recorded. */
  compactMessages(task: OneOffTask): Promise<OneOff>;
  /** Answers calls of Plimsoll's own tools, and searches a session. */
  readonly own: OwnAnswers;
  /** Changes the view of a session by hand: undo, restore, checkpoint, pin, compact. */
  readonly steering: Steering;
  /** Deletes sessions. */
  readonly forgetting: Forgetting;
  /** Tasks, tickets and the states of agents. */
  readonly work: Work;
  readonly inspect: Inspection;
  readonly store: Store;
  readonly health: Health;
  readonly settings: Settings;
  readonly sign: Sign;
  /** Loads the default tokenizer now, so that the first request does not have to wait for it. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

/** Information about sessions to show to people. */
export interface Inspection {
  /** The content of a session's window, in order. */
  readonly picture: Pictures;
  /** The title and the client of a session, also of one that an earlier version recorded. */
  readonly names: NamesOf;
  /** The turns of a session, newest first. */
  turns(session: string, limit: number): Promise<readonly TurnPoint[]>;
  /** The cost of one session, of all sessions of a tenant, or of all tenants if `tenant` is undefined. */
  cost(of: CostOf): Promise<CostReport>;
  /** About how many bytes of memory Plimsoll keeps between requests, and for what. Each has a limit. */
  memory(): MemoryInUse;
}

export interface MemoryInUse {
  /** Sessions: their messages without texts, their edits, and lookups. */
  readonly sessions: number;
  /** The last request of each conversation. */
  readonly requests: number;
  /** Hashes and counts of messages. */
  readonly facts: number;
}

/** Current problems with the store. */
export interface Health extends Pick<StoreHealth, "problems" | "notices"> {
  /** Checks the whole database in the background. Damaged sessions are put aside and announced. */
  check(): Promise<void>;
}

export interface Settings {
  now(): Config;
  /**
   * Replaces the configuration. New limits and progress settings apply from the next turn on. Plimsoll reads all other settings
   * once, when the engine is opened.
   */
  change(config: Config): void;
}

/**
 * Maximum size of a database that the service writes anew after a deletion. Commits wait meanwhile, and this many bytes take less
 * time than a commit may take.
 */
const rewrittenBytesMost = 1_000_000_000;

const usualData = ".plimsoll";
/** When the engine closes, it waits at most this many milliseconds for running turns to end. */
const closeTimeoutMs = 3000;

function closedError(): PlimsollError {
  const message =
    "Plimsoll was closed before it sent this request. Start it, and send the request again.";
  return new PlimsollError("CLOSED", message, { status: 503 });
}

export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const config = checkConfig(options.config ?? {}, "config");
  const opened = await openContext(options, config);
  const { context, counter, mender } = opened;
  const { bus, store, sign, own } = context;
  const { isService = false } = options;
  const forgetting = createForgetting(context, isService ? rewrittenBytesMost : undefined);
  const retaining = isService ? retainHourly(forgetting) : undefined;
  const whole = withWork(context, options);
  return {
    session: (wanted = {}) =>
      typeof wanted === "string"
        ? resumeSession(whole, config, wanted)
        : newSession(whole, config, wanted),
    receive: (incoming) => ReceivedTurn.receive(context.turns, incoming),
    peek: (incoming) => peekBody(context, incoming),
    compactMessages: (task) => compactOnce(context, task),
    own,
    steering: whole.steering,
    forgetting,
    work: whole.work,
    inspect: {
      picture: context.picture,
      names: createNames(store),
      turns: async (session, limit) =>
        (await store.turns(session, limit)).map((turn) => pointOf(context.pricesOf, turn)),
      cost: (of) => costOf(context, of),
      memory: () => ({
        sessions: context.sessions.bytes,
        requests: context.prefixes.bytes,
        facts: context.facts.bytes,
      }),
    },
    store,
    health: {
      get problems() {
        return context.health.problems;
      },
      notices: context.health.notices,
      check: mender.check,
    },
    settings: {
      now: () => context.config,
      change: (next) => {
        context.config = withLimits(context.config, next);
        // Only the owner may read the settings, and the owner hears the events of all tenants.
        bus.emit({ tenant: "", event: { type: "settings-changed", session: "", at: Date.now() } });
      },
    },
    sign,
    on: (type, handler) => {
      checkEventType(type);
      return bus.subscribe(({ event }) => {
        if (event.type === type) handler(event as Parameters<typeof handler>[0]);
      });
    },
    subscribe: bus.subscribe,
    warmUp: () => counter.prepare(usualTokenizer),
    close: async () => {
      await whole.work.close();
      await close(opened, retaining);
    },
  };
}

/** Tasks, tickets, and what happens to cut answers. */
function withWork(
  context: Assembled,
  { store, data = usualData }: EngineOptions,
): Assembled & CutTurns & Pick<Engine, "work" | "steering"> {
  const steering = createSteering(context);
  const work = createWork({
    ...context,
    questionPolicy: () => retryPolicyOf(context.config, "askQuestion"),
  });
  const cuts = createCutTurns({
    ...context,
    steering,
    work,
    folder: store === "memory" ? undefined : partialsIn(data),
    settings: () => streamingOf(context.config),
  });
  return Object.assign(context, { ...cuts, work, steering });
}

async function close(
  { context, counter, mender, threads, closing }: OpenedContext,
  retaining: Retaining | undefined,
): Promise<void> {
  closing.abort(closedError());
  await mender.idle();
  await context.openTurns.close(closeTimeoutMs);
  await retaining?.stop();
  await context.background.idle();
  await context.own.close();
  await threads.close();
  await context.saver.close();
  await counter.close();
  await context.store.close();
}

interface OpenedContext {
  readonly context: Assembled;
  readonly counter: SessionTokenCounter;
  readonly mender: Mender;
  readonly threads: ReturnType<typeof createCompactThreads>;
  readonly closing: AbortController;
}

async function openContext(options: EngineOptions, config: Config): Promise<OpenedContext> {
  const folder = options.store === "memory" ? undefined : openDataFolder(options.data ?? usualData);
  const counter = options.parts?.counter ?? createTokenCounter();
  // Loads the configured tokenizers now, so that a missing one is reported before the first request.
  for (const tokenizer of configuredTokenizers(config)) await counter.prepare(tokenizer);
  const vectors = await loadWordVectors();
  const count = countWith(counter);
  const threads = createCompactThreads();
  const closing = new AbortController();
  const bus = createEventBus();
  const health = createStoreHealth();
  const now = options.parts?.now ?? Date.now;
  const opened = await openStore({
    config,
    folder,
    given: options.parts?.store,
    isService: options.isService === true,
    bus,
    health,
    now,
  });
  // The engine also works without these stored memories.
  const stored = await opened.store.memories("").catch(() => new Map<string, object>());
  const context = assemble({
    config,
    targetMemories: createTargetMemories(stored),
    closing: closing.signal,
    store: opened.store,
    own: createOwnAnswers({
      store: opened.store,
      count,
      ready: () => counter.prepare(usualTokenizer),
      pageBytes: config.agent?.read_result_bytes,
      ...(vectors === undefined ? {} : { vectors }),
    }),
    counter,
    count,
    prepareCount: () => counter.prepare(usualTokenizer),
    vectors,
    sign: signWith(folder?.key ?? crypto.getRandomValues(new Uint8Array(32))),
    retryStrategies: retryChain(config, { count, vectors, excerpt: threads.excerpt }),
    strategies: chainOf(
      options.parts?.strategies,
      usualChain(config, { count, vectors, excerpt: threads.excerpt }),
    ),
    makeReceipt: threads.makeReceipt,
    validate: options.parts?.validate ?? newViolations,
    ...(options.parts?.validate === undefined ? { validateAside: threads.validate } : {}),
    now,
    bus,
    health,
    mender: opened.mender,
    ...(options.parts?.debug === undefined ? {} : { debug: options.parts.debug }),
    ...(options.parts?.sessionsInMemory === undefined
      ? {}
      : { sessionsInMemory: options.parts.sessionsInMemory }),
  });
  opened.onLost(context.sessions.abandon);
  return { context, counter, mender: opened.mender, threads, closing };
}

function signWith(key: Uint8Array): Sign {
  return (text) => createHmac("sha256", key).update(text).digest();
}

function chainOf(
  wanted: ChosenStrategies | undefined,
  usual: readonly Strategy[],
): readonly Strategy[] {
  return typeof wanted === "function" ? wanted(usual) : (wanted ?? usual);
}

type Assembly = Parts &
  Pick<
    TurnContext,
    | "config"
    | "sign"
    | "count"
    | "prepareCount"
    | "closing"
    | "own"
    | "bus"
    | "makeReceipt"
    | "validateAside"
    | "retryStrategies"
  > & {
    readonly health: StoreHealth;
    readonly mender: Mender;
    readonly vectors?: WordVectors | undefined;
    readonly targetMemories: TargetMemories;
  };

/** Without the services that are built on it. They join it before the first session is opened. */
type Assembled = Omit<SessionContext, "config" | keyof StreamWorld> & {
  /** The current configuration. It is not read-only, because limits may change while the engine is open. */
  config: Config;
  readonly openTurns: ClosableTurns;
  readonly health: StoreHealth;
};

function assemble(parts: Assembly): Assembled {
  const { config, store, counter, sign, bus, now, targetMemories } = parts;
  const facts = createFactsReader(counter);
  const sessions = createSessionCache(store, now, parts.sessionsInMemory);
  const targets = createTargets(config, now, targetMemories);
  const areas = config.priority_areas ?? [];
  const calibrations = createCalibrations(targetMemories);
  const context = {
    ...parts,
    onCut: (): void => undefined,
    facts,
    sessions,
    targets,
    areas,
    effects: config.effects,
    usesLearnedWeights: config.learned_weights,
    coherence: config.context_config?.breaking_strategy?.coherence,
    protectsAllP1: config.context_config?.breaking_strategy?.all_p1 === "protect",
    enough: config.context_config?.breaking_strategy?.truncate,
    picture: createPictures({ store, facts, targets, areas, logOf: sessions.byId }),
    sign,
    saver: createLogSaver({
      health: parts.health,
      store,
      bus,
      now,
      forget: sessions.forget,
      onConflict: parts.mender.noteConflict,
      targetMemories,
    }),
    openTurns: createOpenTurns(),
    tokenizers: configuredTokenizers(config),
    heads: createPreambleReader(facts),
    offers: createOfferReader(facts, config, parts.vectors),
    prefixes: createPrefixMemory(),
    watch: createPhaseWatch(bus, now),
    references: createReferences(store),
    exclusively: new NamedQueues().run,
    calibrations,
    preambleCounts: createPreambleCounts(calibrations, config),
    pricesOf: createPrices(config),
    background: createBackground((error) =>
      process.emitWarning(`A background task of Plimsoll failed: ${errorMessage(error)}`),
    ),
    ...summariserOf(config, now),
    debug:
      parts.debug ??
      createDebug(process.env["CONTEXT_DEBUG"] === "true", (line) => process.stderr.write(line)),
  };
  return Object.assign(context, { turns: createTurnServices(context) });
}

function summariserOf(
  config: Config,
  now: () => number,
): Pick<TurnContext, "summariser" | "sessionSummariser"> {
  const choice = summariserChoice(config.summariser);
  if (choice === undefined) return {};
  if (choice.kind === "session")
    return { sessionSummariser: createSessionSummariser(choice.bounds, now) };
  const { bounds, ...model } = choice;
  return { summariser: createSummariser({ ...model, ...bounds }, { now, env: process.env }) };
}
