/** Typed calls of the service's /api. Every failure is an ApiError whose message is a sentence for people. */

import type {
  AgentRow,
  ArchiveRow,
  BudgetSettings,
  ConfigAnswer,
  EditRow,
  ForgetAnswer,
  HoldingSum,
  LimitSettings,
  Listed,
  MessageDetails,
  ProgressSettings,
  SessionRow,
  Task,
  TaskStatus,
  TextDiff,
  Ticket,
  TicketStatus,
  TicketType,
  TurnPoint,
  WindowPicture,
} from "plimsoll/api";
import type { CompactionEndEvent } from "plimsoll/events";
import { tabToken } from "./token/tab-token.ts";

export type Edit = EditRow;

/** The answer of `GET /api/sessions/{id}`, limited to the fields that the dashboard reads. */
export interface SessionDetails {
  readonly id: string;
  readonly tenant: string;
  readonly wire: string;
  readonly agent?: string;
  readonly clientKey?: string;
  readonly title?: string;
  readonly client?: string;
  readonly folder?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messages: number;
  readonly branches: readonly Branch[];
}

export interface Branch {
  readonly id: string;
  readonly relation: string;
  /** Number of the branch's last message. */
  readonly tip: number | null;
  readonly messages: number;
}

/** The branch to use. If `branch` is absent, the service chooses one. */
interface OnBranch {
  readonly branch?: string | undefined;
}

export interface Checkpoint {
  readonly id: string;
  readonly at: number;
  readonly label: string;
  readonly branch: string;
}

/** Cost and savings. Amounts of money are in US dollars. Null means unknown, not zero. */
export interface CostReport {
  readonly sessions: number;
  readonly turns: number;
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly savedTokens: number;
  readonly usd: number | null;
  readonly estimatedUsd: number | null;
  readonly savedUsd: number | null;
  readonly compactions: number;
  readonly measured: {
    readonly usage: number;
    readonly cache: number;
    readonly estimated: number;
  };
  /** True if the sums cover only the newest sessions and turns. */
  readonly isPartial: boolean;
}

export interface FoundPassage {
  readonly text: string;
  /** Number of the message in its session. */
  readonly number: number;
  readonly role: string;
  /** Who said it, for example `user` or `tool result of read_file`. */
  readonly title: string;
  /** The share of the query that the passage covers, from 0 to 1. */
  readonly score: number;
  /** Number of characters of the passage that are missing because it is too long. */
  readonly missingChars?: number;
  readonly session: string;
}

export interface ArchivePage {
  readonly handle: string;
  readonly bytes: number;
  readonly offset: number;
  readonly content: string;
  readonly encoding?: "base64";
  readonly nextOffset?: number;
}

export interface ErrorRow {
  readonly session: string;
  readonly code: string;
  readonly message: string;
  readonly at: number;
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
}

export interface ConfigChange {
  readonly revision: string;
  readonly progress?: ProgressSettings;
  readonly agent?: BudgetSettings;
  readonly limits?: LimitSettings;
}

export type SteerAction = "undo" | "restore" | "checkpoint" | "pin" | "compact" | "reset";

/** The fields of the answers to all six actions. Each action fills some of them. */
export interface Steered {
  readonly branch?: string;
  readonly edits?: readonly number[];
  readonly tokens?: number;
  readonly limit?: number | null;
  /** Id of a checkpoint (`cp_7`), or number of a pin. */
  readonly id?: string | number;
  readonly strategies?: readonly string[];
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly messagesBefore?: number;
  readonly messagesAfter?: number;
}

/** Which page of a list of tasks or tickets to read. */
export interface PageWish<Status> {
  readonly status?: Status;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit?: number;
}

export interface NewTask {
  readonly title: string;
  readonly description: string;
  readonly priority: Task["priority"];
  readonly parent?: string | undefined;
  readonly agent?: string | undefined;
}

export interface TaskReport {
  readonly status: TaskStatus;
  readonly progress?: number | undefined;
  readonly note?: string | undefined;
}

export interface NewTicket {
  readonly type: TicketType;
  readonly title: string;
  readonly description: string;
  readonly task?: string | undefined;
  readonly assignee?: string | undefined;
}

