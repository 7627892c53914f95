/** The library: what a program of yours sees of Plimsoll. The engine behind it is the one of the proxy. */

import { retrying, retryPolicyOf } from "./config/retry.ts";
import type { Config } from "./config/schema.ts";
import { type ChosenStrategies, type Engine, openEngine } from "./engine.ts";
import type { TurnPoint } from "./message/api.ts";
import { PlimsollError } from "./message/error.ts";
import type { PlimsollEvent, PlimsollEventType } from "./message/event.ts";
import type { JsonObject } from "./message/json.ts";
import type { Message } from "./message/message.ts";
import type { SessionOptions } from "./open-session.ts";
import type { CostOf, CostReport } from "./session/inspect/cost.ts";
import type { Pictures } from "./session/inspect/window.ts";
import type { OneOff } from "./session/library/compact-messages.ts";
import type { Session } from "./session/library/session.ts";
import type { Steering } from "./session/steer/steer.ts";
import type { WireName } from "./wire/format/wire.ts";
import { wires } from "./wire/wires.ts";

export interface PlimsollOptions {
  /** Folder for database and keys. */
  readonly data?: string;
  /** Keep nothing beyond the process. */
  readonly store?: "memory";
  readonly config?: Config;
  /** Other parts than the usual ones. */
  readonly parts?: {
    /** The whole chain, or what to make of the usual one. */
    readonly strategies?: ChosenStrategies;
  };
}

/** Messages of one wire, and how many tokens may stay of them. */
export interface CompactTask {
  readonly wire: WireName;
  readonly messages: readonly JsonObject[];
  /** For the messages; a system prompt outside of them and tools are not counted. */
  readonly budget: number;
  readonly model?: string;
  /** Another way to count than that of the model. */
  readonly count?: {
    readonly tokenizer: string;
    readonly textsOf: (message: Message) => readonly string[];
  };
}

export interface Plimsoll {
  /** A new session, or an earlier one by its id. */
  session(options?: SessionOptions | string): Promise<Session>;
  /** A list of messages brought to a number of tokens, outside of any session: nothing is recorded. */
  compactMessages(task: CompactTask): Promise<OneOff>;
  /** Undo, restore, checkpoint, pin, compact: any session, by its id. */
  readonly steering: Steering;
  /** What fills the window of a session, in order. */
  readonly picture: Pictures;
  /** Its turns, newest first. */
  turns(session: string, limit: number): Promise<readonly TurnPoint[]>;
  /** What a session has cost, or all of a tenant's; `tenant` undefined means all. */
  cost(of: CostOf): Promise<CostReport>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
  /** Runs a tool, or anything else that may fail for a while, under its retry policy. */
  retrying<T>(tool: string, work: (attempt: number) => Promise<T>): Promise<T>;
  /** Loads the usual tokenizer ahead of the first request: it takes a moment, once. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

export async function openPlimsoll(options: PlimsollOptions = {}): Promise<Plimsoll> {
  const engine = await openEngine(options);
  const plimsoll: Plimsoll = {
    session: engine.session,
    compactMessages: (task) => engine.compactMessages({ ...task, wire: wires[task.wire] }),
    steering: engine.steering,
    picture: engine.inspect.picture,
    turns: engine.inspect.turns,
    cost: engine.inspect.cost,
    on: engine.on,
    retrying: (tool, work) => retrying(retryPolicyOf(engine.settings.now(), tool), work),
    warmUp: engine.warmUp,
    close: engine.close,
  };
  engines.set(plimsoll, engine);
  return plimsoll;
}

/** The engine behind each object that was given out: it lives as long as that object. */
const engines = new WeakMap<Plimsoll, Engine>();

/** For other entries of the package that take such an object, as `plimsoll/mcp` does. */
export function engineOf(plimsoll: Plimsoll): Engine {
  const engine = engines.get(plimsoll);
  if (engine !== undefined) return engine;
  throw new PlimsollError(
    "USAGE",
    "This object did not come from openPlimsoll: give the one that did.",
  );
}
