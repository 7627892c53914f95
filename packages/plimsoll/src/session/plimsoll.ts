/** The product as one object: a store, its sessions and its events. The proxy is a client of this. */

import { createHmac } from "node:crypto";
import { PlimsollError } from "../message/error.ts";
import type { EmittedEvent, PlimsollEvent, PlimsollEventType } from "../message/event.ts";
import type { Sign } from "../message/handle.ts";
import type { JsonObject } from "../message/json.ts";
import { createMemoryStore } from "../store/memory.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Wire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import { type Config, checkConfig } from "./config.ts";
import { openDataFolder } from "./data-folder.ts";
import { createEventBus } from "./event-bus.ts";
import { pathTo, type SessionLog } from "./log.ts";
import { createHeadReader } from "./measure-turn.ts";
import { createFactsReader } from "./message-facts.ts";
import { createPrefixMemory } from "./prefix-memory.ts";
import { createLogSaver } from "./save-log.ts";
import { createSession, type Session } from "./session.ts";
import { createSessionCache } from "./session-cache.ts";
import { createTargets, type Targets } from "./target.ts";
import { createTokenCounter } from "./token-counter.ts";
import {
  type Incoming,
  type OpenTurns,
  receiveTurn,
  type Turn,
  type TurnContext,
  type Unended,
} from "./turn.ts";

export interface PlimsollOptions {
  /** Folder for database and keys. */
  readonly data?: string;
  /** Keep nothing beyond the process. */
  readonly store?: "memory";
  readonly config?: Config;
}

export interface SessionOptions {
  readonly agent?: string;
}

export interface Plimsoll {
  readonly store: Store;
  readonly targets: Targets;
  readonly sign: Sign;
  /** A new session, or an earlier one by its id. */
  session(options?: SessionOptions | string): Promise<Session>;
  /** A request as a client sent it over the wire: the proxy's way in. */
  receive(incoming: Incoming): Promise<Turn>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
  /** All events with tenant and number, for those who serve them on. */
  subscribe(handler: (event: EmittedEvent) => void): () => void;
  /** Loads the usual tokenizer ahead of the first request: it takes a moment, once. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

/** What the library's own sessions belong to. */
const libraryTenant = "library";
/** Turns that are still running when the product closes get this long to end. */
const closeTimeoutMs = 3000;
const usualTokenizer = "tiktoken:o200k_base";

export async function openPlimsoll(options: PlimsollOptions = {}): Promise<Plimsoll> {
  const config = checkConfig(options.config ?? {}, "config");
  const folder =
    options.store === "memory" ? undefined : openDataFolder(options.data ?? ".plimsoll");
  const store =
    folder === undefined
      ? createMemoryStore()
      : await openSqliteStore({
          file: folder.database,
          ...(config.durability === undefined ? {} : { durability: config.durability }),
        });
  const key = folder?.key ?? crypto.getRandomValues(new Uint8Array(32));
  const counter = createTokenCounter();
  for (const tokenizer of tokenizersOf(config)) await counter.prepare(tokenizer);
  const bus = createEventBus();
  const now = (): number => Date.now();
  const facts = createFactsReader(counter);
  const sessions = createSessionCache(store, now);
  const saver = createLogSaver({ store, bus, now, forget: sessions.forget });
  const openTurns = createOpenTurns();
  const context: TurnContext = {
    store,
    bus,
    now,
    sessions,
    saver,
    openTurns,
    facts,
    heads: createHeadReader(facts),
    prefixes: createPrefixMemory(),
    targets: createTargets(config),
    exclusively: createQueues(),
  };

  return {
    store,
    targets: context.targets,
    sign: (text) => createHmac("sha256", key).update(text).digest(),
    receive: (incoming) => receiveTurn(context, incoming),
    session: async (wanted = {}) => {
      if (typeof wanted === "string") return resumeSession(context, config, wanted);
      const { agent } = wanted;
      const log = context.sessions.create({
        tenant: libraryTenant,
        wire: "",
        ...(agent === undefined ? {} : { agent }),
      });
      return createSession(context, wireOfProvider(config), {
        log,
        view: [],
        ...(agent === undefined ? {} : { agent }),
      });
    },
    on: (type, handler) =>
      bus.subscribe(({ event }) => {
        if (event.type === type) handler(event as Parameters<typeof handler>[0]);
      }),
    subscribe: bus.subscribe,
    warmUp: () => counter.prepare(usualTokenizer),
    close: async () => {
      await openTurns.close(closeTimeoutMs);
      await saver.close();
      await counter.close();
      await store.close();
    },
  };
}

function createOpenTurns(): OpenTurns & { close(timeoutMs: number): Promise<void> } {
  const open = new Set<Unended>();
  let onLast: () => void = () => undefined;
  return {
    add: (turn) => void open.add(turn),
    delete: (turn) => {
      open.delete(turn);
      if (open.size === 0) onLast();
    },
    close: async (timeoutMs) => {
      await Promise.all([...open].map(({ abort }) => abort?.()));
      if (open.size === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        onLast = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}

/** Loaded at once: a tokenizer that is not there should be said now, not with the first request. */
function tokenizersOf({ providers = {} }: Config): ReadonlySet<string> {
  const settings = Object.values(providers).flatMap((provider) => [
    provider,
    ...Object.values(provider.models ?? {}),
  ]);
  return new Set(settings.flatMap(({ tokenizer }) => (tokenizer === undefined ? [] : [tokenizer])));
}

/** One after the other for each name; a name without work is forgotten. */
function createQueues(): TurnContext["exclusively"] {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (last.get(name) === mine) last.delete(name);
    }
  };
}

const wireByFamily: ReadonlyMap<string, Wire> = new Map([
  ["anthropic", wires.anthropic],
  ["openai", wires["openai-chat"]],
]);

function wireOfProvider(config: Config): (provider: string) => Wire {
  return (provider) => {
    const settings = new Map(Object.entries(config.providers ?? {})).get(provider);
    const wire = wireByFamily.get(settings?.wire ?? provider);
    if (wire !== undefined) return wire;
    throw new PlimsollError(
      "CONFIG_INVALID",
      `The provider "${provider}" is not known: use anthropic or openai, or name it under providers with its wire.`,
    );
  };
}

async function resumeSession(context: TurnContext, config: Config, id: string): Promise<Session> {
  const log = await context.sessions.byId(id);
  if (log === undefined) {
    throw new PlimsollError(
      "SESSION_UNKNOWN",
      `There is no session ${id}: \`plimsoll sessions\` lists them.`,
      { status: 404 },
    );
  }
  const { agent } = log.record;
  return createSession(context, wireOfProvider(config), {
    log,
    view: await readView(context.store, log),
    ...(agent === undefined ? {} : { agent }),
  });
}

/** The messages of the session's first branch, as they came. */
async function readView(store: Store, log: SessionLog): Promise<readonly JsonObject[]> {
  const [branch] = log.branches.values();
  const path = pathTo(log, branch?.record.tipSeq ?? null);
  const bodies = await store.bodies(
    log.record.id,
    path.map(({ seq }) => seq),
  );
  return path.flatMap(({ seq }) => {
    const body = bodies.get(seq);
    return body === undefined ? [] : [JSON.parse(new TextDecoder().decode(body)) as JsonObject];
  });
}
