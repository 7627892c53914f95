/**
 * One agent at work through the service: it sends its requests in its own shape, the scripted model asks for a file in every
 * turn, sometimes for two, and now and then for a tool of Plimsoll's where it is offered one.
 */

import { diceOf } from "../../demo/dice.ts";
import { call, reasoning, reply, text } from "../harness/answer.ts";
import type { AnswerPart, Reply } from "../harness/answer-parts.ts";
import type { UpstreamRequest } from "../harness/answer-writer.ts";
import { effort } from "../harness/effort.ts";
import type { JsonObject } from "../harness/json.ts";
import type { Finding } from "../harness/judge.ts";
import { handlesIn } from "../harness/kept.ts";
import { isOwnName, judgeOwn, toolNamesIn } from "../harness/own-judge.ts";
import { modelHeaders } from "../harness/raw-client.ts";
import { readAnswer } from "../harness/reading.ts";
import {
  type LogEntry,
  readLog,
  readSessions,
  type Service,
  type SessionSummary,
  startService,
} from "../harness/service.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "../harness/upstream.ts";
import { toolOutput } from "../harness/words.ts";
import type { Agent } from "./agents.ts";
import { type AgentShape, loadShape } from "./shape.ts";
import type { Exchange, Result, Spoken } from "./spelling.ts";

const TURNS = 25;
/** As many turns as a history needs that exceeds the window. */
export function turnsFor({ windowTokens }: Pick<RunOptions, "windowTokens">): number {
  return windowTokens > 50_000 ? TURNS : effort(19, TURNS);
}
const PARALLEL_EVERY = 6;
/** In these turns the model looks something up: before it asks for a file, or in the same breath. */
const LOOKUPS_BEFORE: readonly number[] = [5, 10, 15, 20];
const LOOKUPS_BESIDE: readonly number[] = [8, 13, 17, 22];
const RESULT_LENGTH = 9_000;
const SESSION_NAMES: Readonly<Record<string, string>> = {
  goose: "20261116_1",
  "goose-anthropic": "20261116_2",
};
const SESSION_UUID = "7d9f2f0e-1c5b-4e0e-9a51-3f6f5d2b8c01";

export interface RunOptions {
  readonly agent: Agent;
  readonly windowTokens: number;
  /** A new credential after so many turns. */
  readonly keyTurns?: number;
}

export interface TakenTurn {
  /** From 1. */
  readonly number: number;
  readonly status: number;
  readonly action: string;
  /** What the client was told where the status is an error. */
  readonly fault: string;
  /** Results that this request brings for the first time. */
  readonly fresh: readonly Result[];
  /** The agent's request, and the same with nothing but the opening and the newest exchange. */
  readonly whole: JsonObject;
  readonly least: JsonObject;
  readonly sent: readonly UpstreamRequest[];
  /** Call ids of tools of Plimsoll's. */
  readonly lookups: readonly string[];
  /** What the answer consists of: the ids of its calls, and its text. */
  readonly said: readonly string[];
}

export interface AgentRun {
  readonly options: RunOptions;
  readonly shape: AgentShape;
  readonly turns: readonly TakenTurn[];
  /** What reached the provider: requests that a model answers. */
  readonly requests: readonly UpstreamRequest[];
  /** What the provider found wrong with them. */
  readonly invalid: readonly Finding[];
  readonly sessions: readonly SessionSummary[];
  /** Of all sessions. */
  readonly log: readonly LogEntry[];
  readonly records: readonly JsonObject[];
}

export async function runAgent(options: RunOptions): Promise<AgentRun> {
  const work = new Work(options);
  const { windowTokens } = options;
  const upstream = await startUpstream({
    script: (request) => work.answer(request),
    window: { tokens: windowTokens },
    judgeAlso: judgeOwn,
    forgives: options.agent.breaks ?? [],
  });
  const provider = { contextWindow: windowTokens };
  const service = await startService({
    upstreams: {},
    config: {
      durability: "normal",
      providers: {
        anthropic: { baseUrl: upstream.url, ...provider },
        openai: { baseUrl: `${upstream.url}/v1`, ...provider },
      },
    },
  });
  try {
    await work.takeTurns({ service, upstream });
    const { shape, turns } = work;
    const requests = upstream.requests.filter(isForModel);
    const { invalid } = upstream.refusals;
    return { options, shape, turns, requests, invalid, ...(await readAll(service)) };
  } finally {
    await service.stop();
    await upstream.close();
  }
}