/** An error of the API. `status` is 0 if the service did not answer. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
  }
}

/** Contract: a call that fails rejects with an ApiError. The error's code is ABORTED if the caller cancelled the call. */
export interface Api {
  sessions(after?: string, signal?: AbortSignal): Promise<Listed<SessionRow>>;
  agents(signal?: AbortSignal): Promise<Listed<AgentRow>>;
  session(id: string, signal?: AbortSignal): Promise<SessionDetails>;
  /** The newest `turnsMost` turns. */
  turns(id: string, signal?: AbortSignal): Promise<Listed<TurnPoint>>;
  /** The window at the given checkpoint. If no checkpoint is given, the window now. */
  window(
    id: string,
    options?: OnBranch & { readonly at?: string },
    signal?: AbortSignal,
  ): Promise<WindowPicture>;
  messages(
    id: string,
    range: OnBranch & { readonly first: number; readonly last: number },
    signal?: AbortSignal,
  ): Promise<MessageDetails>;
  edits(id: string, signal?: AbortSignal): Promise<Listed<Edit>>;
  handles(id: string, signal?: AbortSignal): Promise<Listed<ArchiveRow>>;
  receipts(id: string, signal?: AbortSignal): Promise<Listed<CompactionEndEvent>>;
  checkpoints(id: string, signal?: AbortSignal): Promise<Listed<Checkpoint>>;
  /** Compares the views at two points. A point is a checkpoint (`cp_7`) or the number of an edit. */
  diff(
    id: string,
    points: OnBranch & { readonly from: string; readonly to?: string | undefined },
    signal?: AbortSignal,
  ): Promise<TextDiff>;
  /** The cost of one session. If no id is given, the cost of all sessions. */
  cost(id?: string, signal?: AbortSignal): Promise<CostReport>;
  search(q: string, session: string, signal?: AbortSignal): Promise<Listed<FoundPassage>>;
  archive(
    handle: string,
    offset: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<ArchivePage>;
  errors(session?: string, signal?: AbortSignal): Promise<Listed<ErrorRow>>;
  tasks(wish: PageWish<TaskStatus>, signal?: AbortSignal): Promise<Listed<Task>>;
  task(id: string, signal?: AbortSignal): Promise<Task>;
  createTask(task: NewTask): Promise<Task>;
  report(id: string, report: TaskReport): Promise<Task>;
  tickets(
    wish: PageWish<TicketStatus> & { readonly task?: string },
    signal?: AbortSignal,
  ): Promise<Listed<Ticket>>;
  ticket(id: string, signal?: AbortSignal): Promise<Ticket>;
  createTicket(ticket: NewTicket): Promise<Ticket>;
  answer(id: string, text: string): Promise<Ticket>;
  resolve(id: string): Promise<Ticket>;
  config(signal?: AbortSignal): Promise<ConfigAnswer>;
  saveConfig(change: ConfigChange): Promise<ConfigAnswer>;
  steer(id: string, action: SteerAction, options?: object): Promise<Steered>;
  /** What the store has of a session, all of which `forget` deletes. */
  holdings(id: string): Promise<HoldingSum>;
  forget(id: string): Promise<ForgetAnswer>;
}

/** Maximum number of turns of a session that the service lists. */
export const turnsMost = 10_000;

/** Maximum time for a call, in milliseconds. A compaction may take many seconds if a model writes its summary. */
const patienceMs = 120_000;

interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export function createApi(
  token: () => string,
  send: typeof fetch = (...given) => fetch(...given),
): Api {
  const call = <T>(path: string, given: Call = {}): Promise<T> =>
    request(send, token(), path, given) as Promise<T>;
  const of = (id: string, rest = ""): string => `sessions/${encodeURIComponent(id)}${rest}`;
  return {
    sessions: (after, signal) => call("sessions", { query: { after }, signal }),
    agents: (signal) => call("agents", { signal }),
    session: (id, signal) => call(of(id), { signal }),
    turns: (id, signal) => call(of(id, "/turns"), { query: { limit: turnsMost }, signal }),
    window: (id, { at, branch } = {}, signal) =>
      call(of(id, "/window"), { query: { at, branch }, signal }),
    messages: (id, { first, last, branch }, signal) =>
      call(of(id, "/messages"), { query: { first, last, branch }, signal }),
    edits: (id, signal) => call(of(id, "/edits"), { signal }),
    handles: (id, signal) => call(of(id, "/archive"), { signal }),
    receipts: (id, signal) => call(of(id, "/receipts"), { signal }),
    checkpoints: (id, signal) => call(of(id, "/checkpoints"), { signal }),
    diff: (id, { from, to, branch }, signal) =>
      call(of(id, "/diff"), { query: { from, to, branch, form: "text" }, signal }),
    cost: (id, signal) => call(id === undefined ? "cost" : of(id, "/cost"), { signal }),
    search: (q, session, signal) => call("search", { query: { q, session }, signal }),
    archive: (handle, offset, limit, signal) =>
      call(`archive/${encodeURIComponent(handle)}`, { query: { offset, limit }, signal }),
    errors: (session, signal) => call("errors", { query: { session }, signal }),
    ...workCalls(call),
    config: (signal) => call("config", { signal }),
    saveConfig: (body) => call("config", { method: "PUT", body }),
    steer: (id, action, options = {}) =>
      call(of(id, `/${action}`), { method: "POST", body: options }),
    holdings: (id) => call(of(id, "/holdings")),
    forget: (id) => call(of(id), { method: "DELETE" }),
  };
}

type WorkCall =
  | "tasks"
  | "task"
  | "createTask"
  | "report"
  | "tickets"
  | "ticket"
  | "createTicket"
  | "answer"
  | "resolve";

/** The calls for tasks and tickets. */
function workCalls(call: <T>(path: string, given?: Call) => Promise<T>): Pick<Api, WorkCall> {
  const post = <T>(path: string, body: object = {}): Promise<T> =>
    call(path, { method: "POST", body });
  const task = (id: string): string => `tasks/${encodeURIComponent(id)}`;
  const ticket = (id: string, rest = ""): string => `tickets/${encodeURIComponent(id)}${rest}`;
  return {
    tasks: ({ status, after, limit }, signal) =>
      call("tasks", { query: { status, after, limit }, signal }),
    task: (id, signal) => call(task(id), { signal }),
    createTask: (wanted) => post("tasks", wanted),
    report: (id, report) => post(task(id), report),
    tickets: ({ status, after, limit, task: of }, signal) =>
      call("tickets", { query: { status, after, limit, task: of }, signal }),
    ticket: (id, signal) => call(ticket(id), { signal }),
    createTicket: (wanted) => post("tickets", wanted),
    answer: (id, text) => post(ticket(id, "/answer"), { text }),
    resolve: (id) => post(ticket(id, "/resolve")),
  };
}

async function request(
  send: typeof fetch,
  token: string,
  path: string,
  { method = "GET", query = {}, body, signal }: Call,
): Promise<unknown> {
  const patience = AbortSignal.timeout(patienceMs);
  const response = await send(`/api/${path}${queryOf(query)}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
  }).catch((): never => {
    throw unanswered(signal);
  });
  const answer = await response.json().catch((): never => {
    throw signal?.aborted === true
      ? unanswered(signal)
      : new ApiError(
          "NOT_JSON",
          `The service answered with status ${response.status} and no JSON. Check whether another program uses this address.`,
          response.status,
        );
  });
  if (response.ok) return answer;
  throw errorOf(answer, response.status);
}

function queryOf(query: NonNullable<Call["query"]>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function unanswered(signal: AbortSignal | undefined): ApiError {
  return signal?.aborted === true
    ? new ApiError("ABORTED", "The request was cancelled.", 0)
    : new ApiError(
        "OFFLINE",
        "The service does not answer. Start it with `plimsoll serve`, or wait until it is back.",
        0,
      );
}

/** Reads the service's error answer, `{ error: { code, message } }`. */
function errorOf(answer: unknown, status: number): ApiError {
  const { error } = (answer ?? {}) as { error?: { code?: unknown; message?: unknown } };
  return new ApiError(
    typeof error?.code === "string" ? error.code : "UNKNOWN",
    typeof error?.message === "string"
      ? error.message
      : `The service answered with status ${status}.`,
    status,
  );
}

/** The API, called with the token of this tab. */
export const api: Api = createApi(tabToken);
