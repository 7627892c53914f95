/** The library: the part of Plimsoll that other programs see. It runs on the same engine as the proxy. */

import { noDatabaseUrl } from "./config/config.ts";
import { retrying, retryPolicyOf } from "./config/retry.ts";
import type { Config } from "./config/schema.ts";
import { refuseSessionSummariser } from "./config/summariser.ts";
import { type ChosenStrategies, type Engine, openEngine } from "./engine.ts";
import type { TurnPoint } from "./message/api.ts";
import { PlimsollError } from "./message/error.ts";
import type {
  AgentStateChangedEvent,
  PlimsollEvent,
  PlimsollEventType,
  TasksChangedEvent,
  TicketsChangedEvent,
} from "./message/event.ts";
import type { JsonObject } from "./message/json.ts";
import type { Message } from "./message/message.ts";
import { libraryTenant, type SessionOptions } from "./open-session.ts";
import type { CostOf, CostReport } from "./session/inspect/cost.ts";
import type { Pictures } from "./session/inspect/window.ts";
import type { OneOff } from "./session/library/compact-messages.ts";
import type { Session } from "./session/library/session.ts";
import type { Forgetting } from "./session/steer/forget.ts";
import type { Steering } from "./session/steer/steer.ts";
import type { Asked, Question } from "./session/work/ask-people.ts";
import type { TaskList, TicketList } from "./session/work/caller-work.ts";
import type { WireName } from "./wire/format/wire.ts";
import { wires } from "./wire/wires.ts";

export interface PlimsollOptions {
  /** Folder for the database and the keys. */
  readonly data?: string;
  /** "memory" stores nothing on disk. */
  readonly store?: "memory";
  readonly config?: Config;
  /** Parts to use instead of the default ones. */
  readonly parts?: {
    /** The whole chain of strategies, or a function that changes the default chain. */
    readonly strategies?: ChosenStrategies;
  };
}

/** Messages of one wire, and the maximum number of tokens that they may have after compaction. */
export interface CompactTask {
  readonly wire: WireName;
  readonly messages: readonly JsonObject[];
  /** Maximum number of tokens of all messages together. Tools are not counted, nor is a system prompt outside the messages. */
  readonly budget: number;
  readonly model?: string;
  /** The tokenizer to count with, and the texts of a message to count. If undefined, Plimsoll counts as the model does. */
  readonly count?: {
    readonly tokenizer: string;
    readonly textsOf: (message: Message) => readonly string[];
  };
}

/** What happens to tasks, tickets and agents, by the names of the documents. Each function returns one that ends the subscription. */
export interface WorkEvents {
  /** Also called for new tasks. */
  onTasksChanged(
    handler: (change: Pick<TasksChangedEvent, "taskId" | "newStatus">) => void,
  ): () => void;
  onTicketsChanged(
    handler: (change: Pick<TicketsChangedEvent, "ticketId" | "action">) => void,
  ): () => void;
  onAgentStateChanged(
    handler: (change: Pick<AgentStateChangedEvent, "agentName" | "state">) => void,
  ): () => void;
}

export interface Plimsoll extends WorkEvents {
  /** Opens a new session, or an earlier one by its id. */
  session(options?: SessionOptions | string): Promise<Session>;
  /** Compacts a list of messages to a number of tokens outside of any session. Nothing is recorded. */
  compactMessages(task: CompactTask): Promise<OneOff>;
  /** Changes the view of a session by hand: undo, restore, checkpoint, pin, compact. The session is named by its id. */
  readonly steering: Steering;
  /** Deletes sessions, with all that belongs to them. */
  readonly forgetting: Forgetting;
  /** The content of a session's window, in order. */
  readonly picture: Pictures;
  /** The turns of a session, newest first. */
  turns(session: string, limit: number): Promise<readonly TurnPoint[]>;
  /** The cost of one session, of all sessions of a tenant, or of all tenants if `tenant` is undefined. */
  cost(of: CostOf): Promise<CostReport>;
  /** The tasks of all tenants. New ones belong to the tenant of the library's sessions. */
  readonly tasks: TaskList;
  /** Questions and other requests to people. */
  readonly tickets: TicketList;
  /** Asks people a question, and waits for the answer as long as the retry policy of `askQuestion` allows. */
  ask(question: Question, signal?: AbortSignal): Promise<Asked>;
  on<T extends PlimsollEventType>(
    type: T,
    handler: (event: Extract<PlimsollEvent, { type: T }>) => void,
  ): () => void;
  /**
   * Runs a tool, or other work that may fail temporarily, and tries again after a failure. Uses the retry policy that is
   * configured for `tool`.
   */
  retrying<T>(tool: string, work: (attempt: number) => Promise<T>): Promise<T>;
  /** Loads the default tokenizer now, so that the first request does not have to wait for it. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

export async function openPlimsoll(options: PlimsollOptions = {}): Promise<Plimsoll> {
  const { databaseUrl } = options as { readonly databaseUrl?: unknown };
  if (databaseUrl !== undefined) throw noDatabaseUrl("databaseUrl");
  refuseSessionSummariser(options.config?.summariser);
  const engine = await openEngine(options);
  const { tasks, tickets, ask } = engine.work.of({ tenant: libraryTenant, isOwner: true });
  const plimsoll: Plimsoll = {
    session: engine.session,
    compactMessages: (task) => engine.compactMessages({ ...task, wire: wires[task.wire] }),
    steering: engine.steering,
    forgetting: engine.forgetting,
    picture: engine.inspect.picture,
    turns: engine.inspect.turns,
    cost: engine.inspect.cost,
    tasks,
    tickets,
    ask,
    ...workEventsOf(engine),
    on: engine.on,
    retrying: (tool, work) => retrying(retryPolicyOf(engine.settings.now(), tool), work),
    warmUp: engine.warmUp,
    close: engine.close,
  };
  engines.set(plimsoll, engine);
  return plimsoll;
}

function workEventsOf({ on }: Pick<Engine, "on">): WorkEvents {
  return {
    onTasksChanged: (handler) =>
      on("tasks-changed", ({ taskId, newStatus }) => handler({ taskId, newStatus })),
    onTicketsChanged: (handler) =>
      on("tickets-changed", ({ ticketId, action }) => handler({ ticketId, action })),
    onAgentStateChanged: (handler) =>
      on("agent-state-changed", ({ agentName, state }) => handler({ agentName, state })),
  };
}

/** The engine of each `Plimsoll` object. It lives as long as that object. */
const engines = new WeakMap<Plimsoll, Engine>();

/**
 * The engine of a `Plimsoll` object. Used by other entry points of the package that accept such an object, for example
 * `plimsoll/mcp`.
 */
export function engineOf(plimsoll: Plimsoll): Engine {
  const engine = engines.get(plimsoll);
  if (engine !== undefined) return engine;
  throw new PlimsollError(
    "USAGE",
    "This object was not made by openPlimsoll. Pass the object that openPlimsoll returned.",
  );
}