/** A count that is asked for beforehand is none. */
function isForModel({ path }: UpstreamRequest): boolean {
  return !path.includes("count_tokens");
}

async function readAll(service: Service): Promise<Pick<AgentRun, "sessions" | "log" | "records">> {
  const sessions = await readSessions(service);
  const log: LogEntry[] = [];
  const records: JsonObject[] = [];
  for (const { id } of sessions) {
    log.push(...(await readLog(service, id)));
    const page = await service.api<{ readonly items: readonly JsonObject[] }>(
      `/api/sessions/${id}/turns?limit=100`,
    );
    records.push(...page.items);
  }
  return { sessions, log, records };
}

interface Stage {
  readonly service: Service;
  readonly upstream: Upstream;
}

const results = new Map<string, string>();

/** About 9 KB of what tools give back; the same for every agent. */
function resultText(file: string): string {
  const known = results.get(file);
  if (known !== undefined) return known;
  const seed = Number(/\d+/.exec(file)?.[0] ?? 0);
  const made = toolOutput(diceOf(seed), file, RESULT_LENGTH / 2).slice(0, RESULT_LENGTH);
  results.set(file, made);
  return made;
}

class Work {
  readonly shape: AgentShape;
  readonly turns: TakenTurn[] = [];
  readonly #options: RunOptions;
  readonly #exchanges: Exchange[] = [];
  #round = 0;
  #lookups: string[] = [];
  /** The files that the model has asked for in this turn, by the ids of the calls. */
  #files = new Map<string, string>();
  #said: string[] = [];

  constructor(options: RunOptions) {
    this.#options = options;
    this.shape = loadShape(options.agent.name);
  }

  get #turn(): number {
    return this.turns.length + 1;
  }

  /** Ends early where a real agent would: at an error, and at an answer without a call. */
  async takeTurns(stage: Stage): Promise<void> {
    const { aside } = this.shape;
    if (aside !== undefined) await this.#send(stage, aside);
    while (this.turns.length < turnsFor(this.#options)) {
      const taken = await this.#takeTurn(stage);
      this.turns.push(taken);
      if (taken.status !== 200 || this.#files.size === 0) return;
    }
  }

  /** What the model says to a request of the turn that is under way. */
  answer({ wire, body }: ScriptRequest): Reply {
    const turn = this.#turn;
    const { agent } = this.#options;
    const tools = toolNamesIn(wire, body);
    if (tools.length === 0) return reply(text("A title"));
    const mayCall = !JSON.stringify(body["tool_choice"] ?? "").includes("none");
    if (turn === turnsFor(this.#options) || !mayCall)
      return this.#say([text(`All is read after ${turn} turns.`)]);
    const round = this.#round++;
    const thought = agent.isThinking && turn % PARALLEL_EVERY !== 0 ? [this.#thought(round)] : [];
    const own = tools.filter(isLookup);
    if (round === 0 && own.length > 0 && LOOKUPS_BEFORE.includes(turn)) {
      return reply(...thought, this.#lookup(own, body));
    }
    const beside =
      round === 0 && own.length > 0 && LOOKUPS_BESIDE.includes(turn)
        ? [this.#lookup(own, body)]
        : [];
    const words = turn % 2 === 1 ? [text(`Step ${turn}: `, "one more file.")] : [];
    return this.#say([...thought, ...words, ...beside, ...this.#reads()]);
  }

  #say(parts: readonly AnswerPart[]): Reply {
    this.#said = parts.flatMap((part) => {
      if (part.kind === "reasoning") return [];
      if (part.kind === "text") return [part.chunks.join("")];
      return isLookup(part.name) ? [] : [part.id];
    });
    return reply(...parts);
  }

  #thought(round: number): AnswerPart {
    const name = `${this.shape.agent} ${this.#turn}.${round}`;
    const signature = Buffer.from(`signature of ${name}`.padEnd(60, ".")).toString("base64");
    return reasoning(signature, `Thought ${this.#turn}.${round}: what does the next file say?`);
  }

  #reads(): readonly AnswerPart[] {
    const turn = this.#turn;
    const count = turn % PARALLEL_EVERY === 0 ? 2 : 1;
    return Array.from({ length: count }, (_, index) => {
      const id = `call_${turn}_${index}`;
      const file = `project/notes${turn}${index}.md`;
      this.#files.set(id, file);
      return this.#options.agent.read(id, file);
    });
  }

  #lookup(own: readonly string[], body: JsonObject): AnswerPart {
    const turn = this.#turn;
    const id = `own_${turn}`;
    this.#lookups.push(id);
    const named = (wanted: string): string => own.find((name) => name.includes(wanted)) ?? wanted;
    const [handle] = handlesIn(JSON.stringify(body));
    return handle === undefined || turn % 2 === 0
      ? call(id, named("recall"), { query: `notes${turn - 2}0.md`, budget: 400 })
      : call(id, named("read_result"), { ref_id: handle, limit: 1_200 });
  }

  async #takeTurn(stage: Stage): Promise<TakenTurn> {
    const { agent } = this.#options;
    const number = this.#turn;
    const fresh = this.#exchanges.at(-1)?.results ?? [];
    this.#round = 0;
    this.#lookups = [];
    this.#files = new Map();
    this.#said = [];
    const info = infoOf(this.shape, number);
    const spoken = { shape: this.shape, exchanges: this.#exchanges, info };
    const requestsBefore = stage.upstream.requests.length;
    const whole = bodyOf(agent, spoken);
    const response = await this.#send(stage, whole, agent.headers?.(spoken));
    const answer = await response.text();
    const least = bodyOf(agent, { ...spoken, exchanges: this.#exchanges.slice(-1) });
    const taken = {
      number,
      status: response.status,
      action: response.headers.get("x-plimsoll-action") ?? "",
      fault: response.status === 200 ? "" : answer.slice(0, 300),
      fresh,
      whole,
      least,
      sent: stage.upstream.requests.slice(requestsBefore).filter(isForModel),
      lookups: this.#lookups,
      said: this.#said,
    };
    if (response.status !== 200) return taken;
    const { message } = readAnswer(this.shape.wire, answer);
    const given = [...this.#files].map(([id, file]) => ({
      id,
      tool: agent.read(id, file).name,
      text: resultText(file),
    }));
    this.#exchanges.push({ message, results: given });
    return taken;
  }

  #send(
    { service }: Stage,
    body: JsonObject,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Response> {
    const { wire, path, headers: always, agent } = this.shape;
    const { keyTurns } = this.#options;
    const keyNumber = keyTurns === undefined ? 0 : Math.floor(this.turns.length / keyTurns);
    const session = SESSION_NAMES[agent] ?? SESSION_UUID;
    const named = (value: string): string => value.replaceAll("{session}", session);
    const all = { ...modelHeaders(wire, `key-${keyNumber}-of-${agent}`), ...always, ...headers };
    return fetch(`${service.url}${path}`, {
      method: "POST",
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, named(value)]],
        ),
      ),
      body: named(JSON.stringify(body)),
    });
  }
}

function bodyOf(agent: Agent, spoken: Spoken): JsonObject {
  const { wire, fields } = spoken.shape;
  const conversation = agent.conversation(spoken);
  return {
    ...fields,
    ...agent.fields?.(spoken),
    [wire === "openai-responses" ? "input" : "messages"]: conversation,
  };
}

/** Qwen Code has a tool_search of its own. */
function isLookup(name: string): boolean {
  return isOwnName(name) && /(?:read_result|recall)$/.test(name);
}

/** As recorded, but for the time and the fill, which are others in every request. */
function infoOf({ recorded }: AgentShape, turn: number): string {
  const info = recorded[Math.min(turn, recorded.length) - 1]?.info ?? "";
  const minute = String(turn).padStart(2, "0");
  return info.replace(/\d\d:\d\d:\d\d/, `04:${minute}:00`).replace(/~\d+/, `~${turn * 3}`);
}
